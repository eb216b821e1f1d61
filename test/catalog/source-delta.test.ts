import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChangeHistory } from "../../src/catalog/change-history.js";
import { WEIGHT } from "../../src/catalog/consolidate.js";
import { loadSourceDelta, type SourceDelta, type SourceDeltaRequest } from "../../src/catalog/source-delta.js";
import { tableAt, tableAtVersion } from "../../src/catalog/tables.js";
import { quoteIdentifier } from "../../src/sql/quote.js";
import { CatalogLake } from "./lake.js";

let lake: CatalogLake;
beforeAll(async () => {
  lake = await CatalogLake.open();
});
afterAll(() => lake[Symbol.asyncDispose]());

let tables = 0;

interface Window {
  readonly table: string;
  readonly from: bigint;
  readonly to: bigint;
}

/** A new table and a window in which the statements run; `$t` is its name. */
async function window(create: string, ...statements: readonly string[]): Promise<Window> {
  tables += 1;
  const table = `t${tables}`;
  await lake.run(create.replaceAll("$t", table));
  const from = await lake.now();
  await lake.run(...statements.map((statement) => statement.replaceAll("$t", table)));
  return { table, from, to: await lake.now() };
}

interface Loaded extends SourceDelta {
  readonly delta: string[];
}

async function load(
  { table, from, to }: Window,
  columns: readonly string[],
  method: SourceDeltaRequest["method"] = "feed",
  shape?: SourceDeltaRequest["shape"],
): Promise<Loaded> {
  const name = { schema: "main", table };
  const form = await tableAt(lake.session, lake.engine, name, to);
  if (form === undefined) throw new Error(`no table ${table}`);
  const keys = (await ChangeHistory.read(lake.session, from, to)).window(from, to).byTable.get(form.id);
  const request = {
    table: name,
    tableId: form.id,
    inlined: [...(keys ?? [])].some((key) => key.startsWith("inlined_")),
    from,
    to,
    method,
    reason: null,
    columns,
    target: "delta_of_test",
  };
  const result = await loadSourceDelta(
    lake.session,
    lake.engine,
    shape === undefined ? request : { ...request, shape },
  );
  const rows = await lake.session.rows<Record<string, unknown>>("FROM temp.delta_of_test");
  const delta = rows.map((row) => Object.values(row).map(String).join(" ")).sort();
  return { ...result, delta };
}

/** All ways to the delta must give the same. */
async function loadBoth(
  changed: Window,
  columns: readonly string[],
  shape?: SourceDeltaRequest["shape"],
): Promise<Loaded> {
  const byFeed = await load(changed, columns, "feed", shape);
  const byDifference = await load(changed, columns, "difference", shape);
  expect({ ...byDifference, method: "feed" }).toEqual(byFeed);
  expect(await load(changed, columns, "files", shape)).toEqual({ ...byFeed, method: "files" });
  return byFeed;
}

describe("the delta, by the touched files, by the feed and by the difference of two reads,", () => {
  test("has what came with +1 and what went with -1, of the columns that are used", async () => {
    const changed = await window(
      "CREATE TABLE $t AS SELECT * FROM (VALUES (1, 'x', 1), (2, 'y', 1), (3, 'z', 1)) AS v(a, b, c)",
      "INSERT INTO $t VALUES (4, 'w', 1)",
      "DELETE FROM $t WHERE a = 1",
      "UPDATE $t SET b = 'q' WHERE a = 2",
    );
    expect(await loadBoth(changed, ["a", "b"])).toEqual({
      delta: ["1 x -1", "2 q 1", "2 y -1", "4 w 1"],
      rows: 4n,
      method: "feed",
      reason: null,
    });
    // An update of a column that is not used is no change.
    expect((await loadBoth(changed, ["a"])).delta).toEqual(["1 -1", "4 1"]);
  });

  test("sums up copies, NULLs among them, and leaves out what came and went again", async () => {
    const changed = await window(
      "CREATE TABLE $t AS SELECT * FROM (VALUES (1), (1), (1), (NULL)) AS v(a)",
      "INSERT INTO $t VALUES (7), (NULL), (NULL)",
      "DELETE FROM $t WHERE a = 1",
      "DELETE FROM $t WHERE a = 7",
      "INSERT INTO $t VALUES (1)",
    );
    expect((await loadBoth(changed, ["a"])).delta).toEqual(["1 -2", "null 2"]);
  });

  test("of no column is the change of the number of rows", async () => {
    const changed = await window("CREATE TABLE $t AS SELECT range AS a FROM range(30)", "DELETE FROM $t WHERE a < 12");
    expect(await loadBoth(changed, [])).toMatchObject({ delta: ["-12"], rows: 1n });
  });

  test("keeps apart what is equal and not the same", async () => {
    const changed = await window(
      "CREATE TABLE $t AS SELECT range AS a, 0.0::DOUBLE AS d FROM range(30)",
      "UPDATE $t SET d = '-0.0'::DOUBLE WHERE a < 12",
    );
    expect((await loadBoth(changed, ["d"])).rows).toBe(2n);
    const shape = { columns: ["half"], select: (rows: string) => `SELECT d / 2 AS half, _ivm_weight FROM (${rows})` };
    expect((await loadBoth(changed, ["d"], shape)).rows).toBe(2n);
  });

  test("is empty where rows came back as they were", async () => {
    const changed = await window(
      "CREATE TABLE $t AS SELECT range AS a FROM range(30)",
      "DELETE FROM $t WHERE a < 12",
      "INSERT INTO $t SELECT range FROM range(12)",
    );
    expect(await loadBoth(changed, ["a"])).toMatchObject({ delta: [], rows: 0n });
  });

  test("sees rows that are kept in the catalog and rows in files alike", async () => {
    const changed = await window(
      "CREATE TABLE $t AS SELECT range AS a FROM range(30)",
      "INSERT INTO $t VALUES (100)",
      "INSERT INTO $t SELECT range FROM range(200, 220)",
      "DELETE FROM $t WHERE a IN (1, 201)",
      "CALL ducklake_flush_inlined_data('lake', table_name => '$t')",
      "DELETE FROM $t WHERE a BETWEEN 10 AND 25",
    );
    const { delta } = await loadBoth(changed, ["a"]);
    const expected = [
      "100 1",
      ...Array.from({ length: 20 }, (_, index) => `${200 + index} 1`).filter((row) => row !== "201 1"),
      "1 -1",
      ...Array.from({ length: 16 }, (_, index) => `${10 + index} -1`),
    ];
    expect(delta).toEqual(expected.sort());
  });

  test("takes names that need quotes", async () => {
    const changed = await window(
      'CREATE TABLE $t ("odd ""name" INTEGER, "order" INTEGER)',
      "INSERT INTO $t VALUES (1, 2)",
    );
    expect((await loadBoth(changed, ['odd "name', "order"])).delta).toEqual(["1 2 1"]);
  });

  test("can be given another shape, consolidated again", async () => {
    const changed = await window(
      "CREATE TABLE $t AS SELECT * FROM (VALUES (1, 5), (2, 6), (3, 7)) AS v(a, b)",
      "UPDATE $t SET b = b + 2 WHERE a = 1",
      "UPDATE $t SET b = b + 1 WHERE a = 2",
      "DELETE FROM $t WHERE a = 3",
    );
    const shape = {
      columns: ["odd"],
      select: (rows: string) =>
        `SELECT b % 2 = 1 AS odd, ${quoteIdentifier(WEIGHT)} FROM (${rows}) WHERE b <> 7 OR a = 1`,
    };
    // 5 → 7 stays odd and vanishes; 6 became 7 and is filtered out, as is the deleted 7.
    expect(await loadBoth(changed, ["a", "b"], shape)).toMatchObject({
      delta: ["false -1"],
      rows: 1n,
    });
  });
});

describe("a feed that is wrong", () => {
  test("is noticed by the numbers of rows, and the difference of two reads takes its place", async () => {
    // The feed lists the first of two deletes that empty a file twice.
    const changed = await window(
      "CREATE TABLE $t AS SELECT range AS a FROM range(40)",
      "BEGIN",
      "DELETE FROM $t WHERE a < 20",
      "DELETE FROM $t WHERE a >= 20",
      "COMMIT",
    );
    const loaded = await load(changed, ["a"], "feed");
    expect(loaded).toMatchObject({
      method: "difference",
      reason: { code: "feed_not_conserved" },
      rows: 40n,
    });
    expect(loaded.delta).toEqual(Array.from({ length: 40 }, (_, index) => `${index} -1`).sort());
  });

  test("is not noticed where it is not asked", async () => {
    const changed = await window("CREATE TABLE $t AS SELECT 1 AS a", "INSERT INTO $t VALUES (2)");
    expect(await load(changed, ["a"], "difference")).toMatchObject({ method: "difference", reason: null });
  });
});

test("a table at a version is read as it was", async () => {
  const changed = await window("CREATE TABLE $t AS SELECT 1 AS a", "UPDATE $t SET a = 2");
  const at = async (version: bigint) =>
    lake.session.rows(`SELECT a FROM ${tableAtVersion({ schema: "main", table: changed.table }, version)}`);
  expect(await at(changed.from)).toEqual([{ a: 1 }]);
  expect(await at(changed.to)).toEqual([{ a: 2 }]);
});
