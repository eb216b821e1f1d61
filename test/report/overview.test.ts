import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { open, readOverview } from "../../src/index.js";
import { json } from "../cli/command.js";
import { ORDERS, project, sql, VIEWS } from "../cli/lake.js";
import { tempLake } from "../setup/lake.js";
import { OpenLake } from "../setup/open-lake.js";

test("many runs are summed up in the lake", async () => {
  await using world = await OpenLake.start();
  const { lake } = world;
  await world.rows("CREATE TABLE t AS SELECT range AS id FROM range(10)");
  await lake.define([
    { name: "counted", sql: "SELECT count(*) AS n FROM t" },
    { name: "listed", sql: "SELECT id FROM t" },
  ]);
  await lake.refresh();
  // 10,000 more runs of one view, a second apart: every tenth a recompute, every hundredth a failure.
  await world.rows(`INSERT INTO ivm.runs BY NAME
    SELECT 'r' || range AS run_id, 'counted' AS view, 1 AS horizon,
      CASE WHEN range % 100 = 0 THEN NULL WHEN range % 10 = 0 THEN 'recompute' ELSE 'incremental' END AS strategy,
      CASE WHEN range % 100 = 0 THEN '{"code": "c", "message": "m", "hint": null, "retryable": false}' END AS error,
      '[]' AS sources, '{"total": 1, "run": 1, "skipped": 0}' AS terms, 2 AS rows_inserted, 1 AS rows_deleted, 4.0 AS elapsed_ms,
      TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL 1 SECOND * range AS started_at, TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL 1 SECOND * range AS finished_at
    FROM range(10000)`);
  const overview = await lake.overview({ buckets: 50, recent: 7 });
  const counted = overview.views.find(({ view }) => view === "counted");
  expect(counted?.totals).toMatchObject({ initial: 1n, incremental: 9000n, recompute: 900n, failed: 100n });
  expect(counted?.totals.rows).toEqual({ inserted: 20_001n, deleted: 10_000n });
  expect(counted?.recent).toHaveLength(7);
  const { runs } = overview;
  expect(runs.count).toBe(10_001n);
  expect(runs.buckets.length).toBeLessThanOrEqual(50 * 3 + 2);
  expect(runs.buckets.every(({ bucket }) => bucket >= 0 && bucket < 50)).toBe(true);
  expect(runs.buckets.reduce((sum, { refreshes }) => sum + refreshes, 0)).toBe(10_002);
  expect(runs.recent.length).toBeLessThanOrEqual(30);
});

test("a lake that nothing was applied to has an empty overview, and an old layout is read as it is", async () => {
  await using world = await OpenLake.start();
  expect(await world.lake.overview()).toMatchObject({ views: [], runs: { count: 0n }, logs: [], consumers: [] });
  await world.rows("CREATE TABLE t AS SELECT 1 AS id");
  await world.lake.define([{ name: "v", sql: "SELECT id FROM t" }]);
  await world.lake.refresh();
  for (const column of ["from_horizon", "started_at", "error"]) {
    await world.rows(`ALTER TABLE ivm.runs DROP COLUMN ${column}`);
  }
  await world.rows("UPDATE ivm.layout SET version = 2");
  const [view] = (await world.lake.overview()).views;
  expect(view).toMatchObject({ view: "v", state: "fresh", totals: { initial: 1n, failed: 0n } });
});

test("a lake opened to read only is not written, and one that is looked at is neither made nor kept busy", async () => {
  await using place = await tempLake();
  await expect(readOverview(place.config)).rejects.toMatchObject({ code: "catalog_unreachable" });
  {
    await using lake = await open(place.config);
    const connection = await lake.connect();
    await connection.run("CREATE TABLE t AS SELECT 1 AS id");
    expect((await readOverview(place.config)).views).toEqual([]);
    connection.closeSync();
  }
  await using lake = await open(place.config, { readOnly: true });
  await expect(lake.define([{ name: "v", sql: "SELECT id FROM t" }])).rejects.toThrow(/read-only/);
});

test("the command writes one file", async () => {
  const directory = await project(VIEWS, ORDERS);
  await json(["apply"], { cwd: directory });
  await json(["refresh"], { cwd: directory });
  await sql(directory, "INSERT INTO orders VALUES (4, 2, 1.00)");
  const out = join(directory, "report.html");
  const { exitCode, value } = await json<{ file: string; bytes: number; views: number }>(
    ["report", "--out", out, "--title", "shop"],
    { cwd: directory },
  );
  expect({ exitCode, value }).toMatchObject({ exitCode: 0, value: { file: out, views: 2 } });
  const page = await readFile(out, "utf8");
  expect(Buffer.byteLength(page)).toBe(value.bytes);
  expect(page).toContain("<h1>Of 2 views, 2 are behind</h1>");
  expect(page).not.toMatch(/(src|href)="(https?:)?\/\//);
  const failed = await json(["report", "--out", join(directory, "no", "such.html")], { cwd: directory });
  expect(failed).toMatchObject({ exitCode: 2, value: { error: { code: "file_not_written" } } });
});
