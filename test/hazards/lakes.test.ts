/** Lakes that are restored, laid out otherwise, or written to where only this project should. */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";
import { Scene, viewOf } from "./scene.js";

test("a catalog restored from an older backup, whose snapshot ids are used again", async () => {
  await using place = await tempLake();
  const file = join(place.folder, "catalog.ducklake");
  const sql = "SELECT k, sum(v) AS s FROM t GROUP BY k";
  const step = async (...statements: string[]): Promise<unknown[][]> => {
    await using lake = await open(place.config);
    const connection = await lake.connect();
    for (const statement of statements) await connection.run(statement);
    await lake.define([{ name: "sums", sql }]);
    const result = await lake.refresh();
    expect(result.views.map(({ error }) => error)).toEqual([null]);
    const differing = await connection.runAndReadAll(
      `(FROM sums EXCEPT ALL FROM (${sql})) UNION ALL (FROM (${sql}) EXCEPT ALL FROM sums)`,
    );
    expect((await lake.verify()).map(({ ok }) => ok)).toEqual([true]);
    connection.closeSync();
    return differing.getRowsJS();
  };
  expect(await step("CREATE TABLE t AS SELECT range % 3 AS k, range AS v FROM range(50)")).toEqual([]);
  await copyFile(file, `${file}.backup`);
  expect(await step("INSERT INTO t SELECT 7, range FROM range(30)", "DELETE FROM t WHERE k = 1")).toEqual([]);
  await copyFile(`${file}.backup`, file);
  expect(await step("INSERT INTO t SELECT 8, range FROM range(20)")).toEqual([]);
  expect(await step("UPDATE t SET v = v + 1 WHERE k = 8", "DELETE FROM t WHERE k = 0")).toEqual([]);
});

test("partitioned and sorted tables, and views that are given the same", async () => {
  await using scene = await Scene.start();
  await scene.sql(
    "CREATE TABLE t(id INT, k INT, v INT)",
    "ALTER TABLE t SET PARTITIONED BY (k)",
    "ALTER TABLE t SET SORTED BY (id)",
    "INSERT INTO t SELECT i, i % 4, i FROM range(100) r(i)",
  );
  await scene.define({
    flat: "SELECT id, k, v FROM t WHERE k <> 2",
    sums: "SELECT k, sum(v) AS s FROM flat GROUP BY k",
  });
  await scene.sql("ALTER TABLE ivm.data_flat SET PARTITIONED BY (k)", "ALTER TABLE ivm.data_flat SET SORTED BY (id)");
  await scene.sql(
    "UPDATE t SET k = k + 1 WHERE id % 5 = 0",
    "DELETE FROM t WHERE id < 10",
    "INSERT INTO t VALUES (500, 9, 1)",
  );
  await scene.refresh();
  await scene.sql("CALL ducklake_merge_adjacent_files('lake')", "UPDATE t SET v = 0 WHERE k = 3");
  await scene.refresh();
});

test("somebody else writes to a view's physical table: found at the next change, and put right", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(k INT, v INT)", "INSERT INTO t SELECT i % 3, i FROM range(30) r(i)");
  await scene.define({ flat: "SELECT k, v FROM t" });
  await scene.sql("DELETE FROM ivm.data_flat WHERE k = 1");
  expect((await scene.lake.verify()).map(({ ok }) => ok)).toEqual([false]);
  await scene.sql("DELETE FROM t WHERE k = 1");
  await scene.refresh();
  expect((await scene.lake.verify()).map(({ ok }) => ok)).toEqual([true]);
});

/** What readers of a view get, through the user-facing view. */
function readersSee(scene: Scene): Promise<string[]> {
  return scene.rows("sums");
}

async function sums(): Promise<Scene> {
  const scene = await Scene.start({ log: { compact: "manual" } });
  await scene.sql("CREATE TABLE t(k INT, v INT)", "INSERT INTO t SELECT i % 3, i FROM range(30) r(i)");
  await scene.define({ sums: "SELECT k, sum(v) AS s FROM t GROUP BY k", above: "SELECT s FROM sums WHERE k > 0" });
  return scene;
}

test.each([
  ["dropped", ["DROP VIEW sums"]],
  ["replaced", ["CREATE OR REPLACE VIEW sums AS SELECT 1 AS k, 1 AS s"]],
  ["renamed", ["ALTER VIEW sums RENAME TO mine"]],
  ["dropped and made by hand", ["DROP VIEW sums", "CREATE VIEW sums AS FROM ivm.data_sums"]],
])("the user-facing view is %s: verify says so, and the next refresh brings it back", async (_how, statements) => {
  await using scene = await sums();
  const before = await readersSee(scene);
  await scene.sql(...statements);
  expect(await scene.lake.verify({ views: ["sums"] })).toMatchObject([
    { ok: false, error: { code: "user_view_altered" } },
  ]);
  const result = await scene.refresh();
  expect(result.warnings.map(({ code }) => code)).toEqual(["user_view_restored"]);
  expect(viewOf(result, "sums").status).toBe("unchanged");
  expect(await readersSee(scene)).toEqual(before);
  expect((await scene.refresh()).warnings).toEqual([]);
  // Beside a change it comes back with the change.
  await scene.sql(...statements.map((sql) => sql.replace("mine", "other")), "INSERT INTO t VALUES (1, 1000)");
  expect((await scene.refresh()).warnings.map(({ code }) => code)).toEqual(["user_view_restored"]);
  expect(await readersSee(scene)).toHaveLength(3);
  expect((await scene.lake.verify()).map(({ ok }) => ok)).toEqual([true, true]);
});

test("a table in the place of the user-facing view is nobody's to drop", async () => {
  await using scene = await sums();
  await scene.sql("DROP VIEW sums", "CREATE TABLE sums AS SELECT 42 AS mine");
  const result = await scene.lake.refresh();
  expect(viewOf(result, "sums").error).toMatchObject({ code: "view_name_taken", retryable: false });
  expect(await readersSee(scene)).toEqual(["(42)"]);
  await scene.sql("DROP TABLE sums");
  await scene.refresh();
  expect(await readersSee(scene)).toHaveLength(3);
});

test.each([
  ["rows are added", ["INSERT INTO ivm.data_sums SELECT * FROM ivm.data_sums"]],
  ["rows are changed", ["UPDATE ivm.data_sums SET s = s + 1"]],
  ["rows are deleted", ["DELETE FROM ivm.data_sums WHERE k = 1"]],
  ["a column is added", ["ALTER TABLE ivm.data_sums ADD COLUMN note VARCHAR"]],
  ["a column is dropped", ["ALTER TABLE ivm.data_sums DROP COLUMN s"]],
  ["a column is renamed", ["ALTER TABLE ivm.data_sums RENAME COLUMN s TO total"]],
  ["a column is of another type", ["ALTER TABLE ivm.data_sums ALTER COLUMN k TYPE BIGINT"]],
  ["the table is renamed", ["ALTER TABLE ivm.data_sums RENAME TO elsewhere"]],
  ["the table is dropped", ["DROP TABLE ivm.data_sums"]],
  ["the table is replaced", ["CREATE OR REPLACE TABLE ivm.data_sums AS FROM ivm.data_sums LIMIT 1"]],
])(
  "in a view's physical table %s: rebuilt at the next refresh, though no source has changed",
  async (_what, statements) => {
    await using scene = await sums();
    const before = await readersSee(scene);
    await scene.sql(...statements);
    const result = await scene.refresh();
    expect(viewOf(result, "sums")).toMatchObject({ strategy: "recompute", reason: { code: "physical_table_altered" } });
    expect(await readersSee(scene)).toEqual(before);
    expect((await scene.lake.verify()).map(({ ok }) => ok)).toEqual([true, true]);
    // The log tells the view's state, whatever was in its table in between.
    const logged: string[] = [];
    for await (const { row } of await scene.lake.state("sums")) logged.push(`(${row.k}, ${row.s})`);
    expect(logged.sort()).toEqual(before);
    expect((await scene.refresh()).status).toBe("unchanged");
    await scene.sql("INSERT INTO t VALUES (2, 5)");
    expect(viewOf(await scene.refresh(), "sums").strategy).toBe("incremental");
  },
);

test("a view without sources stands where it was built, and that is not taken for somebody else's work", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)");
  await scene.define({ moving: "SELECT a FROM t", standing: "SELECT col0 AS a FROM (VALUES (1), (2))" });
  for (const rows of ["(2)", "(3), (NULL)"]) {
    await scene.sql(`INSERT INTO t VALUES ${rows}`);
    const { views } = await scene.refresh();
    expect(views.map(({ view, status }) => [view, status])).toEqual([
      ["moving", "refreshed"],
      ["standing", "unchanged"],
    ]);
    expect((await scene.refresh()).status).toBe("unchanged");
  }
  // Has the refresh look at the views' own tables.
  await scene.sql("CREATE TABLE other (a INTEGER)", "INSERT INTO t VALUES (4)");
  const { views } = await scene.refresh();
  expect(views.map(({ view, status }) => [view, status])).toContainEqual(["standing", "unchanged"]);
  await scene.sql("DROP VIEW standing");
  expect((await scene.refresh()).warnings.map(({ code }) => code)).toEqual(["user_view_restored"]);
});
