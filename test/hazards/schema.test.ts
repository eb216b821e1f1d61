/** Tables that are replaced, renamed, altered or dropped under a view. */

import { expect, test } from "vitest";
import { Scene, viewOf } from "./scene.js";

const VIEWS = {
  flat: "SELECT id FROM t",
  totals: "SELECT id % 2 AS k, COUNT(*) AS n, SUM(id) AS s FROM t GROUP BY 1",
};

test.each([
  ["CREATE OR REPLACE", ["CREATE OR REPLACE TABLE t(id INT)", "INSERT INTO t VALUES (3)"]],
  ["DROP and CREATE", ["DROP TABLE t", "CREATE TABLE t(id INT)", "INSERT INTO t VALUES (3)"]],
  [
    "a swap by two renames",
    [
      "CREATE TABLE fresh(id INT)",
      "INSERT INTO fresh VALUES (3)",
      "ALTER TABLE t RENAME TO stale",
      "ALTER TABLE fresh RENAME TO t",
    ],
  ],
])("the table is replaced under its name: %s", async (_, statements) => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT)", "INSERT INTO t VALUES (1), (2)");
  await scene.define(VIEWS);
  await scene.sql(...statements);
  const result = await scene.refresh();
  expect(viewOf(result, "flat").reason).not.toBeNull();
  expect(await scene.rows("flat")).toEqual(["(3)"]);
  await scene.sql("INSERT INTO t VALUES (4)");
  expect(viewOf(await scene.refresh(), "flat").strategy).toBe("incremental");
});

test("a table that goes away and comes back under its name", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT)", "INSERT INTO t VALUES (1), (2)");
  await scene.define(VIEWS);
  await scene.sql("ALTER TABLE t RENAME TO u", "INSERT INTO u VALUES (3)", "ALTER TABLE u RENAME TO t");
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(1)", "(2)", "(3)"]);
});

test("a dropped table stops its view with a clear error, and no other", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT)", "CREATE TABLE u(id INT)", "INSERT INTO t VALUES (1)");
  await scene.define({ broken: "SELECT id FROM t", sound: "SELECT id FROM u", above: "SELECT id FROM broken" });
  await scene.sql("DROP TABLE t", "INSERT INTO u VALUES (5)");
  const result = await scene.lake.refresh();
  expect(viewOf(result, "broken").status).toBe("failed");
  expect(viewOf(result, "broken").error?.message).toContain("t");
  expect(viewOf(result, "broken").error?.hint).toBeTruthy();
  expect(viewOf(result, "above").status).toBe("failed");
  expect(viewOf(result, "sound").status).toBe("refreshed");
  expect(await scene.rows("sound")).toEqual(["(5)"]);
  expect(await scene.rows("broken")).toEqual(["(1)"]);
  // A failed refresh moved no cursor.
  await scene.sql("CREATE TABLE t(id INT)", "INSERT INTO t VALUES (7)");
  await scene.refresh();
  expect(await scene.rows("above")).toEqual(["(7)"]);
});

test("a column is added, and the view does not use it", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ flat: "SELECT id, v FROM t", total: "SELECT SUM(v) AS s FROM t" });
  await scene.sql(
    "ALTER TABLE t ADD COLUMN w INT DEFAULT 9",
    "INSERT INTO t VALUES (3, 3, 3)",
    "UPDATE t SET v = 5 WHERE id = 1",
  );
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(1, 5)", "(2, 2)", "(3, 3)"]);
});

test("a column is added, and the view says *", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ flat: "SELECT * FROM t" });
  await scene.sql("ALTER TABLE t ADD COLUMN w INT DEFAULT 9", "INSERT INTO t VALUES (3, 3, 3)");
  const result = await scene.lake.refresh();
  // The columns of the time of apply stay; that the definition now means more is said and not done.
  expect(await scene.rows("flat")).toEqual(["(1, 1)", "(2, 2)", "(3, 3)"]);
  const status = await scene.lake.status();
  const said = JSON.stringify([status[0]?.reasons, viewOf(result, "flat").reason, viewOf(result, "flat").error]);
  expect(said).toMatch(/column/);
  await scene.applyAgain();
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(1, 1, 9)", "(2, 2, 9)", "(3, 3, 3)"]);
});

test("a column that the view does not use is dropped", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define(VIEWS);
  await scene.sql("ALTER TABLE t DROP COLUMN v", "INSERT INTO t VALUES (3)", "DELETE FROM t WHERE id = 1");
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(2)", "(3)"]);
});

test("a column that the view uses is dropped", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ flat: "SELECT id, v FROM t" });
  await scene.sql("ALTER TABLE t DROP COLUMN v", "INSERT INTO t VALUES (3)");
  const error = viewOf(await scene.lake.refresh(), "flat").error;
  expect(error?.message).toContain("v");
  expect(error?.hint).toBeTruthy();
  expect(await scene.rows("flat")).toEqual(["(1, 1)", "(2, 2)"]);
});

test("a column is dropped and added again under its name", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ flat: "SELECT id, v FROM t", total: "SELECT SUM(v) AS s, COUNT(v) AS n FROM t" });
  await scene.sql("ALTER TABLE t DROP COLUMN v", "ALTER TABLE t ADD COLUMN v INT", "INSERT INTO t VALUES (3, 3)");
  const result = await scene.refresh();
  expect(viewOf(result, "flat").reason).not.toBeNull();
  expect(await scene.rows("flat")).toEqual(["(1, NULL)", "(2, NULL)", "(3, 3)"]);
});

test("a column is renamed, and another takes its name", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT, w INT)", "INSERT INTO t VALUES (1, 1, 10), (2, 2, 20)");
  await scene.define({ flat: "SELECT id, v FROM t" });
  await scene.sql("ALTER TABLE t RENAME COLUMN v TO old", "ALTER TABLE t RENAME COLUMN w TO v");
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(1, 10)", "(2, 20)"]);
});

test("a column that the view adds up is widened", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ total: "SELECT COUNT(*) AS n, SUM(v) AS s FROM t" });
  await scene.sql("ALTER TABLE t ALTER COLUMN v SET DATA TYPE BIGINT", "INSERT INTO t VALUES (3, 5000000000)");
  await scene.refresh();
  expect(await scene.rows("total")).toEqual(["(3, 5000000003)"]);
});

test("a column that the view shows is widened", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ flat: "SELECT id, v FROM t" });
  await scene.sql("ALTER TABLE t ALTER COLUMN v SET DATA TYPE BIGINT", "INSERT INTO t VALUES (3, 5000000000)");
  const result = await scene.lake.refresh();
  expect(viewOf(result, "flat").error?.hint).toMatch(/Apply/);
  expect(await scene.rows("flat")).toEqual(["(1, 1)", "(2, 2)"]);
  await scene.applyAgain();
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(1, 1)", "(2, 2)", "(3, 5000000000)"]);
});

test("alterations that touch no row", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t SELECT i, i FROM range(30) r(i)");
  await scene.define({ flat: "SELECT id, v FROM t" });
  for (const sql of [
    "COMMENT ON TABLE t IS 'a table'",
    "ALTER TABLE t ALTER COLUMN v SET DEFAULT 7",
    "ALTER TABLE t SET PARTITIONED BY (id)",
    "ALTER TABLE t SET SORTED BY (v)",
  ]) {
    await scene.sql(sql);
    const { rows } = viewOf(await scene.refresh(), "flat");
    expect(rows, sql).toEqual({ inserted: 0n, deleted: 0n });
  }
  await scene.sql("INSERT INTO t(id) VALUES (100)", "DELETE FROM t WHERE id < 5");
  await scene.refresh();
});

test("an ordinary view under a materialized one is replaced", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT)", "INSERT INTO t VALUES (1), (2)");
  await scene.sql("CREATE VIEW small AS SELECT id FROM t WHERE id < 2");
  await scene.lake.define([{ name: "flat", sql: "SELECT id FROM small" }]);
  await scene.lake.refresh();
  expect(await scene.rows("flat")).toEqual(["(1)"]);
  await scene.sql("CREATE OR REPLACE VIEW small AS SELECT id FROM t WHERE id < 3", "INSERT INTO t VALUES (0)");
  await scene.lake.refresh();
  // The definition was expanded when it was applied: the rows are of one definition, the old or the new, never of both.
  expect([
    ["(0)", "(1)"],
    ["(0)", "(1)", "(2)"],
  ]).toContainEqual(await scene.rows("flat"));
});

test.each([
  ["added", "ALTER TABLE t ADD COLUMN s.c INTEGER", "INSERT INTO t VALUES (3, {a: 3, b: 'z', c: 9})"],
  ["dropped", "ALTER TABLE t DROP COLUMN s.b", "INSERT INTO t VALUES (3, {a: 3})"],
  ["renamed", "ALTER TABLE t RENAME COLUMN s.b TO other", "INSERT INTO t VALUES (3, {a: 3, other: 'z'})"],
])("a field that the view does not read is %s in a struct", async (_how, alter, insert) => {
  await using scene = await Scene.start();
  await scene.sql(
    "CREATE TABLE t(id INT, s STRUCT(a INT, b VARCHAR))",
    "INSERT INTO t VALUES (1, {a: 1, b: 'x'}), (2, {a: 2, b: 'y'})",
  );
  await scene.define({ flat: "SELECT id, s.a AS a FROM t" });
  await scene.sql(alter, insert, "DELETE FROM t WHERE id = 1");
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(2, 2)", "(3, 3)"]);
  await scene.sql("UPDATE t SET id = id + 10");
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(12, 2)", "(13, 3)"]);
});

test.each([
  ["dropped", "ALTER TABLE t DROP COLUMN s.a"],
  ["renamed", "ALTER TABLE t RENAME COLUMN s.a TO other"],
])("a field that the view reads is %s in a struct", async (_how, alter) => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, s STRUCT(a INT, b VARCHAR))", "INSERT INTO t VALUES (1, {a: 1, b: 'x'})");
  await scene.define({ flat: "SELECT id, s.a AS a FROM t" });
  await scene.sql(alter, "DELETE FROM t");
  const { error } = viewOf(await scene.lake.refresh(), "flat");
  expect(error).toMatchObject({ code: "definition_broken", retryable: false });
  expect(await scene.rows("flat")).toEqual(["(1, 1)"]);
  await scene.sql("ALTER TABLE t ADD COLUMN s.a INTEGER", "INSERT INTO t (id) VALUES (5)");
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(5, NULL)"]);
});

test("two tables swap their names in one transaction", async () => {
  await using scene = await Scene.start();
  await scene.sql(
    "CREATE TABLE t AS SELECT i AS id FROM range(5) r(i)",
    "CREATE TABLE next AS SELECT i AS id FROM range(3, 9) r(i)",
  );
  await scene.define({ flat: "SELECT id FROM t", other: "SELECT id FROM next" });
  for (const row of [100, 200]) {
    await scene.transaction(
      "ALTER TABLE t RENAME TO away",
      "ALTER TABLE next RENAME TO t",
      "ALTER TABLE away RENAME TO next",
    );
    await scene.sql(`INSERT INTO t VALUES (${row})`, `DELETE FROM next WHERE id = 4`);
    await scene.refresh();
    await scene.sql(`INSERT INTO next VALUES (${row})`);
    expect(viewOf(await scene.refresh(), "other").strategy).toBe("incremental");
  }
});

test("a table is replaced and filled in one transaction", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t AS SELECT i AS id FROM range(50) r(i)");
  await scene.define({ flat: "SELECT id FROM t", sums: "SELECT id % 3 AS k, sum(id) AS s FROM t GROUP BY 1" });
  await scene.transaction(
    "CREATE OR REPLACE TABLE t AS SELECT i AS id FROM range(40, 60) r(i)",
    "INSERT INTO t VALUES (1000)",
    "INSERT INTO t SELECT i FROM range(500, 600) r(i)",
  );
  await scene.refresh();
  await scene.sql("DELETE FROM t WHERE id = 1000", "INSERT INTO t VALUES (7)");
  await scene.refresh();
});

test("a table is partitioned, sorted and given defaults between refreshes", async () => {
  await using scene = await Scene.start({ inlining: 0 });
  await scene.sql("CREATE TABLE t(id INT, k INT)", "INSERT INTO t SELECT i, i % 5 FROM range(100) r(i)");
  await scene.define({ flat: "SELECT id, k FROM t", sums: "SELECT k, count(*) AS n FROM t GROUP BY k" });
  for (const [round, alter] of [
    "ALTER TABLE t SET PARTITIONED BY (k)",
    "ALTER TABLE t SET SORTED BY (id DESC)",
    "ALTER TABLE t ALTER COLUMN k SET DEFAULT 42",
    "ALTER TABLE t SET PARTITIONED BY (bucket(4, id))",
    "ALTER TABLE t RESET PARTITIONED BY",
    "ALTER TABLE t ALTER COLUMN k DROP DEFAULT",
  ].entries()) {
    await scene.sql(
      `UPDATE t SET k = k + 1 WHERE id % 10 = ${round}`,
      alter,
      `INSERT INTO t (id) SELECT ${round + 1} * 1000 + i FROM range(20) r(i)`,
      `DELETE FROM t WHERE id % 17 = ${round}`,
    );
    const result = await scene.refresh();
    expect(result.views.map(({ strategy }) => strategy)).toEqual(["incremental", "incremental"]);
  }
});
