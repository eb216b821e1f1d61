/** Other writers and maintenance at work beside a refresh. */

import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { Scene } from "./scene.js";

test("compactions, expiry and clean-up while views are refreshed", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, k INT)", "INSERT INTO t SELECT i, i % 5 FROM range(100) r(i)");
  await scene.define({
    flat: "SELECT id, k FROM t",
    totals: "SELECT k, COUNT(*) AS n, SUM(id) AS s FROM t GROUP BY k",
  });
  const keeper = await scene.lake.connect();
  const calls = [
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "CALL ducklake_delete_orphaned_files('lake', older_than => now() - INTERVAL 1 MINUTE)",
    "CHECKPOINT lake",
  ];
  const done = new Set<string>();
  let working = true;
  const upkeep = (async () => {
    for (let index = 0; working; index++) {
      // A compaction may lose to the refresh and give up; that harms nobody.
      const call = calls[index % calls.length] ?? "";
      await keeper.run(call).then(
        () => done.add(call),
        () => undefined,
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  try {
    // A call that has lost each time so far gets some rounds more.
    for (let round = 0; round < 8 || (done.size < calls.length && round < 60); round++) {
      await scene.sql(`INSERT INTO t VALUES (${1000 + round}, ${round % 5}), (${2000 + round}, NULL)`);
      const result = await scene.lake.refresh();
      const failed = result.views.filter((view) => view.status === "failed");
      for (const view of failed) expect(view.error?.retryable, JSON.stringify(view.error)).toBe(true);
    }
  } finally {
    working = false;
    await upkeep;
  }
  expect([...done].toSorted()).toEqual(calls.toSorted());
  await scene.refresh();
  expect((await scene.lake.verify()).map(({ ok }) => ok)).toEqual([true, true]);
});

test("our own tables are not inlined", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(k INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ totals: "SELECT k, SUM(v) AS s FROM t GROUP BY k", flat: "SELECT v FROM t" });
  await scene.sql("INSERT INTO t VALUES (1, 5)", "DELETE FROM t WHERE k = 2");
  await scene.refresh();
  const inlined = await scene.value(
    "SELECT count(*) FROM __ducklake_metadata_lake.ducklake_inlined_data_tables i " +
      "JOIN __ducklake_metadata_lake.ducklake_table t USING (table_id) " +
      "JOIN __ducklake_metadata_lake.ducklake_schema s USING (schema_id) " +
      "WHERE s.schema_name = 'ivm' AND t.table_name LIKE 'data_%'",
  );
  expect(inlined).toBe("0");
});

test("another program alters and flushes a table that a long-lived lake reads", async () => {
  await using scene = await Scene.start({ kind: { catalog: "sqlite", data: "folder" } });
  await scene.sql("CREATE TABLE t(id INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ flat: "SELECT id, v FROM t", total: "SELECT SUM(v) AS s FROM t" });
  await using other = await open(scene.place.config);
  const writer = await other.connect();
  for (const sql of [
    "INSERT INTO t VALUES (3, 3)",
    "ALTER TABLE t ADD COLUMN w INT",
    "INSERT INTO t VALUES (4, 4, 4)",
    "CALL ducklake_flush_inlined_data('lake')",
    "DELETE FROM t WHERE id = 1",
  ]) {
    await writer.run(sql);
  }
  const result = await scene.lake.refresh();
  expect(result.views.map((view) => view.error)).toEqual([null, null]);
  // Read in the other program: the long-lived connection of the test itself may be the one that can't.
  const reader = await writer.runAndReadAll("SELECT id, v FROM flat ORDER BY ALL");
  expect(reader.getRowsJS()).toEqual([
    [2, 2],
    [3, 3],
    [4, 4],
  ]);
});

test("a lake with a past before its first view", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT)");
  for (let index = 0; index < 5; index++)
    await scene.sql(`INSERT INTO t VALUES (${index})`, "DELETE FROM t WHERE id = 2");
  await scene.sql("CALL ducklake_expire_snapshots('lake', older_than => now())");
  await scene.define({ flat: "SELECT id FROM t" });
  await scene.sql("INSERT INTO t VALUES (7)");
  await scene.refresh();
});
