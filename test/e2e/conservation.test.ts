import { expect, test } from "vitest";
import { viewOf, World } from "./world.js";

test("a change feed whose weights do not add up is replaced by the difference of two reads", async () => {
  await using world = await World.start({ catalog: "duckdb", data: "folder" });
  await world.sql("CREATE TABLE t (id INTEGER, v INTEGER)", "CREATE TABLE u (id INTEGER)");
  await world.sql("INSERT INTO t SELECT i, i % 4 FROM range(60) r(i)", "INSERT INTO u SELECT i FROM range(60) r(i)");
  await world.build({ sums: "SELECT v, sum(id) AS s FROM t GROUP BY v", pairs: "SELECT t.v FROM t JOIN u USING (id)" });
  // The feed gives phantom rows after a rewrite of inlined deletes. Metadata tells of the rewrite; here it is made
  // to say nothing, as another version of DuckLake might.
  await world.sql(
    "DELETE FROM t WHERE id < 5",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "INSERT INTO t VALUES (100, 1)",
    `UPDATE __ducklake_metadata_lake.ducklake_snapshot_changes
     SET changes_made = replace(changes_made, 'rewrite_delete', 'merge_adjacent')`,
  );
  const result = await world.refresh();
  for (const view of ["sums", "pairs"]) {
    const [source] = viewOf(result, view).sources;
    expect(source).toMatchObject({
      source: "main.t",
      delta: "difference",
      deltaReason: { code: "feed_not_conserved" },
    });
    expect(viewOf(result, view).strategy).toBe("incremental");
  }
  const runs = await world.rows("SELECT sources FROM ivm.runs WHERE view = 'sums' ORDER BY finished_at DESC LIMIT 1");
  expect(String(runs[0]?.["sources"])).toContain("feed_not_conserved");
  await world.verify();
});
