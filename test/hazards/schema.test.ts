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
