import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { json } from "../cli/command.js";
import { ORDERS, project, sql, VIEWS } from "../cli/lake.js";
import { OpenLake } from "../setup/open-lake.js";
import { prometheusClient } from "../setup/python.js";

interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly {
    readonly name: string;
    readonly labels: Record<string, string>;
    readonly value: number;
  }[];
}

const PARSE = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families
families = [
    {"name": f.name, "type": f.type, "help": f.documentation,
     "samples": [{"name": s.name, "labels": s.labels, "value": s.value} for s in f.samples]}
    for f in text_string_to_metric_families(open(sys.argv[1], encoding="utf-8").read())
]
print(json.dumps(families))
`;

/** As Prometheus' own client for Python reads them. */
async function parse(file: string): Promise<(name: string, labels?: Record<string, string>) => number | undefined> {
  const path = await prometheusClient();
  const { stdout } = await promisify(execFile)("python3", ["-c", PARSE, file], {
    env: { ...process.env, PYTHONPATH: path },
  });
  const families = JSON.parse(stdout) as Family[];
  expect(families.length).toBeGreaterThan(15);
  for (const family of families) {
    expect(["gauge", "counter"]).toContain(family.type);
    expect(family.help).not.toBe("");
    expect(family.samples.length).toBeGreaterThan(0);
  }
  const samples = families.flatMap((family) => family.samples);
  return (name, labels = {}) =>
    samples.find(
      (sample) =>
        sample.name === `ducklake_ivm_${name}` &&
        JSON.stringify(Object.entries(sample.labels).sort()) === JSON.stringify(Object.entries(labels).sort()),
    )?.value;
}

test("metrics tell freshness, rows, strategies and failures, whatever the views are called", async () => {
  await using world = await OpenLake.start();
  const { lake } = world;
  const file = join(inject("workspace"), "ducklake_ivm.prom");
  const odd = 'a "quoted"\\ name\nof two lines';
  await world.rows("CREATE TABLE t AS SELECT range AS id FROM range(10)");
  await world.rows("CREATE TABLE gone AS SELECT 1 AS id");
  await lake.define([
    { name: odd, sql: "SELECT id FROM t", refresh: "incremental" },
    { name: "lost", sql: "SELECT id FROM gone" },
  ]);
  await lake.refresh();
  await world.rows("INSERT INTO t VALUES (11), (12)");
  await world.rows("DELETE FROM t WHERE id = 1");
  await world.rows("DROP TABLE gone");
  const before = Date.now() / 1000;
  const result = await lake.refresh({ metrics: file });
  expect(result).toMatchObject({ status: "failed", warnings: [] });
  const metric = await parse(file);
  const view = { view: odd };
  expect(metric("view_lag_seconds", view)).toBe(0);
  expect(metric("view_up_to_date", view)).toBe(1);
  expect(metric("view_rows", view)).toBe(11);
  expect(metric("refreshes_total", { ...view, strategy: "initial" })).toBe(1);
  expect(metric("refreshes_total", { ...view, strategy: "incremental" })).toBe(1);
  expect(metric("refreshes_total", { ...view, strategy: "recompute" })).toBe(0);
  expect(metric("changed_rows_total", { ...view, change: "inserted" })).toBe(12);
  expect(metric("changed_rows_total", { ...view, change: "deleted" })).toBe(1);
  expect(metric("refresh_failures_total", view)).toBe(0);
  expect(metric("view_failed", { view: "lost" })).toBe(1);
  expect(metric("view_up_to_date", { view: "lost" })).toBe(0);
  expect(metric("refresh_failures_total", { view: "lost" })).toBe(1);
  expect(metric("view_last_failure_timestamp_seconds", { view: "lost" })).toBeGreaterThanOrEqual(Math.floor(before));
  expect(metric("last_run_success")).toBe(0);
  expect(metric("last_run_views", { status: "failed" })).toBe(1);
  expect(metric("last_run_changed_rows", { change: "inserted" })).toBe(2);
  expect(metric("last_run_timestamp_seconds")).toBeGreaterThanOrEqual(Math.floor(before));
  expect(metric("view_horizon_snapshot", view)).toBe(Number(result.horizon));
});

test("the command writes them whole, also where there was nothing to do, as the configuration or the option says", async () => {
  const directory = await project(VIEWS, ORDERS);
  await json(["apply"], { cwd: directory });
  const file = join(directory, "metrics.prom");
  await json(["refresh", "--metrics", file], { cwd: directory });
  const first = await stat(file, { bigint: true });
  await sql(directory, "INSERT INTO orders VALUES (4, 2, 1.00)");
  const { value } = await json<{ warnings: unknown[] }>(["refresh", "--metrics", file], { cwd: directory });
  expect(value.warnings).toEqual([]);
  expect((await stat(file, { bigint: true })).ino).not.toBe(first.ino);
  expect((await readdir(directory)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  expect(await readFile(file, "utf8")).toContain("ducklake_ivm_last_run_success 1\n");
  const lost = await json<{ status: string; warnings: { code: string }[] }>(
    ["refresh", "--metrics", join(directory, "no", "such.prom")],
    { cwd: directory },
  );
  expect(lost).toMatchObject({
    exitCode: 0,
    value: { status: "unchanged", warnings: [{ code: "metrics_not_written" }] },
  });
});
