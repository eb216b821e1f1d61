/** No secret is in anything that is printed or written, nor in the arguments of any process. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, test, vi } from "vitest";
import { BINARY, processOptions } from "../cli/command.js";
import { SharedProject } from "./shared-project.js";

vi.setConfig({ testTimeout: 300_000 });

/** The arguments of every process of this machine. */
async function allArguments(): Promise<string> {
  const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const read = async (name: string) => readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
  return (await Promise.all(processes.map(read))).join("\n");
}

async function textOf(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "latin1")))).join("\n");
}

test("password and keys are nowhere but where they were put", async () => {
  const { s3, postgres } = inject("services");
  await using project = await SharedProject.start(
    { catalog: "postgres", data: "s3" },
    ["CREATE TABLE t AS SELECT range % 5 AS k, range AS v FROM range(200)"],
    { sums: "SELECT k, sum(v) AS s FROM t GROUP BY k", broken: "/* --- primary_key: k --- */ SELECT k FROM t" },
    `log: { path: "s3://${s3.bucket}/secrets-test-logs" }`,
  );
  const secrets = [postgres.password, s3.secretAccessKey];
  const seen: string[] = [];
  let watching = true;
  const watch = (async () => {
    while (watching) {
      seen.push(await allArguments());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const printed: string[] = [];
  for (const words of [
    ["apply"],
    ["refresh"],
    ["refresh", "--output", "json"],
    ["explain", "sums"],
    ["history"],
    ["doctor", "--output", "json"],
    ["maintain"],
    ["changes", "sums", "--since", "999999"],
    ["replay", "sums", "--into", `postgres://someone:${postgres.password}@127.0.0.1:1/none`, "--consumer", "c"],
  ]) {
    // An address of one's own on the command line is what its user wrote there.
    const isGiven = words.some((word) => word.includes(postgres.password));
    if (isGiven) watching = false;
    const result = await execa(BINARY, [...words, "--debug"], processOptions(project.options));
    printed.push(result.stdout, result.stderr);
  }
  watching = false;
  await watch;
  expect(seen.length).toBeGreaterThan(5);
  expect(printed.join("\n")).toMatch(/broken/);
  const tables = ["views", "progress", "runs", "logs", "segments", "retired", "consumers", "identity"];
  const rows: unknown[] = [];
  for (const table of tables) rows.push(await project.sql(`SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ivm.${table}`));
  rows.push(await project.sql("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM lake.snapshots()"));
  rows.push(await project.sql(`SELECT content FROM read_text('s3://${s3.bucket}/secrets-test-logs/**/manifest.json')`));
  const written = JSON.stringify(rows) + (await textOf(project.cwd));
  expect(written).toMatch(/refresh sums/);
  expect(written).toContain("ducklake-ivm/schemas/run-results.v1.json");
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(7);
    expect(printed.join("\n").includes(secret), "in what was printed").toBe(false);
    expect(written.includes(secret), "in what was written").toBe(false);
    expect(
      seen.some((text) => text.includes(secret)),
      "in arguments of a process",
    ).toBe(false);
  }
});
