/** Appends and merges: what they write, what they leave alone, and what views make of it. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { IngestResult } from "../../src/index.js";
import { Scene, viewOf } from "../hazards/scene.js";

const counts = ({ rows }: IngestResult): number[] =>
  [rows.input, rows.inserted, rows.updated, rows.deleted, rows.unchanged].map(Number);

const TABLE = "CREATE TABLE t(k INTEGER, v VARCHAR, n DECIMAL(8, 2))";
const ROWS = "SELECT i::INTEGER AS k, 'v' || i AS v, (i / 2)::DECIMAL(8, 2) AS n FROM range(1000) r(i)";

describe("a merge", () => {
  test("writes only what differs, and a view reads just that", async () => {
    await using scene = await Scene.start();
    await scene.sql(
      TABLE,
      "CREATE TABLE names(v VARCHAR, name VARCHAR)",
      "INSERT INTO names VALUES ('v1', 'one'), ('x', 'ex')",
    );
    await scene.lake.append("t", ROWS);
    await scene.define({
      flat: "SELECT k, v, n FROM t",
      named: "SELECT t.k, names.name FROM t JOIN names USING (v)",
      totals: "SELECT k % 10 AS bucket, count(*) AS rows, sum(n) AS n FROM t GROUP BY 1",
    });
    const changed = `
      SELECT k, CASE WHEN k % 100 = 1 THEN 'x' ELSE v END AS v, n FROM (${ROWS}) WHERE k NOT IN (5, 500)
      UNION ALL SELECT 2000, 'x', 1`;
    const result = await scene.lake.merge("t", changed, { key: ["k"], deleteMissing: true });
    expect(result).toMatchObject({ table: "main.t", kind: "merge", status: "written", created: false, dryRun: false });
    expect(counts(result)).toEqual([999, 1, 10, 2, 988]);
    expect(result.snapshot).toBe(await scene.snapshot());

    const refreshed = await scene.refresh();
    for (const name of ["flat", "named", "totals"]) {
      const view = viewOf(refreshed, name);
      const source = view.sources.find(({ source }) => source === "main.t");
      expect(view, name).toMatchObject({ strategy: "incremental", status: "refreshed" });
      expect(source, name).toMatchObject({ changed: true, delta: "files" });
      expect(source?.deltaReason, name).toBeUndefined();
    }
    // Ten updated and one new row in, ten old and two missing ones out.
    expect(viewOf(refreshed, "flat").rows).toEqual({ inserted: 11n, deleted: 12n });
    const delta = await scene.value(
      `SELECT (SELECT count(*) FROM ducklake_table_insertions('lake', 'main', 't', ${result.snapshot}, ${result.snapshot}))
         || '/' || (SELECT count(*) FROM ducklake_table_deletions('lake', 'main', 't', ${result.snapshot}, ${result.snapshot}))`,
    );
    expect(delta).toBe("11/12");
  });

  test("of the same rows writes nothing, not even a snapshot", async () => {
    await using scene = await Scene.start();
    await scene.sql(TABLE);
    // The very first merge of a lake, too: there is not yet any table of this project's own.
    await scene.sql(`INSERT INTO t ${ROWS}`);
    const before = await scene.snapshot();
    for (const deleteMissing of [false, true]) {
      const result = await scene.lake.merge("t", ROWS, { key: ["k"], deleteMissing });
      expect(result).toMatchObject({ status: "unchanged", snapshot: null });
      expect(counts(result)).toEqual([1000, 0, 0, 0, 1000]);
    }
    expect(counts(await scene.lake.append("t", ROWS, { key: ["k"] }))).toEqual([1000, 0, 0, 0, 1000]);
    expect(counts(await scene.lake.append("t", `${ROWS} WHERE false`))).toEqual([0, 0, 0, 0, 0]);
    expect(await scene.snapshot()).toBe(before);
  });

  test("leaves rows that the input does not have, unless it is the whole table", async () => {
    await using scene = await Scene.start();
    await scene.sql(
      TABLE,
      "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (NULL, 'lost', 3), (3, 'c', 3), (3, 'c', 3)",
    );
    const some = "SELECT 2 AS k, 'B' AS v, 2 AS n";
    expect(counts(await scene.lake.merge("t", some, { key: ["k"] }))).toEqual([1, 0, 1, 0, 0]);
    expect(await scene.rows("t")).toEqual([
      "(1, a, 1.00)",
      "(2, B, 2.00)",
      "(3, c, 3.00)",
      "(3, c, 3.00)",
      "(NULL, lost, 3.00)",
    ]);
    // Rows without a key and copies of a key that is gone go as well.
    const whole = await scene.lake.merge("t", some, { key: ["k"], deleteMissing: true });
    expect(counts(whole)).toEqual([1, 0, 0, 4, 1]);
    expect(await scene.rows("t")).toEqual(["(2, B, 2.00)"]);
    const none = await scene.lake.merge("t", `${some} WHERE false`, { key: ["k"], deleteMissing: true });
    expect(counts(none)).toEqual([0, 0, 0, 1, 0]);
    expect(await scene.rows("t")).toEqual([]);
  });

  test("tells apart NULL, values and rows by all columns of the key", async () => {
    await using scene = await Scene.start();
    await scene.sql("CREATE TABLE t(a INTEGER, b VARCHAR, x DOUBLE, y INTEGER)");
    await scene.sql(
      "INSERT INTO t VALUES (1, 'a', 'nan', NULL), (1, 'b', 0.0, 1), (2, 'a', NULL, NULL), (2, 'b', 1, 1)",
    );
    const input = `SELECT * FROM (VALUES (1, 'a', 'nan'::DOUBLE, NULL), (1, 'b', '-0.0'::DOUBLE, NULL), (2, 'a', NULL, 2), (2, 'b', NULL, 1)) r(a, b, x, y)`;
    expect(counts(await scene.lake.merge("t", input, { key: ["A", "b"] }))).toEqual([4, 0, 3, 0, 1]);
    expect(await scene.rows("t")).toEqual([
      "(1, a, nan, NULL)",
      "(1, b, -0.0, NULL)",
      "(2, a, NULL, 2)",
      "(2, b, NULL, 1)",
    ]);
    expect((await scene.lake.merge("t", input, { key: ["a", "b"] })).status).toBe("unchanged");
  });

  test("takes its own table as its input, at one snapshot", async () => {
    await using scene = await Scene.start();
    await scene.sql(TABLE, `INSERT INTO t ${ROWS}`);
    const result = await scene.lake.merge("t", "SELECT k, v, n + 1 AS n FROM t WHERE k < 3; -- once", { key: ["k"] });
    expect(counts(result)).toEqual([3, 0, 3, 0, 0]);
    expect(await scene.value("SELECT sum(n) FROM t WHERE k < 3")).toBe("4.50");
  });

  test("keeps the order of its transaction: commit message and rows in one snapshot", async () => {
    await using scene = await Scene.start();
    await scene.sql(TABLE);
    const { snapshot } = await scene.lake.merge("t", ROWS, { key: ["k"] });
    const [message] = await scene.rows(
      `(SELECT commit_message, commit_extra_info::JSON ->> '$.table', commit_extra_info::JSON ->> '$.rows.inserted' FROM lake.snapshots() WHERE snapshot_id = ${snapshot})`,
    );
    expect(message).toBe("(ducklake-ivm: merge main.t: 1000 inserted, 0 updated, 0 deleted, main.t, 1000)");
  });
});

describe("an append", () => {
  test("without a key adds every row, each time", async () => {
    await using scene = await Scene.start();
    await scene.sql(TABLE);
    const two = "SELECT 1 AS k, 'a' AS v, 1 AS n UNION ALL SELECT NULL, NULL, NULL";
    for (const total of ["2", "4"]) {
      const result = await scene.lake.append("t", two);
      expect(counts(result)).toEqual([2, 2, 0, 0, 0]);
      expect(await scene.value("SELECT count(*) FROM t")).toBe(total);
    }
  });

  test("of text that speaks of storage needs no keys for it", async () => {
    await using scene = await Scene.start();
    await scene.sql("CREATE TABLE t(v VARCHAR)");
    await scene.lake.append("t", "SELECT 's3://bucket/x' AS v");
    expect(await scene.rows("t")).toEqual(["(s3://bucket/x)"]);
  });

  test("with a key leaves out what is there, and never changes a row", async () => {
    await using scene = await Scene.start();
    await scene.sql(TABLE, "INSERT INTO t VALUES (1, 'a', 1), (2, NULL, NULL)");
    const input = "SELECT * FROM (VALUES (1, 'a', 1), (2, NULL, NULL), (3, 'c', 3)) r(k, v, n)";
    expect(counts(await scene.lake.append("t", input, { key: ["k"] }))).toEqual([3, 1, 0, 0, 2]);
    expect(counts(await scene.lake.append("t", input, { key: ["k"] }))).toEqual([3, 0, 0, 0, 3]);
    const before = await scene.snapshot();
    const other = "SELECT * FROM (VALUES (2, 'b', NULL), (4, 'd', 4)) r(k, v, n)";
    await expect(scene.lake.append("t", other, { key: ["k"] })).rejects.toMatchObject({
      name: "IngestError",
      code: "key_exists",
      samples: [{ k: "2" }],
    });
    expect(await scene.snapshot()).toBe(before);
  });
});

describe("a table that does not exist", () => {
  test("is created when that is asked for, with a key that can't be NULL", async () => {
    await using scene = await Scene.start();
    const input = "SELECT 1 AS k, 'a' AS v, sum(i) AS total, INTERVAL 1 DAY AS span FROM range(3) r(i)";
    await expect(scene.lake.merge("made", input, { key: ["k"] })).rejects.toMatchObject({ code: "table_missing" });
    const dry = await scene.lake.merge("made", input, { key: ["k"], create: true, dryRun: true });
    expect(dry).toMatchObject({ created: true, dryRun: true, snapshot: null });
    await expect(scene.rows("made")).rejects.toThrow(/does not exist/);
    const first = await scene.lake.merge("made", input, { key: ["k"], create: true });
    expect(first).toMatchObject({ created: true, status: "written" });
    const second = await scene.lake.merge("made", input, { key: ["k"], create: true });
    expect(second).toMatchObject({ created: false, status: "unchanged" });
    expect(
      await scene.rows("(SELECT column_name, data_type, is_nullable FROM duckdb_columns() WHERE table_name = 'made')"),
    ).toEqual(["(k, INTEGER, false)", "(span, VARCHAR, true)", "(total, DECIMAL(38,0), true)", "(v, VARCHAR, true)"]);
    const empty = await scene.lake.append("hollow", "SELECT 1 AS a WHERE false", { create: true });
    expect(empty).toMatchObject({ created: true, status: "written", snapshot: await scene.snapshot() });
    expect(await scene.value("SELECT count(*) FROM hollow")).toBe("0");
  });
});

test("a dry run tells what would be written, and writes nothing", async () => {
  await using scene = await Scene.start();
  await scene.sql(TABLE, "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)");
  const before = await scene.snapshot();
  const input = "SELECT 1 AS k, 'A' AS v, 1 AS n UNION ALL SELECT 3, 'c', 3";
  const result = await scene.lake.merge("t", input, { key: ["k"], deleteMissing: true, dryRun: true });
  expect(result).toMatchObject({ status: "written", dryRun: true, snapshot: null });
  expect(counts(result)).toEqual([2, 1, 1, 1, 0]);
  expect((await scene.lake.append("t", input, { dryRun: true })).rows.inserted).toBe(2n);
  expect(await scene.snapshot()).toBe(before);
});

describe("names", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await Scene.start();
    await scene.sql("CREATE TABLE t(k INTEGER)", "CREATE VIEW plain AS SELECT 1 AS k");
    await scene.define({ kept: "SELECT k FROM t" });
    await scene.lake.define([{ name: "pending", sql: "SELECT k FROM t" }]);
  });
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test("are read as in SQL, and compare without case", async () => {
    await scene.sql(
      'CREATE SCHEMA "my schema"',
      'CREATE TABLE "my schema"."a.b ""c"""("Key" INTEGER, "select" INTEGER)',
      'CREATE TABLE "order"(k INTEGER)',
      'CREATE TABLE "strange-name"(k INTEGER)',
    );
    const input = "SELECT 1 AS KEY, 2 AS SELECT";
    expect((await scene.lake.merge('"my schema"."A.b ""c"""', input, { key: ["key"] })).table).toBe(
      '"my schema"."a.b ""c"""',
    );
    for (const name of ["order", '"order"', "main.ORDER", 'lake.main."order"', "strange-name"]) {
      expect((await scene.lake.append(name, "SELECT 1 AS k")).rows.inserted, name).toBe(1n);
    }
    expect(await scene.value('SELECT count(*) FROM "order"')).toBe("4");
  });

  test("of columns and tables may be those that are used here", async () => {
    const names = ["rowid", "snapshot_id", "copies", "matched", "differs", "gone", "input", "present", "_ivm_weight"];
    const columns = names.map((name) => `"${name}" INTEGER`).join(", ");
    for (const table of ["victim", "_ivm_victim", "ivm_input", "present", "input"]) {
      await scene.sql(`CREATE TABLE "${table}"(${columns})`);
      const rows = (n: number, value: number) =>
        `SELECT ${names.map((name, index) => `${index < 3 ? "i" : value} AS "${name}"`).join(", ")} FROM range(${n}) r(i)`;
      const key = ["rowid", "snapshot_id", "copies"];
      await scene.lake.merge(table, rows(5, 1), { key });
      const result = await scene.lake.merge(table, rows(3, 2), { key, deleteMissing: true });
      expect(counts(result), table).toEqual([3, 0, 3, 2, 0]);
      expect((await scene.lake.merge(table, rows(3, 2), { key, deleteMissing: true })).status).toBe("unchanged");
      expect(await scene.value(`SELECT count(*) FROM (FROM "${table}" EXCEPT ${rows(3, 2)})`)).toBe("0");
    }
  });

  test.each([
    ["", "table_name"],
    ["t WHERE k = 1", "table_name"],
    ["t, t", "table_name"],
    ["t AS x", "table_name"],
    ["t x", "table_name"],
    ["t; DROP TABLE t", "table_name"],
    ["(SELECT 1)", "table_name"],
    ["range(3)", "table_name"],
    ["t AT (VERSION => 1)", "table_name"],
    ["t TABLESAMPLE 10%", "table_name"],
    ["temp.main.t", "table_name"],
    ["nowhere", "table_missing"],
    ["no.where", "schema_missing"],
    ["plain", "table_is_view"],
    ["kept", "table_is_view"],
    ["KEPT", "table_is_view"],
    ["pending", "table_is_view"],
    ["ivm.data_kept", "table_is_state"],
    ["ivm.new", "table_is_state"],
  ])("that can't be written to are errors: %j", async (name, code) => {
    const before = await scene.snapshot();
    const create = code !== "table_missing";
    await expect(scene.lake.append(name, "SELECT 1 AS k", { create })).rejects.toMatchObject({
      name: "ConfigError",
      code,
    });
    expect(await scene.snapshot()).toBe(before);
    expect(await scene.value("SELECT count(*) FROM t")).toBe("0");
  });
});

describe("an input that can't be taken", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await Scene.start();
    await scene.sql(
      "CREATE TABLE t(k INTEGER, v VARCHAR NOT NULL, n DECIMAL(8, 2))",
      "INSERT INTO t VALUES (9, 'z', 9)",
      "CREATE TABLE copies(k INTEGER, mixed VARIANT)",
      "INSERT INTO copies VALUES (1, 1), (1, 2), (2, 3)",
    );
  });
  afterAll(() => scene?.[Symbol.asyncDispose]());

  const valid = "(VALUES (1, 'a', 1.0)) r(k, v, n)";
  test.each([
    [
      "a key that several rows have",
      "SELECT * FROM (VALUES (1, 'a', 1), (1, 'b', 1), (2, 'b', 1)) r(k, v, n)",
      "key_duplicate",
      [{ k: "1" }],
    ],
    [
      "a row without a key",
      "SELECT * FROM (VALUES (NULL, 'a', 1)) r(k, v, n)",
      "key_null",
      [{ k: null, v: "a", n: "1" }],
    ],
    ["a missing column", `SELECT k, v FROM ${valid}`, "column_missing", []],
    ["one column too many", `SELECT *, 1 AS extra FROM ${valid}`, "column_unknown", []],
    ["a name twice", `SELECT *, n FROM ${valid}`, "column_unknown", []],
    ["text that is no number", "SELECT 'one' AS k, 'a' AS v, 1 AS n", "value_lossy", [{ k: "one" }]],
    ["a number too large", "SELECT 3000000000 AS k, 'a' AS v, 1 AS n", "value_lossy", [{ k: "3000000000" }]],
    ["digits too many", "SELECT 1 AS k, 'a' AS v, 1.239 AS n", "value_lossy", [{ n: "1.239" }]],
    ["no value where one must be", "SELECT 1 AS k, NULL AS v, 1 AS n", "not_null", [{ k: "1", v: null, n: "1" }]],
    ["a query that fails", "SELECT error('on purpose') AS k, 'a' AS v, 1 AS n", "input_unreadable", []],
    ["a table that is not there", "SELECT * FROM nowhere", "input_unreadable", []],
  ])("%s", async (_, input, code, samples) => {
    const before = await scene.snapshot();
    const refusal = scene.lake.merge("t", input, { key: ["k"], deleteMissing: true });
    await expect(refusal).rejects.toMatchObject({ name: "IngestError", code, samples, retryable: false });
    expect(await scene.snapshot()).toBe(before);
    expect(await scene.rows("t")).toEqual(["(9, z, 9.00)"]);
  });

  test("a key that does not tell the table's rows apart", async () => {
    const before = await scene.snapshot();
    const input = "SELECT 1 AS k, 1::VARIANT AS mixed UNION ALL SELECT 2, 2::VARIANT";
    const refusal = scene.lake.merge("copies", input, { key: ["k"] });
    await expect(refusal).rejects.toMatchObject({ code: "table_key_duplicate", samples: [{ k: "1" }] });
    expect(await scene.snapshot()).toBe(before);
  });

  test.each([
    [[], "key_missing"],
    [["nothing"], "key_unknown"],
    [["mixed"], "key_type"],
  ])("the key %j", async (key, code) => {
    const refusal = scene.lake.merge("copies", "SELECT 1 AS k, 1::VARIANT AS mixed", { key });
    await expect(refusal).rejects.toMatchObject({ name: "ConfigError", code });
  });

  test.each([
    ["", "input_not_a_query"],
    ["SELECT 1 AS k; SELECT 2 AS k", "input_not_a_query"],
    ["DELETE FROM t", "input_not_a_query"],
    ["SELEC 1", "input_syntax"],
    ["orders", "input_syntax"],
    ["missing.csv", "file_missing"],
    ["missing*.parquet", "file_missing"],
  ])("what is neither query nor file: %j", async (input, code) => {
    await expect(scene.lake.append("t", input)).rejects.toMatchObject({ name: "ConfigError", code });
    expect(await scene.value("SELECT count(*) FROM t")).toBe("1");
  });
});
