import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { command, type JsonError, json } from "./command.js";
import { CONFIG, ORDERS, project, sql, VIEWS } from "./lake.js";

vi.setConfig({ testTimeout: 180_000 });

async function builtProject(): Promise<string> {
  const cwd = await project(VIEWS, ORDERS);
  for (const words of [["apply"], ["refresh"]]) expect(await command(words, { cwd })).toMatchObject({ exitCode: 0 });
  return cwd;
}

const snapshot = (cwd: string): Promise<unknown> => sql(cwd, "SELECT max(snapshot_id) AS id FROM snapshots()");

it("query prints a view, or a SELECT, in every form, and writes nothing", async () => {
  const cwd = await builtProject();
  const before = await snapshot(cwd);
  const text = await command(["query", "big_spenders"], { cwd });
  expect(text).toMatchObject({ exitCode: 0, stderr: "" });
  expect(text.stdout.split("\n").map((line) => line.trim())).toEqual(["name  amount", "Ada   12.50", "", "1 row"]);

  const select = "SELECT name, orders + 9007199254740993 AS n FROM spent ORDER BY name DESC";
  const rows = await json(["query", "spent", select], { cwd });
  expect(rows.stdout.split("\n")).toEqual([
    '{"row":{"name":"Ben","n":9007199254740994}}',
    '{"row":{"name":"Ada","n":9007199254740995}}',
    '{"query":{"rows":2}}',
  ]);
  const lines = await command(["query", select, "--limit", "1", "--output", "jsonl"], { cwd });
  expect(lines).toMatchObject({ stdout: '{"name":"Ben","n":9007199254740994}', stderr: "\n1 row" });
  const csv = await command(["query", "spent", "--output", "csv"], { cwd });
  expect(csv.stdout.split("\n").sort()).toEqual(["Ada,2,12.50", "Ben,1,7.00", "name,orders,amount"]);
  const tuples = await command(["query", "SELECT (5, 'x', NULL) AS q, [row(1, 2)] AS l, 1.0 AS n"], { cwd });
  expect(tuples.stdout.split("\n")[1]?.trim()).toMatch(/^\(5, x, NULL\) +\[\(1, 2\)\] +1\.0$/);
  expect(await snapshot(cwd)).toEqual(before);
});

it("query writes files, by their endings or as --output says", async () => {
  const cwd = await builtProject();
  const write = (file: string, ...words: string[]) =>
    command(["query", "FROM spent ORDER BY name", "--out", file, ...words], { cwd });
  for (const file of ["s.csv", "s.JSON", "s.ndjson", "s.parquet", "s.arrow"]) {
    expect(await write(file), file).toMatchObject({ exitCode: 0, stderr: "" });
    expect((await stat(join(cwd, file))).size).toBeGreaterThan(30);
  }
  expect(await readFile(join(cwd, "s.csv"), "utf8")).toBe("name,orders,amount\nAda,2,12.50\nBen,1,7.00\n");
  const ada = { name: "Ada", orders: 2, amount: 12.5 };
  const linesOf = async (file: string) => (await readFile(join(cwd, file), "utf8")).trimEnd().split("\n");
  expect(JSON.parse((await linesOf("s.JSON"))[0] ?? "")).toEqual(ada);
  expect(await sql(cwd, `SELECT name FROM '${join(cwd, "s.parquet")}'`)).toEqual([{ name: "Ada" }, { name: "Ben" }]);
  expect((await write("s.data", "--output", "json")).exitCode).toBe(0);
  expect(JSON.parse((await linesOf("s.data"))[0] ?? "")).toEqual({ row: ada });
  // What fails on the way leaves the file as it was, and nothing beside it.
  const halfway = "SELECT CASE WHEN range < 200000 THEN range ELSE error('stop')::INT END AS n FROM range(300000)";
  for (const file of ["s.csv", "s.JSON", "s.arrow", "s.parquet", "new.csv"]) {
    const earlier = await stat(join(cwd, file)).catch(() => undefined);
    expect((await command(["query", halfway, "--out", file], { cwd })).exitCode, file).toBe(1);
    expect(await stat(join(cwd, file)).catch(() => undefined), file).toEqual(
      earlier === undefined ? undefined : { ...earlier, atimeMs: expect.any(Number), atime: expect.any(Date) },
    );
  }
  expect((await readdir(cwd)).filter((name) => name.endsWith(".part"))).toEqual([]);
  // A device is written to, not replaced.
  expect((await write("/dev/null", "--output", "csv")).exitCode).toBe(0);
  expect((await stat("/dev/null")).isCharacterDevice()).toBe(true);
  const refused = await write("s.txt");
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain("How s.txt is to be written can't be told");
});

it("query finds a view whose name has spaces, and still tells a SELECT that is written wrongly", async () => {
  const cwd = await project({ "views/big deals.sql": "SELECT id FROM orders WHERE amount > 5" }, ORDERS);
  for (const words of [["apply"], ["refresh"]]) await command(words, { cwd });
  const rows = await command(["query", "Big Deals", "--output", "csv"], { cwd });
  expect(rows, rows.stderr).toMatchObject({ exitCode: 0 });
  expect(rows.stdout.split("\n")[0]).toBe("id");
  const wrong = await json<JsonError>(["query", "big dealz"], { cwd });
  expect(wrong.value).toMatchObject({ error: { code: "query_invalid" } });
});

it("query refuses what is no SELECT that only reads, and names what may be meant", async () => {
  const cwd = await builtProject();
  for (const [query, code] of [
    ["DELETE FROM orders", "query_invalid"],
    ["SELECT 1; SELECT 2", "query_invalid"],
    ["COPY spent TO 'out.csv'", "query_invalid"],
    ["SET threads = 1", "query_invalid"],
    ["ATTACH 'other.db'", "query_invalid"],
    ["FROM ducklake_cleanup_old_files('lake', cleanup_all => true)", "query_invalid"],
    ["SELECT nothing FROM spent", "engine_error"],
  ] as const) {
    const refused = await json<JsonError>(["query", "spent", query], { cwd });
    expect(refused.value.error.code, query).toBe(code);
  }
  await expect(stat(join(cwd, "out.csv"))).rejects.toThrow();
  for (const words of [["spentt"], ["spentt", "SELECT 1"]]) {
    const unknown = await command(["query", ...words], { cwd });
    expect(unknown).toMatchObject({ exitCode: 2 });
    expect(unknown.stderr).toContain('hint: Did you mean "spent"?');
  }
});

it("changes and state write jsonl with the weight as a column", async () => {
  const cwd = await project({ ...VIEWS, "ducklake-ivm.yaml": `${CONFIG}log:\n  path: log\n` }, ORDERS);
  for (const words of [["apply"], ["refresh"]]) await command(words, { cwd });
  const state = await command(["state", "spent", "--output", "jsonl"], { cwd });
  expect(state.stdout.split("\n")[0]).toBe('{"name":"Ada","orders":2,"amount":12.50}');
  const [{ id }] = (await snapshot(cwd)) as [{ id: string }];
  await sql(cwd, "DELETE FROM orders WHERE id = 3");
  await command(["refresh"], { cwd });
  const changes = await command(["changes", "spent", "--since", id, "--out", "c.jsonl"], { cwd });
  expect(changes.stderr).toBe("");
  expect(await readFile(join(cwd, "c.jsonl"), "utf8")).toBe('{"name":"Ben","orders":1,"amount":7.00,"weight":-1}\n');
});

it("an --out that can't be written is told, whatever the rows and their form", async () => {
  const cwd = await project({ ...VIEWS, "ducklake-ivm.yaml": `${CONFIG}log:\n  path: log\n` }, ORDERS);
  for (const words of [["apply"], ["refresh"]]) await command(words, { cwd });
  await writeFile(join(cwd, "file"), "");
  for (const [words, out, why] of [
    [["query", "spent"], "none/rows.csv", "ENOENT"],
    [["query", "spent"], "file/rows.jsonl", "ENOTDIR"],
    [["state", "spent"], "none/rows.jsonl", "ENOENT"],
    [["state", "spent"], "none/rows.parquet", "ENOENT"],
    [["state", "spent"], "none/rows.arrow", "ENOENT"],
  ] as const) {
    const failed = await json<JsonError>([...words, "--out", out], { cwd });
    expect(failed, failed.stderr).toMatchObject({
      exitCode: 2,
      value: { error: { code: "file_not_written", hint: expect.stringContaining("folder"), subject: { file: out } } },
    });
    expect(failed.value.error.message).toContain(`${out} could not be written: ${why}`);
    expect(failed.value.error.message).not.toContain(".part");
    expect(failed.stderr).not.toContain("node:");
  }
});

it("an --out that is a folder, and a disk that is full, are told", async () => {
  const cwd = await builtProject();
  const folder = await json<JsonError>(["query", "spent", "--out", "views"], { cwd });
  expect(folder).toMatchObject({ exitCode: 2, value: { error: { code: "file_not_written" } } });
  for (const format of ["csv", "parquet", "jsonl", "arrow"]) {
    const full = await command(["query", "FROM range(100000)", "--out", "/dev/full", "--output", format], { cwd });
    expect(full.exitCode, full.stderr).toBe(1);
    expect(full.stderr).toMatch(/^error: A disk is full\. .*\nhint: Make room/s);
  }
});
