import type { DuckDBConnection } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { OpenLake } from "../setup/open-lake.js";

async function liveFiles(connection: DuckDBConnection, table: string): Promise<number> {
  const result = await connection.runAndReadAll(
    `SELECT count(*)::INTEGER FROM __ducklake_metadata_lake.ducklake_data_file f
     JOIN __ducklake_metadata_lake.ducklake_table t USING (table_id)
     WHERE f.end_snapshot IS NULL AND t.end_snapshot IS NULL AND t.table_name = '${table}'`,
  );
  return result.getRowsJS()[0]?.[0] as number;
}

test("small files of the tool's own tables are merged as it goes, and views of views stay incremental", async () => {
  await using opened = await OpenLake.start();
  const { lake, connection } = opened;
  await connection.run("CREATE TABLE t (g INTEGER, v INTEGER)");
  await connection.run("INSERT INTO t SELECT i % 500, i FROM range(2000) r(i)");
  await lake.define([
    { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" },
    { name: "high", sql: "SELECT count(*) AS n FROM sums WHERE s > 1500" },
  ]);
  await lake.refresh();
  // As many runs as it takes; each leaves a file in the table of runs and one in the view's own.
  for (let run = 0; run < 70; run += 1) {
    await connection.run(`INSERT INTO ivm.runs (run_id, view) VALUES ('earlier ${run}', 'sums')`);
  }
  expect(await liveFiles(connection, "runs")).toBeGreaterThan(64);

  await connection.run("INSERT INTO t VALUES (1, 1000000)");
  await lake.refresh();
  expect(await liveFiles(connection, "runs")).toBeLessThan(8);
  expect((await connection.runAndReadAll("SELECT count(*)::INTEGER FROM ivm.runs")).getRowsJS()).toEqual([[74]]);

  await connection.run("INSERT INTO t VALUES (2, 1000000)");
  const result = await lake.refresh();
  expect(result.views.map(({ view, strategy }) => [view, strategy])).toEqual([
    ["sums", "incremental"],
    ["high", "incremental"],
  ]);
  expect((await lake.verify()).map(({ ok }) => ok)).toEqual([true, true]);
});

test("a physical table whose files lost many rows is written anew, and the views that read it see no change in that", async () => {
  await using opened = await OpenLake.start();
  const { lake, connection } = opened;
  await connection.run("CREATE TABLE t (g INTEGER, v INTEGER)");
  await lake.define([
    { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" },
    { name: "total", sql: "SELECT sum(s) AS s FROM sums" },
  ]);
  await lake.refresh();
  // Files of ten groups each, in the physical table too.
  for (let file = 0; file < 34; file += 1) {
    await connection.run(`INSERT INTO t SELECT ${file * 10} + i, 1 FROM range(10) r(i)`);
    await lake.refresh({ views: ["sums"] });
  }
  await connection.run("UPDATE t SET v = 2 WHERE g % 10 < 4");
  await lake.refresh();
  // Files are counted once in sixteen commits.
  await connection.run("CREATE TABLE other (a INTEGER)");
  for (let commit = 0; commit < 15; commit += 1) await connection.run("INSERT INTO other VALUES (1)");
  await connection.run("INSERT INTO t VALUES (9999, 1)");
  await lake.refresh();
  const deletes = await connection.runAndReadAll(
    `SELECT count(*)::INTEGER FROM __ducklake_metadata_lake.ducklake_delete_file d
     JOIN __ducklake_metadata_lake.ducklake_table t USING (table_id)
     WHERE d.end_snapshot IS NULL AND t.end_snapshot IS NULL AND t.table_name = 'data_sums'`,
  );
  expect(deletes.getRowsJS()).toEqual([[0]]);
  const result = await lake.refresh();
  expect(result.views.map(({ rows }) => [rows.inserted, rows.deleted])).toEqual([
    [0n, 0n],
    [0n, 0n],
  ]);
  expect((await lake.verify()).map(({ ok }) => ok)).toEqual([true, true]);
}, 120_000);
