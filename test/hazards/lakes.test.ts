/** Lakes that are restored, laid out otherwise, or written to where only this project should. */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";
import { Scene } from "./scene.js";

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
