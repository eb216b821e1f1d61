/** Old snapshots: their reads can be wrong after maintenance, and they can be gone. */

import { expect, test } from "vitest";
import { Scene, viewOf } from "./scene.js";

test("old reads after a rewrite of data files use today's statistics", async () => {
  await using scene = await Scene.start({ inlining: 0 });
  await scene.sql("CREATE TABLE f(k INT, v INT)", "CREATE TABLE d(k INT, nm VARCHAR)");
  await scene.sql(
    "INSERT INTO f SELECT i, i FROM range(1000) r(i)",
    "INSERT INTO d SELECT i, 'n' || i FROM range(1000) r(i)",
  );
  await scene.define({
    joined: "SELECT d.k, d.nm, f.v FROM f JOIN d USING (k) WHERE d.k < 10",
    swapped: "SELECT d.k, d.nm, f.v FROM d JOIN f USING (k) WHERE d.k < 10",
    grouped: "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM f GROUP BY k",
    inside: "SELECT g.n, COUNT(*) AS c FROM (SELECT k % 7 AS n, SUM(v) AS s FROM f GROUP BY 1) g GROUP BY g.n",
  });
  await scene.sql(
    "DELETE FROM f WHERE k < 600",
    "CALL ducklake_rewrite_data_files('lake', 'f', delete_threshold => 0)",
  );
  await scene.sql("UPDATE d SET nm = nm || '!' WHERE k < 20");
  await scene.refresh();
  expect(await scene.rows("joined")).toEqual([]);
  await scene.sql("INSERT INTO f SELECT i, -i FROM range(20) r(i)");
  await scene.refresh();
});

test("deletions after a rewrite carry their own values", async () => {
  await using scene = await Scene.start({ inlining: 0 });
  await scene.sql("CREATE TABLE t(id INT, v VARCHAR)", "INSERT INTO t SELECT i, 'v' || i FROM range(2000) r(i)");
  await scene.define({ flat: "SELECT id, v FROM t", totals: "SELECT id % 10 AS k, SUM(id) AS s FROM t GROUP BY 1" });
  await scene.sql("DELETE FROM t WHERE id < 900");
  await scene.refresh();
  await scene.sql(
    "DELETE FROM t WHERE id < 1200",
    "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
    "DELETE FROM t WHERE id > 1900",
  );
  await scene.refresh();
});

test("the cursor's snapshot was expired", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, k INT)", "INSERT INTO t SELECT i, i % 3 FROM range(40) r(i)");
  await scene.define({ flat: "SELECT id FROM t", totals: "SELECT k, COUNT(*) AS n FROM t GROUP BY k" });
  await scene.sql("DELETE FROM t WHERE id < 20", "INSERT INTO t VALUES (99, 1)");
  await scene.sql("CALL ducklake_expire_snapshots('lake', older_than => now())");
  await scene.sql("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)");
  const result = await scene.refresh();
  expect(viewOf(result, "flat").strategy).toBe("recompute");
  expect(viewOf(result, "flat").reason).not.toBeNull();
  // Written as a difference, not anew: 20 rows went and one came.
  expect(viewOf(result, "flat").rows).toEqual({ inserted: 1n, deleted: 20n });
  await scene.sql("DELETE FROM t WHERE id = 99");
  expect(viewOf(await scene.refresh(), "flat").strategy).toBe("incremental");
});

test("a snapshot in the middle of the window was expired", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT)", "INSERT INTO t SELECT i FROM range(40) r(i)");
  await scene.define({ flat: "SELECT id FROM t" });
  await scene.sql("DELETE FROM t WHERE id < 20");
  const middle = await scene.snapshot();
  await scene.sql("INSERT INTO t VALUES (99)");
  await scene.sql(`CALL ducklake_expire_snapshots('lake', versions => [${middle}])`);
  await scene.refresh();
});

test("a lake that expires snapshots by itself", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT)", "INSERT INTO t VALUES (1)");
  await scene.sql("CALL lake.set_option('expire_older_than', '0 seconds')");
  await scene.define({ flat: "SELECT id FROM t" });
  await scene.sql("INSERT INTO t VALUES (2)", "CHECKPOINT lake", "INSERT INTO t VALUES (3)");
  await scene.refresh();
  await scene.sql("DELETE FROM t WHERE id = 2", "CHECKPOINT lake");
  await scene.refresh();
});

test("two concurrent deletes that damaged a table's history", async () => {
  await using scene = await Scene.start({ inlining: 0 });
  await scene.sql(
    "CREATE TABLE t(id INT)",
    "INSERT INTO t SELECT i FROM range(200) r(i)",
    "DELETE FROM t WHERE id < 20",
  );
  await scene.define({ flat: "SELECT id FROM t", total: "SELECT COUNT(*) AS n, SUM(id) AS s FROM t" });
  const other = await scene.lake.connect();
  await other.run("BEGIN");
  await other.run("DELETE FROM t WHERE id BETWEEN 100 AND 120");
  await scene.transaction("DELETE FROM t WHERE id BETWEEN 50 AND 70");
  const both = await other.run("COMMIT").then(
    () => true,
    () => false,
  );
  // Where this DuckLake refuses the second commit there is no damage, and the views must be right all the same.
  const result = await scene.refresh();
  const damaged = await scene.value(
    "SELECT count(*) FROM __ducklake_metadata_lake.ducklake_delete_file a JOIN __ducklake_metadata_lake.ducklake_delete_file b " +
      "ON a.data_file_id = b.data_file_id AND a.delete_file_id < b.delete_file_id " +
      "AND a.begin_snapshot < coalesce(b.end_snapshot, 9000000000000000000) AND b.begin_snapshot < coalesce(a.end_snapshot, 9000000000000000000)",
  );
  if (both && damaged !== "0") expect(viewOf(result, "flat").reason?.code).toBe("history_damaged");
  await scene.sql("INSERT INTO t VALUES (1000)");
  await scene.refresh();
});
