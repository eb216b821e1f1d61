/** Calls that go on with what the one before them knew: none may miss what happened since. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

const view = (name: string) => ({ name, sql: `SELECT '${name}' AS name, count(*) AS n FROM t` });

/** A lake whose connection was used by a refresh that found nothing to do. */
async function rested(): Promise<OpenLake> {
  const place = await OpenLake.start();
  await place.connection.run("CREATE TABLE t AS SELECT 1 AS a");
  await place.lake.define([view("one")]);
  await place.lake.refresh();
  expect(await place.lake.refresh()).toMatchObject({ status: "unchanged" });
  return place;
}

test("a lake sees what another has defined and refreshed since its last call", async () => {
  await using place = await rested();
  const { lake, connection } = place;
  // Another program's work, in the same instance, since the catalog is a file of DuckDB.
  const instance = (lake as unknown as { engine: { instance: never } }).engine.instance;
  await using other = await open({ catalog: join(place.folder, "catalog.ducklake") }, { instance });
  await other.define([view("one"), view("two")]);
  expect((await lake.refresh()).views.map(({ view: name, status }) => [name, status])).toEqual([
    ["one", "unchanged"],
    ["two", "refreshed"],
  ]);
  await connection.run("INSERT INTO t VALUES (2)");
  expect(await other.refresh()).toMatchObject({ status: "refreshed" });
  expect(await lake.refresh()).toMatchObject({ status: "unchanged" });
  expect(await place.rows("SELECT n FROM one UNION ALL SELECT n FROM two")).toEqual([[2n], [2n]]);
});

test("a connection that is used again has what its instance was told meanwhile", async () => {
  await using place = await rested();
  const { lake, connection } = place;
  // Reads of old versions are wrong without these rules being off.
  await connection.run("SET disabled_optimizers = ''");
  expect(await lake.refresh()).toMatchObject({ status: "unchanged" });
  expect(await place.rows("SELECT current_setting('disabled_optimizers')")).toEqual([
    [expect.stringContaining("statistics_propagation")],
  ]);
});

test("a connection that is given to the caller is not used again", async () => {
  await using place = await rested();
  const { lake } = place;
  const given = await lake.connect();
  await given.run("BEGIN");
  await given.run("CREATE TEMP TABLE mine AS SELECT 1 AS a");
  expect(await lake.refresh()).toMatchObject({ status: "unchanged" });
  await given.run("COMMIT");
  expect((await given.runAndReadAll("FROM temp.mine")).getRowsJS()).toEqual([[1]]);
  given.closeSync();
});

test("an instance that has another lake attached is not taken for that of this one", async () => {
  await using place = await rested();
  const instance = (place.lake as unknown as { engine: { instance: never } }).engine.instance;
  for (const catalog of [join(place.folder, "other.ducklake"), `sqlite:${join(place.folder, "other.sqlite")}`]) {
    await expect(open({ catalog }, { instance })).rejects.toMatchObject({ code: "lake_name_taken" });
  }
  expect(await place.rows("SELECT n FROM one")).toEqual([[1n]]);
});
