/**
 * A catalog that is restored from an older backup while a program has the lake open, and then written to until it has
 * the newest snapshot again that the program has seen.
 */
import { describe, expect, test } from "vitest";
import { type Lake, open } from "../../src/index.js";
import { type LakeKind, type TempLake, tempLake } from "../setup/lake.js";
import { type Backup, backUp } from "./backup.js";

const SUMS = "SELECT k, sum(v) AS s, count(*) AS n FROM t GROUP BY k";

/** What another program does; gives the lake's newest snapshot. */
async function write(lake: Lake, statements: readonly string[]): Promise<bigint> {
  const connection = await lake.connect();
  for (const statement of statements) await connection.run(statement);
  const newest = await connection.runAndReadAll("FROM ducklake_current_snapshot('lake')");
  connection.closeSync();
  return newest.getRowsJS()[0]?.[0] as bigint;
}

async function writeAnew({ config }: TempLake, statements: readonly string[]): Promise<bigint> {
  await using other = await open(config);
  return await write(other, statements);
}

/** How the view differs from its query over the table as it is now, for a program that opens the lake anew. */
async function differences({ config }: TempLake): Promise<unknown[][]> {
  await using fresh = await open(config);
  const connection = await fresh.connect();
  const differing = await connection.runAndReadAll(
    `(FROM sums EXCEPT ALL FROM (${SUMS})) UNION ALL (FROM (${SUMS}) EXCEPT ALL FROM sums)`,
  );
  connection.closeSync();
  return differing.getRowsJS();
}

interface Scene {
  readonly place: TempLake;
  /** The program's, which lives through all. */
  readonly lake: Lake;
  readonly backup: Backup;
}

async function start(place: TempLake, lake: Lake): Promise<Scene> {
  await write(lake, ["CREATE TABLE t AS SELECT range % 3 AS k, range AS v FROM range(50)"]);
  await lake.define([{ name: "sums", sql: SUMS }]);
  await lake.refresh();
  return { place, lake, backup: await backUp(place.config) };
}

/** Refreshes after these writes, restores, and lets another program make the lake as new as it was. */
async function restore({ place, lake, backup }: Scene, before: string[], after: string[]): Promise<void> {
  await write(lake, before);
  await lake.refresh();
  expect((await lake.refresh()).status).toBe("unchanged");
  const newest = await write(lake, []);
  await backup.restore();
  let reached = await writeAnew(place, after);
  while (reached < newest) reached = await writeAnew(place, [`COMMENT ON TABLE t IS 'snapshot ${reached}'`]);
  expect(reached).toBe(newest);
}

export function restoredSuite(catalog: LakeKind["catalog"]): void {
  describe(`a catalog in ${catalog} is restored under a program that has it open`, { timeout: 120_000 }, () => {
    test.each([
      ["rows", ["INSERT INTO t SELECT 7, range FROM range(30)"], ["INSERT INTO t SELECT 8, range FROM range(20)"]],
      [
        "columns",
        ["ALTER TABLE t ADD COLUMN x INTEGER", "INSERT INTO t VALUES (1, 1, 1)"],
        ["ALTER TABLE t ADD COLUMN y VARCHAR", "INSERT INTO t VALUES (4, 5, 'a')"],
      ],
    ])("what its snapshots say now is applied: %s", async (_what, before, after) => {
      await using place = await tempLake({ catalog, data: "folder" });
      await using lake = await open(place.config);
      await restore(await start(place, lake), before, after);
      const result = await lake.refresh();
      expect(result.views).toMatchObject([{ view: "sums", status: "refreshed", strategy: "incremental", error: null }]);
      expect(await lake.verify()).toMatchObject([{ ok: true }]);
      const appended = await lake.append("t", "FROM t WHERE k = 0");
      expect(appended.rows.inserted).toBe(17n);
      await lake.refresh();
      await lake.close();
      expect(await differences(place)).toEqual([]);
    });

    test("nothing has been written since: the lake is as it was in the backup", async () => {
      await using place = await tempLake({ catalog, data: "folder" });
      await using lake = await open(place.config);
      const { backup } = await start(place, lake);
      const newest = await write(lake, []);
      await write(lake, ["INSERT INTO t SELECT 7, range FROM range(30)"]);
      await lake.refresh();
      await backup.restore();
      expect(await lake.refresh()).toMatchObject({ status: "unchanged", horizon: newest });
      await lake.append("t", "SELECT 8 AS k, 1 AS v");
      expect(await lake.refresh()).toMatchObject({ status: "refreshed" });
      await lake.close();
      expect(await differences(place)).toEqual([]);
    });

    test("the backup is older than the views, which are applied again", async () => {
      await using place = await tempLake({ catalog, data: "folder" });
      await using lake = await open(place.config);
      await write(lake, ["CREATE TABLE t AS SELECT 1 AS k, 2 AS v"]);
      const backup = await backUp(place.config);
      await lake.define([{ name: "sums", sql: SUMS }]);
      await lake.refresh();
      await backup.restore();
      expect((await lake.refresh()).views).toEqual([]);
      await lake.define([{ name: "sums", sql: SUMS }]);
      expect(await lake.refresh()).toMatchObject({ views: [{ strategy: "initial", error: null }] });
      // What is written for views is never inlined (see src/view/state.ts), in the lake of the backup as well.
      const connection = await lake.connect();
      const inlined = await connection.runAndReadAll(
        "SELECT value FROM lake.options() WHERE option_name = 'data_inlining_row_limit' AND scope = 'SCHEMA'",
      );
      expect(inlined.getRowsJS()).toEqual([["0"]]);
      connection.closeSync();
    });
  });
}
