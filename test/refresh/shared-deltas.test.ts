import { expect, test } from "vitest";
import { Session } from "../../src/engine/session.js";
import type { Lake } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

/** The statements that read what changed in a table while `work` runs. */
async function deltaReads(work: () => Promise<unknown>): Promise<string[]> {
  const read: string[] = [];
  const original = Session.prototype.rows;
  Session.prototype.rows = function (this: Session, sql: string, ...rest) {
    if (sql.startsWith("CREATE") && /ducklake_table_insertions|WHERE filename|read_parquet/.test(sql)) read.push(sql);
    return original.call(this, sql, ...rest) as never;
  };
  await work();
  return read;
}

async function exact(lake: Lake): Promise<void> {
  expect((await lake.verify()).map(({ view, ok }) => [view, ok]).filter(([, ok]) => ok !== true)).toEqual([]);
}

test("several views read a source's window once, and each sees only what it uses of it", async () => {
  await using opened = await OpenLake.start();
  const { lake, connection } = opened;
  await connection.run("CREATE TABLE t (id INTEGER, g INTEGER, v INTEGER, note VARCHAR)");
  await connection.run("INSERT INTO t SELECT i, i % 5, i, 'n' FROM range(500) r(i)");
  await lake.define([
    { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" },
    { name: "notes", sql: "SELECT note, count(*) AS n FROM t GROUP BY note" },
    { name: "rows", sql: "SELECT id, v FROM t WHERE v % 2 = 0" },
    { name: "above", sql: "SELECT max(s) AS m FROM sums" },
    { name: "beside", sql: "SELECT min(s) AS m FROM sums WHERE g > 0" },
  ]);
  await lake.refresh();

  await connection.run("UPDATE t SET v = v + 1 WHERE id % 100 = 7");
  await connection.run("DELETE FROM t WHERE id = 3");
  let strategies: unknown[] = [];
  const reads = await deltaReads(async () => {
    const result = await lake.refresh();
    strategies = result.views.map(({ view, strategy, error }) => [view, strategy, error]);
  });
  expect(strategies).toEqual(["sums", "above", "beside", "notes", "rows"].map((view) => [view, "incremental", null]));
  // Once for t, and once for the table behind sums, which two views read.
  expect(reads).toHaveLength(2);
  await exact(lake);

  // A change that one view can't see is no change for it, although another view's columns hold it.
  await connection.run("UPDATE t SET note = 'other' WHERE id = 10");
  const result = await lake.refresh();
  expect(result.views.map(({ view, rows, terms }) => [view, rows.inserted, terms.run])).toContainEqual(["sums", 0n, 0]);
  expect(result.views.map(({ view, rows }) => [view, rows.inserted])).toContainEqual(["notes", 2n]);
  await exact(lake);
});

test("a view that fails in between leaves the others right", async () => {
  await using opened = await OpenLake.start();
  const { lake, connection } = opened;
  await connection.run("CREATE TABLE t (id INTEGER, g INTEGER)");
  await connection.run("INSERT INTO t VALUES (1, 1), (2, 2)");
  await lake.define([
    { name: "a", sql: "SELECT g, count(*) AS n FROM t GROUP BY g" },
    { name: "b", sql: "SELECT g FROM t", primaryKey: ["g"] },
    { name: "c", sql: "SELECT id, g FROM t" },
    { name: "d", sql: "SELECT sum(g) AS s FROM t" },
  ]);
  await lake.refresh();
  await connection.run("INSERT INTO t VALUES (3, 2)");
  const result = await lake.refresh();
  expect(result.views.map(({ view, status }) => [view, status])).toEqual([
    ["a", "refreshed"],
    ["b", "failed"],
    ["c", "refreshed"],
    ["d", "refreshed"],
  ]);
  expect((await lake.verify({ views: ["a", "c", "d"] })).map(({ ok }) => ok)).toEqual([true, true, true]);
});
