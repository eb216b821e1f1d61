/** Who may read what the tool writes on this machine: whom the umask lets, and nobody else. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test, vi } from "vitest";
import { BINARY, processOptions } from "../cli/command.js";
import { sql } from "../cli/lake.js";
import { folder } from "../project/files.js";

vi.setConfig({ testTimeout: 300_000 });

const CONFIG = `
lake: { catalog: lake.ducklake, data_path: lake_files }
log: { path: logs }`;

async function modesBelow(path: string): Promise<Map<string, number>> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const names = entries.map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      names.map(
        async (name): Promise<[string, number]> => [name.slice(path.length + 1), (await stat(name)).mode & 0o777],
      ),
    ),
  );
}

test.each(["077", "027"])("with umask %s", async (umask) => {
  const outer = await folder();
  const run = async (cwd: string, ...words: string[]): Promise<void> => {
    const { exitCode, stderr } = await execa(
      "sh",
      ["-c", `umask ${umask}; exec "$0" "$@"`, BINARY, ...words],
      processOptions({ cwd }),
    );
    expect(exitCode, `${words.join(" ")}: ${stderr}`).toBe(0);
  };
  await run(outer, "init");
  const own = await modesBelow(outer);
  expect([...own.keys()]).toContain("ducklake-ivm.yaml");

  const cwd = await folder({ "ducklake-ivm.yaml": CONFIG, "views/v.sql": "SELECT k, count(*) AS n FROM t GROUP BY k" });
  const given = await modesBelow(cwd);
  await run(cwd, "append", "t", "from", "SELECT i % 3 AS k FROM range(10) r(i)", "--create");
  await run(cwd, "apply");
  await run(cwd, "refresh", "--metrics", "lake.prom");
  await run(cwd, "report", "--out", "report.html");
  await run(cwd, "state", "v", "--output", "json", "--out", "rows.json");
  await run(cwd, "state", "v", "--output", "parquet", "--out", "rows.parquet");
  await run(cwd, "consumer", "add", "c", "v");
  await run(cwd, "replay", "v", "--consumer", "c", "--into", "duckdb:mirror.db", "--table", "v");
  expect(await sql(cwd, "SELECT count(*) AS n FROM v")).toEqual([{ n: "3" }]);
  const written = [...own, ...[...(await modesBelow(cwd))].filter(([name]) => !given.has(name))];
  const names = written.map(([name]) => name);
  for (const name of [
    "lake.ducklake",
    "target/run_results.json",
    "logs/v/manifest.json",
    "lake.prom",
    "report.html",
    "rows.json",
    "mirror.db",
  ]) {
    expect(names).toContain(name);
  }
  const masked = Number.parseInt(umask, 8);
  const tooOpen = written.filter(([, mode]) => (mode & masked) !== 0);
  expect(tooOpen.map(([name, mode]) => `${name} ${mode.toString(8)}`)).toEqual([]);
});
