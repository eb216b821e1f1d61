/** Files that are read without DuckLake give what DuckLake's own read gives, and those that can't be are left to it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChangeHistory } from "../../src/catalog/change-history.js";
import { WEIGHT } from "../../src/catalog/consolidate.js";
import { loadSourceDelta } from "../../src/catalog/source-delta.js";
import { tableAt } from "../../src/catalog/tables.js";
import { readTouched } from "../../src/catalog/touched-files.js";
import { inspectWindow } from "../../src/catalog/window.js";
import { quoteIdentifier } from "../../src/sql/quote.js";
import { CatalogLake } from "./lake.js";

let lake: CatalogLake;
beforeAll(async () => {
  lake = await CatalogLake.open();
});
afterAll(() => lake[Symbol.asyncDispose]());

let tables = 0;

interface Read {
  /** Of each part whether it is read without DuckLake. */
  readonly direct: readonly boolean[];
  /** Rows with their weights, by the touched files. */
  readonly rows: readonly string[];
}

/**
 * Runs statements before a window and in it (`$t` is the table), and reads the window by the touched files, which must give
 * what the difference of two reads gives.
 */
async function read(before: readonly string[], within: readonly string[], columns?: readonly string[]): Promise<Read> {
  tables += 1;
  const table = `direct${tables}`;
  const named = (statements: readonly string[]) => statements.map((statement) => statement.replaceAll("$t", table));
  await lake.run(...named(before));
  const cursor = await lake.cursor(table, columns);
  await lake.run(...named(within));
  const window = { ...cursor, to: await lake.now() };
  const history = await ChangeHistory.read(lake.session, window.from, window.to);
  const state = await inspectWindow(lake.session, lake.engine, history, window);
  if (state.kind !== "changed") throw new Error(`the window is ${state.kind}`);
  expect(state.method).toBe("files");
  const request = { ...window, inlined: state.inlined, reason: null, target: "delta_of_test" };
  const load = async (method: "files" | "difference"): Promise<string[]> => {
    expect((await loadSourceDelta(lake.session, lake.engine, { ...request, method })).method).toBe(method);
    const list = [...window.columns, WEIGHT].map(quoteIdentifier).join(", ");
    const found = await lake.session.rows<{ row: string }>(
      `SELECT to_json(struct_pack(${list}))::VARCHAR AS row FROM temp.delta_of_test ORDER BY row`,
    );
    return found.map(({ row }) => row);
  };
  const rows = await load("files");
  const touched = await readTouched(lake.session, lake.engine, request);
  expect(rows).toEqual(await load("difference"));
  return { direct: (touched?.parts ?? []).map(({ select }) => select.includes("read_parquet")), rows };
}

const VALUES = [
  ["BOOLEAN", "i % 2 = 0"],
  ["TINYINT", "(i % 100)::TINYINT"],
  ["SMALLINT", "i::SMALLINT"],
  ["INTEGER", "-i::INTEGER"],
  ["BIGINT", "9223372036854775807 - i"],
  ["UTINYINT", "(i % 200)::UTINYINT"],
  ["USMALLINT", "i::USMALLINT"],
  ["UINTEGER", "4294967295 - i"],
  ["UBIGINT", "18446744073709551615 - i"],
  ["FLOAT", "CASE WHEN i % 3 = 0 THEN 'nan'::FLOAT ELSE i / 3 END"],
  ["DOUBLE", "CASE WHEN i % 3 = 0 THEN '-inf'::DOUBLE WHEN i % 3 = 1 THEN '-0.0'::DOUBLE ELSE i / 7 END"],
  ["DECIMAL(4,1)", "(i / 10)::DECIMAL(4,1)"],
  ["DECIMAL(18,3)", "(i * 1.001)::DECIMAL(18,3)"],
  ["DECIMAL(38,10)", "1234567890123456789012345678.0123456789::DECIMAL(38,10) - i"],
  ["VARCHAR", "CASE WHEN i % 4 = 0 THEN '' ELSE 'é' || chr(10) || i END"],
  ["BLOB", "('\\x00' || i)::BLOB"],
  ["DATE", "CASE WHEN i % 5 = 0 THEN 'infinity'::DATE ELSE DATE '0044-03-15 (BC)' + i::INTEGER END"],
  [
    "TIMESTAMP",
    "CASE WHEN i % 5 = 0 THEN '-infinity'::TIMESTAMP ELSE TIMESTAMP '1969-12-31 23:59:59.999999' + i * INTERVAL 1 DAY END",
  ],
  ["TIMESTAMPTZ", "TIMESTAMPTZ '2026-03-29 00:59:59.999999+00' + i * INTERVAL 1 HOUR"],
  ["UUID", "(md5(i::VARCHAR))::UUID"],
] as const;
const CHANGE = [
  "DELETE FROM $t WHERE i BETWEEN 20 AND 40",
  "INSERT INTO $t SELECT * FROM $t WHERE i BETWEEN 100 AND 130",
];

describe("values", () => {
  test.each(VALUES)("of the type %s", async (type, value) => {
    const values = `CASE WHEN i % 11 = 0 THEN NULL ELSE ${value} END::${type}`;
    const { direct, rows } = await read([`CREATE TABLE $t AS SELECT i, ${values} AS v FROM range(200) r(i)`], CHANGE);
    expect(direct).toEqual([true, true]);
    expect(rows.length).toBe(21 + 31);
  });

  test.each(["HUGEINT", "TIME", "INTEGER[]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "JSON", "TIMESTAMP_NS"])(
    "of the type %s are left to DuckLake",
    async (type) => {
      const { direct } = await read(
        [`CREATE TABLE $t (i BIGINT, v ${type})`, "INSERT INTO $t SELECT i, NULL FROM range(200) r(i)"],
        CHANGE,
      );
      expect(direct).not.toContain(true);
    },
  );
});

describe("columns", () => {
  const OLD = "CREATE TABLE $t AS SELECT i, i % 7 AS a, i % 9 AS b FROM range(200) r(i)";

  test("that were renamed, and whose names others have now", async () => {
    const { direct } = await read(
      [
        OLD,
        "ALTER TABLE $t RENAME COLUMN a TO c",
        "ALTER TABLE $t RENAME COLUMN b TO a",
        "INSERT INTO $t SELECT 200 + i, 1, 2 FROM range(50) r(i)",
      ],
      ["DELETE FROM $t WHERE i BETWEEN 190 AND 219", "INSERT INTO $t SELECT 300 + i, 5, 6 FROM range(20) r(i)"],
    );
    // The file from before the names is DuckLake's; the two from after them are not.
    expect(direct.toSorted()).toEqual([false, true, true]);
  });

  test("that came with a default after some files", async () => {
    const { direct, rows } = await read(
      [
        OLD,
        "ALTER TABLE $t ADD COLUMN c INTEGER DEFAULT 42",
        "INSERT INTO $t SELECT 200 + i, 1, 2, NULL FROM range(50) r(i)",
      ],
      ["DELETE FROM $t WHERE i BETWEEN 190 AND 219"],
    );
    expect(direct.toSorted()).toEqual([false, true]);
    expect(rows.filter((row) => row.includes('"c":42')).length).toBe(10);
  });

  test("that were dropped, or whose type was changed, after some files", async () => {
    const { direct } = await read(
      [
        "CREATE TABLE $t AS SELECT i, (i % 7)::INTEGER AS a, i % 9 AS b FROM range(200) r(i)",
        "ALTER TABLE $t DROP COLUMN b",
        "ALTER TABLE $t ALTER COLUMN a TYPE BIGINT",
        "INSERT INTO $t SELECT 200 + i, 5000000000 FROM range(50) r(i)",
      ],
      ["DELETE FROM $t WHERE i BETWEEN 190 AND 219"],
    );
    expect(direct.toSorted()).toEqual([false, true]);
  });

  test("of a table of which others were altered", async () => {
    const { direct } = await read(
      [OLD, "ALTER TABLE $t DROP COLUMN b", "ALTER TABLE $t ADD COLUMN d INTEGER"],
      ["DELETE FROM $t WHERE i BETWEEN 190 AND 210", "INSERT INTO $t SELECT 300 + i, 5, 6 FROM range(20) r(i)"],
      ["I", "a"],
    );
    expect(direct).toEqual([true, true]);
  });

  test("in a partitioned and sorted table", async () => {
    const { direct } = await read(
      [
        "CREATE TABLE $t (i BIGINT, a BIGINT, moment TIMESTAMP)",
        "ALTER TABLE $t SET PARTITIONED BY (a, year(moment))",
        "INSERT INTO $t SELECT i, i % 3, TIMESTAMP '2024-12-30' + i * INTERVAL 1 DAY FROM range(400) r(i)",
      ],
      ["DELETE FROM $t WHERE i BETWEEN 20 AND 80", "INSERT INTO $t SELECT i, 1, NULL FROM range(30) r(i)"],
    );
    expect(direct).toContain(true);
  });

  test("of files that somebody else wrote are left to DuckLake", async () => {
    const file = `${lake.engine.config.dataPath}/foreign.parquet`;
    const { direct } = await read(
      [
        "CREATE TABLE $t (i BIGINT, a BIGINT)",
        `COPY (SELECT i % 9 AS a, i FROM range(100) r(i)) TO '${file}'`,
        `CALL ducklake_add_data_files('lake', '$t', '${file}')`,
      ],
      ["DELETE FROM $t WHERE i BETWEEN 20 AND 40"],
    );
    expect(direct).toEqual([false]);
  });
});

describe("rows", () => {
  test("that came and went within a window, of files that came or went with it", async () => {
    const { direct, rows } = await read(
      [
        "CREATE TABLE $t AS SELECT i, i % 7 AS a FROM range(200) r(i)",
        "INSERT INTO $t SELECT i, 1 FROM range(200, 300) r(i)",
      ],
      [
        "INSERT INTO $t SELECT i, 2 FROM range(300, 400) r(i)",
        "DELETE FROM $t WHERE i BETWEEN 320 AND 350",
        "INSERT INTO $t SELECT i, 3 FROM range(400, 500) r(i)",
        "DELETE FROM $t WHERE i BETWEEN 400 AND 600",
        "DELETE FROM $t WHERE i BETWEEN 200 AND 299",
      ],
    );
    expect(direct).toEqual([true, true]);
    expect(rows.length).toBe(100 + 69);
  });

  test("of many files that came one after the other", async () => {
    const inserts = Array.from(
      { length: 80 },
      (_, file) => `INSERT INTO $t SELECT ${file} * 20 + i, ${file} FROM range(20) r(i)`,
    );
    const { direct, rows } = await read(["CREATE TABLE $t (i BIGINT, a BIGINT)"], inserts);
    expect(direct).toEqual([true]);
    expect(rows.length).toBe(1600);
  });

  test("of no column", async () => {
    tables += 1;
    const table = `direct${tables}`;
    await lake.run(`CREATE TABLE ${table} AS SELECT i FROM range(100) r(i)`);
    const from = await lake.now();
    await lake.run(`DELETE FROM ${table} WHERE i < 20`, `INSERT INTO ${table} SELECT 7 FROM range(50)`);
    const name = { schema: "main", table };
    const form = await tableAt(lake.session, lake.engine, name, await lake.now());
    const request = { table: name, tableId: form?.id ?? 0n, from, to: await lake.now(), columns: [], inlined: false };
    const touched = await readTouched(lake.session, lake.engine, request);
    expect(touched?.parts.map(({ sign, expected }) => [sign, expected])).toEqual([
      [-1, 20n],
      [1, 50n],
    ]);
    for (const { select, expected } of touched?.parts ?? []) {
      expect(select).toContain("read_parquet");
      expect(await lake.session.rows(select)).toHaveLength(Number(expected));
    }
  });
});
