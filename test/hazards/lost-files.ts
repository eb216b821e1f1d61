/** Files that the catalog names and that are gone, as after a careless removal of orphans beside a refresh. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { basename } from "node:path/posix";
import { expect, test } from "vitest";
import { openStore } from "../../src/log/open-store.js";
import type { LakeKind } from "../setup/lake.js";
import { Scene, viewOf } from "./scene.js";

/** Removes the files of a table's rows, as anybody could who may write to the data path. */
async function removeFiles(scene: Scene, table: string): Promise<void> {
  const { config } = scene.place;
  const schema = table.includes("data_") ? "ivm" : "main";
  const reader = await scene.writer.runAndReadAll(
    `SELECT data_file FROM ducklake_list_files('lake', '${table}', schema => '${schema}')`,
  );
  const names = reader.getRowsJS().map(([path]) => basename(String(path)));
  const store = openStore({ ...config, log: { path: config.dataPath ?? "" } });
  await store?.remove(names.map((name) => `${schema}/${table}/${name}`));
  store?.close();
  expect(names.length).toBeGreaterThan(0);
}

export function lostFiles(kind: LakeKind): void {
  test("a view whose own files are gone is built anew, whatever its tables are", { timeout: 180_000 }, async () => {
    await using scene = await Scene.start({ kind, inlining: 0, log: { compact: "manual" } });
    await scene.sql(
      // What another process has removed is not in the memory of the next one.
      "SET GLOBAL enable_external_file_cache = false",
      "CREATE TABLE t(id INT, k INT, v INT)",
      "INSERT INTO t SELECT i, i % 5, i FROM range(100) r(i)",
      "CREATE TABLE other AS SELECT 1 AS a",
    );
    await scene.define({
      flat: "SELECT id, k FROM t",
      sums: "SELECT k, count(*) AS n, count(DISTINCT v) AS d FROM t GROUP BY k",
      above: "SELECT n, count(*) AS groups FROM sums GROUP BY n",
      beside: "SELECT a FROM other",
    });
    const tables = await scene.rows("(SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%data_sums')");
    // The groups, and beside them the distinct values.
    expect(tables).toHaveLength(2);
    for (const [index, table] of tables.map((row) => row.slice(1, -1)).entries()) {
      await removeFiles(scene, table);
      await scene.sql(
        `INSERT INTO t VALUES (${1000 + index}, 2, 7)`,
        "DELETE FROM t WHERE id = 3",
        "UPDATE other SET a = a + 1",
      );
      const result = await scene.refresh();
      const text = `something else has removed a file of the view's table ${table}`;
      expect(viewOf(result, "sums")).toMatchObject({
        strategy: "recompute",
        reason: { code: "physical_table_altered", text },
      });
      expect(viewOf(result, "flat").strategy).toBe("incremental");
      expect(viewOf(result, "beside").strategy).toBe("incremental");
    }
    expect((await scene.lake.verify()).map(({ ok }) => ok)).toEqual([true, true, true, true]);

    // Nothing has changed, so nothing reads them; a check does.
    await removeFiles(scene, "data_flat");
    const [flat] = await scene.lake.verify({ views: ["flat"] });
    expect(flat).toMatchObject({
      ok: false,
      error: { code: "data_file_missing", hint: expect.stringContaining("--full-refresh") },
    });
    expect(viewOf(await scene.refresh({ views: ["flat"], fullRefresh: true }), "flat").reason?.code).toBe(
      "physical_table_altered",
    );
    expect(await scene.lake.verify({ views: ["flat"] })).toMatchObject([{ ok: true }]);
    // Its log has the rows that the view had: readers see no difference.
    await using state = await scene.lake.state("flat");
    let rows = 0;
    for await (const { weight } of state) rows += Number(weight);
    expect(BigInt(rows)).toBe(BigInt(await scene.value("SELECT count(*) FROM flat")));
  });

  test("a change log of which a file is gone says so, and begins anew when it is told to", async () => {
    await using scene = await Scene.start({ kind, inlining: 0, log: { compact: "manual" } });
    await scene.sql("CREATE TABLE t AS SELECT range AS id FROM range(9)");
    await scene.define({ v: "SELECT id FROM t" });
    const count = async (): Promise<number> => {
      await using state = await scene.lake.state("v");
      let rows = 0;
      for await (const { weight } of state) rows += Number(weight);
      return rows;
    };
    expect(await count()).toBe(9);
    const root = join(scene.place.folder, "logs");
    for (const file of await readdir(root, { recursive: true })) {
      if (file.endsWith(".parquet")) await rm(join(root, file));
    }
    await expect(count()).rejects.toMatchObject({
      code: "data_file_missing",
      hint: expect.stringContaining("drop VIEW"),
    });
    await scene.lake.drop("v");
    await scene.applyAgain();
    await scene.refresh();
    expect(await count()).toBe(9);
  });

  test("a base table's file that is gone fails the views that need it, and no other", async () => {
    await using scene = await Scene.start({ kind, inlining: 0 });
    await scene.sql(
      "CREATE TABLE t AS SELECT range AS id FROM range(9)",
      "CREATE TABLE u AS SELECT range AS id FROM range(9)",
    );
    await scene.define({ v: "SELECT id FROM t", w: "SELECT id FROM u", above: "SELECT count(*) AS n FROM v" });
    const before = await scene.rows("v");
    await scene.sql("INSERT INTO t VALUES (50)", "INSERT INTO u VALUES (50)");
    await removeFiles(scene, "t");
    const result = await scene.lake.refresh({ fullRefresh: true });
    expect(viewOf(result, "v")).toMatchObject({
      status: "failed",
      error: { code: "data_file_missing", retryable: false, hint: expect.stringMatching(/^Restore/) },
    });
    expect(viewOf(result, "above").error?.code).toBe("upstream_failed");
    expect(viewOf(result, "w").status).toBe("refreshed");
    expect(await scene.rows("v")).toEqual(before);
  });
}
