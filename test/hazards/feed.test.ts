/** Faults of the lake's change feed, each of which would leave a view wrong if the feed were simply believed. */

import { expect, test } from "vitest";
import { Scene, viewOf } from "./scene.js";

test("an update and a delete of overlapping rows in one transaction", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE ord(id INT, st VARCHAR)", "INSERT INTO ord SELECT i, 'new' FROM range(1, 41) r(i)");
  await scene.define({ totals: "SELECT st, COUNT(*) AS n FROM ord GROUP BY st", flat: "SELECT * FROM ord" });
  await scene.transaction("UPDATE ord SET st = 'paid' WHERE id <= 20", "DELETE FROM ord WHERE id BETWEEN 11 AND 30");
  await scene.refresh();
  expect(await scene.rows("totals")).toEqual(["(new, 10)", "(paid, 10)"]);
});

test("two deletes in one transaction that together empty a data file", async () => {
  await using scene = await Scene.start({ inlining: 0 });
  await scene.sql("CREATE TABLE t(id INT)", "INSERT INTO t SELECT i FROM range(1000) r(i)");
  await scene.define({
    totals: "SELECT COUNT(*) AS n, SUM(id) AS s FROM t",
    flat: "SELECT id FROM t WHERE id % 7 = 0",
  });
  await scene.transaction("DELETE FROM t WHERE id < 400", "DELETE FROM t WHERE id >= 400");
  const result = await scene.refresh();
  expect(await scene.rows("totals")).toEqual(["(0, NULL)"]);
  expect(viewOf(result, "totals").sources[0]?.delta).toBe("difference");
});

test("the emptied file next to one that stays, with the group keys in both", async () => {
  await using scene = await Scene.start({ inlining: 0 });
  await scene.sql("CREATE TABLE t(id INT, k INT)", "INSERT INTO t SELECT i, i % 3 FROM range(100) r(i)");
  await scene.sql("INSERT INTO t SELECT i, i % 3 FROM range(100, 120) r(i)");
  await scene.define({ totals: "SELECT k, COUNT(*) AS n, SUM(id) AS s FROM t GROUP BY k" });
  await scene.transaction(
    "DELETE FROM t WHERE id < 40",
    "DELETE FROM t WHERE id BETWEEN 40 AND 99",
    "INSERT INTO t SELECT i, 5 FROM range(100) r(i)",
  );
  await scene.refresh();
});

test.each([0, 10])("compaction changes no row and costs no refresh (inlining limit %i)", async (inlining) => {
  await using scene = await Scene.start({ inlining });
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t SELECT i, 1 FROM range(15) r(i)");
  await scene.sql("DELETE FROM t WHERE id < 3", "INSERT INTO t VALUES (20, 1), (21, 1)");
  await scene.define({ total: "SELECT SUM(v) AS s FROM t" });
  for (const call of [
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "CHECKPOINT lake",
  ]) {
    await scene.sql(call);
    const before = await scene.snapshot();
    const result = await scene.refresh();
    expect(result.status, call).toBe("unchanged");
    expect(await scene.snapshot(), call).toBe(before);
  }
  expect(await scene.rows("total")).toEqual(["(14)"]);
});

test("a rewrite and changes in the same window", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t SELECT i, 1 FROM range(15) r(i)");
  await scene.define({ total: "SELECT SUM(v) AS s, COUNT(*) AS n FROM t" });
  await scene.sql(
    "DELETE FROM t WHERE id < 3",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "INSERT INTO t VALUES (100, 7)",
    "UPDATE t SET v = 2 WHERE id = 5",
  );
  await scene.refresh();
  expect(await scene.rows("total")).toEqual(["(20, 13)"]);
});

test("flushing inlined data leaves history as it was", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(a INT)", "CREATE TABLE u(a INT)", "INSERT INTO t VALUES (1), (2), (3)");
  await scene.sql("INSERT INTO u VALUES (1), (2), (3)");
  await scene.define({ joined: "SELECT t.a, u.a AS b FROM t JOIN u ON t.a = u.a", flat: "SELECT a FROM t" });
  await scene.sql("DELETE FROM t WHERE a = 2", "CALL ducklake_flush_inlined_data('lake')", "DELETE FROM u WHERE a = 3");
  await scene.refresh();
  expect(await scene.rows("joined")).toEqual(["(1, 1)"]);
});

test("a flush after a rewrite", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(a INT, k INT)", "INSERT INTO t SELECT i, i % 3 FROM range(20) r(i)");
  await scene.define({ joined: "SELECT x.a, y.a AS b FROM t x JOIN t y ON x.k = y.k", flat: "SELECT a FROM t" });
  await scene.sql(
    "DELETE FROM t WHERE a < 5",
    "INSERT INTO t VALUES (50, 1)",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "CALL ducklake_flush_inlined_data('lake')",
    "DELETE FROM t WHERE a = 50",
  );
  await scene.refresh();
  await scene.sql("UPDATE t SET k = 0 WHERE a = 7");
  await scene.refresh();
});

test("a window neither repeats its first snapshot nor misses its last", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT)", "INSERT INTO t VALUES (1)");
  await scene.define({ flat: "SELECT id FROM t" });
  await scene.sql("INSERT INTO t VALUES (2)");
  const middle = await scene.snapshot();
  await scene.sql("INSERT INTO t VALUES (3)");
  await scene.refresh({ toSnapshot: middle });
  expect(await scene.rows("flat")).toEqual(["(1)", "(2)"]);
  await scene.refresh();
  expect(await scene.rows("flat")).toEqual(["(1)", "(2)", "(3)"]);
  expect((await scene.refresh()).status).toBe("unchanged");
});

test("writes so small that no file holds them", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, nm VARCHAR)", "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')");
  await scene.define({ flat: "SELECT * FROM t" });
  await scene.sql("DELETE FROM t WHERE id = 2");
  expect((await scene.refresh()).status).toBe("refreshed");
  await scene.sql("UPDATE t SET nm = 'z' WHERE id = 3");
  expect((await scene.refresh()).status).toBe("refreshed");
  expect(await scene.rows("flat")).toEqual(["(1, a)", "(3, z)"]);
});

test("transactions whose statements cancel out", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t SELECT i, i FROM range(30) r(i)");
  await scene.define({ flat: "SELECT id, v FROM t", totals: "SELECT v % 3 AS k, SUM(id) AS s FROM t GROUP BY 1" });
  await scene.transaction("INSERT INTO t VALUES (100, 1)", "DELETE FROM t WHERE id = 100");
  await scene.sql("UPDATE t SET v = v", "DELETE FROM t WHERE false");
  await scene.transaction("UPDATE t SET v = v + 1", "UPDATE t SET v = v - 1");
  const result = await scene.refresh();
  for (const view of result.views) expect(view.rows).toEqual({ inserted: 0n, deleted: 0n });
});

test.each([0, 10])("a filter on a column that the view does not show (inlining limit %i)", async (inlining) => {
  await using scene = await Scene.start({ inlining });
  await scene.sql(
    "CREATE TABLE t(id INT, v INT, w VARCHAR)",
    "INSERT INTO t SELECT i, i % 5, 'w' FROM range(100) r(i)",
  );
  await scene.define({ flat: "SELECT id FROM t WHERE v > 2", count: "SELECT COUNT(*) AS n FROM t WHERE v > 2" });
  await scene.sql("DELETE FROM t WHERE id < 30", "UPDATE t SET v = 4 WHERE id BETWEEN 50 AND 52");
  await scene.refresh();
});

test("columns named like the feed's own", async () => {
  await using scene = await Scene.start();
  await scene.sql(
    "CREATE TABLE t(snapshot_id BIGINT, rowid INTEGER, change_type VARCHAR, weight INTEGER)",
    "INSERT INTO t VALUES (1, 1, 'insert', -1), (1, 1, 'insert', -1), (2, 7, 'delete', 5)",
  );
  await scene.define({
    flat: "SELECT * FROM t",
    totals:
      "SELECT change_type, SUM(weight) AS weight, MAX(snapshot_id) AS snapshot_id, COUNT(*) AS n FROM t GROUP BY 1",
  });
  await scene.sql("DELETE FROM t WHERE weight = 5", "INSERT INTO t VALUES (9, 9, 'insert', 3)");
  await scene.refresh();
  await scene.sql("UPDATE t SET snapshot_id = 4 WHERE weight = -1");
  await scene.refresh();
});

test("the same file added twice", async () => {
  await using scene = await Scene.start();
  const file = `${scene.place.folder}/rows.parquet`;
  await scene.sql("CREATE TABLE t(id INTEGER)", `COPY (SELECT 1::INTEGER AS id UNION ALL SELECT 2) TO '${file}'`);
  await scene.define({ flat: "SELECT id FROM t", totals: "SELECT id, COUNT(*) AS n FROM t GROUP BY id" });
  await scene.sql(`CALL ducklake_add_data_files('lake', 't', '${file}')`);
  await scene.refresh();
  await scene.sql(`CALL ducklake_add_data_files('lake', 't', '${file}')`);
  await scene.refresh();
  expect(await scene.rows("totals")).toEqual(["(1, 2)", "(2, 2)"]);
});
