/** Change logs on the command line: rows in every form, consumers, exit codes, and readers that are slow or gone. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { execa } from "execa";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { BINARY, command, type JsonError, json, processOptions } from "./command.js";
import { project, sql } from "./lake.js";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const CONFIG = "lake:\n  catalog: lake.ducklake\n  data_path: lake_files\nlog:\n  path: logs\n";
const VIEWS = {
  "ducklake-ivm.yaml": CONFIG,
  "views/values.sql": "SELECT k, sum(n) AS n, max(d) AS d, list(d ORDER BY d) AS ds FROM t GROUP BY k",
  "views/bag.sql": "SELECT n FROM t",
  "views/big.sql": "/* ---\nprimary_key: i\n--- */\nSELECT i, repeat(md5(i::VARCHAR), 4) AS text FROM numbers",
};
const TABLES = [
  "CREATE TABLE t (k VARCHAR, n BIGINT, d DOUBLE)",
  "INSERT INTO t VALUES ('a,b', 9007199254740993, 1.5), (NULL, 2, 'nan'), ('c', 3, '-inf')",
  "CREATE TABLE numbers AS SELECT range AS i FROM range(200000)",
];

let cwd: string;
let first: number;
beforeAll(async () => {
  cwd = await project(VIEWS, TABLES);
  await command(["apply"], { cwd });
  first = (await json<{ horizon: number }>(["refresh"], { cwd })).value.horizon;
  await sql(cwd, "UPDATE t SET n = 4 WHERE k = 'c'", "INSERT INTO t VALUES (NULL, 1, 'inf')");
  await command(["refresh"], { cwd });
});

const lines = (stdout: string): unknown[] => stdout.split("\n").map((line) => JSON.parse(line));

describe("rows", () => {
  it("are JSON lines, whose numbers are exact and whose NaN is a string", async () => {
    const state = await command(["state", "values", "--at", String(first), "--output", "json"], { cwd });
    expect(state.exitCode, state.stderr).toBe(0);
    expect(state.stdout).toContain('"n":9007199254740993');
    expect(lines(state.stdout)).toEqual([
      { row: { k: "a,b", n: expect.anything(), d: 1.5, ds: [1.5] } },
      { row: { k: "c", n: 3, d: "-Infinity", ds: ["-Infinity"] } },
      { row: { k: null, n: 2, d: "NaN", ds: ["NaN"] } },
      { state: { view: "values", from: null, to: first, rows: 3 } },
    ]);
    const changes = await command(["changes", "values", "--since", String(first), "--output", "json"], { cwd });
    expect(lines(changes.stdout)).toEqual([
      { row: { k: "c", n: 3, d: "-Infinity", ds: ["-Infinity"] }, weight: -1 },
      { row: { k: "c", n: 4, d: "-Infinity", ds: ["-Infinity"] }, weight: 1 },
      { row: { k: null, n: 2, d: "NaN", ds: ["NaN"] }, weight: -1 },
      { row: { k: null, n: 3, d: "NaN", ds: ["Infinity", "NaN"] }, weight: 1 },
      { changes: { view: "values", from: first, to: expect.any(Number), rows: 4 } },
    ]);
  });

  it("are limited to keys, also to NULL", async () => {
    const keyed = async (...keys: string[]) => {
      const words = keys.flatMap((key) => ["--key", key]);
      const { stdout } = await command(["state", "values", "--output", "json", ...words], { cwd });
      return (lines(stdout) as { row?: { k: string | null } }[]).flatMap(({ row }) =>
        row === undefined ? [] : [row.k],
      );
    };
    expect(await keyed("k=c")).toEqual(["c"]);
    expect(await keyed('{"k": "a,b"}', '{"k": null}')).toEqual(["a,b", null]);
    expect(await keyed("k=nowhere")).toEqual([]);
  });

  it("are CSV, Parquet and Arrow, on stdout and in files", async () => {
    const words = ["changes", "values", "--since", String(first)];
    const csv = await command([...words, "--output", "csv", "--key", "k=c"], { cwd });
    expect(csv.stdout.split("\n")).toEqual(["k,n,d,ds,weight", "c,3,-inf,[-inf],-1", "c,4,-inf,[-inf],1"]);
    const parquet = await command([...words, "--output", "parquet", "--out", "rows.parquet"], { cwd });
    expect(parquet.exitCode, parquet.stderr).toBe(0);
    expect(
      await sql(cwd, `SELECT sum(weight)::INTEGER AS w, count(*)::INTEGER AS n FROM '${join(cwd, "rows.parquet")}'`),
    ).toEqual([{ w: 0, n: 4 }]);
    const arrow = await execa(BINARY, [...words, "--output", "arrow"], {
      ...processOptions({ cwd }),
      encoding: "buffer",
    });
    await command([...words, "--output", "arrow", "--out", "rows.arrow"], { cwd });
    for (const bytes of [arrow.stdout, await readFile(join(cwd, "rows.arrow"))]) {
      const table = tableFromIPC(bytes);
      expect(table.numRows).toBe(4);
      expect(table.toArray().map((row) => [row["k"], row["weight"]])).toEqual([
        ["c", -1n],
        ["c", 1n],
        [null, -1n],
        [null, 1n],
      ]);
    }
  });

  it("end quietly where the reader has gone, and wait for one that is slow", async () => {
    const head = await execa(
      "bash",
      ["-c", `"$0" state big --output json | head -n 2 | wc -l; exit "\${PIPESTATUS[0]}"`, BINARY],
      processOptions({ cwd }),
    );
    expect(head).toMatchObject({ stdout: "2", stderr: "", exitCode: 0 });
    const slow = await execa(
      "bash",
      ["-c", `NODE_OPTIONS=--max-old-space-size=64 "$0" state big --output json | (sleep 3; wc -l)`, BINARY],
      processOptions({ cwd }),
    );
    expect(slow).toMatchObject({ stdout: "200001", stderr: "" });
  });
});

describe("consumers", () => {
  it("take the state, then changes, and are told plainly where they must begin again", async () => {
    await command(["consumer", "add", "search", "values"], { cwd });
    const reset = await json<JsonError>(["changes", "--consumer", "search"], { cwd });
    expect(reset).toMatchObject({ exitCode: 3, value: { error: { code: "consumer_reset", retryable: false } } });
    const lost = await json<JsonError>(["changes", "values", "--since", "0"], { cwd });
    expect(lost).toMatchObject({ exitCode: 3, value: { error: { code: "log_position_lost" } } });
    const state = await json<{ state: object }>(["state", "--consumer", "search", "--commit"], { cwd });
    expect(state.value.state).toMatchObject({ view: "values", committed: true });
    const none = await json<{ changes: object }>(["changes", "--consumer", "search", "--commit"], { cwd });
    expect(none.value.changes).toMatchObject({ rows: 0, committed: false });
    const list = await json<{ consumers: object[] }>(["consumer", "list"], { cwd });
    expect(list.value.consumers).toMatchObject([{ name: "search", windows: 0, reset: false }]);
    const [{ position }] = list.value.consumers as [{ position: number }];
    const back = await json<JsonError>(["consumer", "commit", "search", `${position - 1}`], { cwd });
    expect(back).toMatchObject({ exitCode: 2, value: { error: { code: "consumer_ahead", retryable: false } } });
    const behind = ["consumer", "commit", "search", `${position}`, "--from", `${position - 1}`];
    expect(await json(behind, { cwd })).toMatchObject({ exitCode: 75, value: { error: { code: "consumer_moved" } } });
    const mirror = join(cwd, "mirror.db");
    const replayed = await json(["replay", "--consumer", "search", "--into", `duckdb:${mirror}.copy`], { cwd });
    expect(replayed, replayed.stderr).toMatchObject({
      exitCode: 0,
      value: { status: "applied", took: "state", target: { kind: "duckdb", table: "main.copy" } },
    });
    const again = await command(
      ["replay", "values", "--consumer", "search", "--into", `duckdb:${mirror}`, "--table", "copy"],
      { cwd },
    );
    expect(again.stdout).toMatch(/^main\.copy \(duckdb\) stands at snapshot \d+ already\.$/);
    expect((await command(["consumer", "remove", "search"], { cwd })).exitCode).toBe(0);
    expect((await json<{ consumers: object[] }>(["consumer", "list"], { cwd })).value.consumers).toEqual([]);
  });
});

it("wrong usage is exit code 2", async () => {
  for (const [words, code] of [
    [["changes"], "view_missing"],
    [["changes", "values"], "since_or_consumer"],
    [["changes", "values", "--since", "x"], "usage"],
    [["changes", "nothing", "--since", "1"], "log_unknown"],
    [["state", "values", "--commit"], "commit_without_consumer"],
    [["state", "values", "--key", "n=1"], "key_invalid"],
    [["state", "values", "--key", "k"], "usage"],
    [["consumer", "commit", "nobody", "1"], "consumer_unknown"],
    [["consumer", "add", "", "values"], "consumer_name"],
    [["consumer", "add", " ", "values"], "consumer_name"],
    [["replay", "--consumer", "nobody"], "usage"],
    [["replay", "--consumer", "nobody", "--into", "mysql:x.t"], "replay_target"],
  ] as const) {
    const result = await json<JsonError>(words, { cwd });
    expect([words, result.exitCode, result.value.error.code]).toEqual([words, 2, code]);
  }
});

it("a snapshot that the lake does not have yet is refused, one that the view was not refreshed to means the end", async () => {
  for (const words of [
    ["changes", "values", "--since", "99999"],
    ["state", "values", "--at", "99999"],
    ["consumer", "add", "early", "values", "--at", "99999"],
  ]) {
    const refused = await json<JsonError>(words, { cwd });
    expect([words, refused.exitCode, refused.value.error.code]).toEqual([words, 1, "snapshot_missing"]);
    expect(refused.value.error.message).toMatch(/^The lake has no snapshot 99999; its newest is \d+\.$/);
  }
  const [newest] = (await sql(cwd, "SELECT max(snapshot_id) AS id FROM snapshots()")) as [{ id: string }];
  const state = await json<{ state: { to: number } }>(["state", "values", "--at", newest.id], { cwd });
  expect(state).toMatchObject({ exitCode: 0 });
  expect(BigInt(state.value.state.to)).toBeLessThan(BigInt(newest.id));
});

it("compact and sweep tell what they did", async () => {
  const compacted = await json<{ logs: { log: string; folds: number }[] }>(["compact", "values"], { cwd });
  expect(compacted.value.logs).toMatchObject([{ log: "values" }]);
  const dry = await json(["sweep", "--dry-run"], { cwd });
  expect(dry.value).toMatchObject({ dry_run: true, files: [] });
});
