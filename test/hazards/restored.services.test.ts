import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { quoteIdentifier } from "../../src/sql/quote.js";
import { tempLake } from "../setup/lake.js";
import { backUp, executePostgres } from "./backup.js";
import { restoredSuite } from "./restored-suite.js";

restoredSuite("postgres");

test("a lake that can't be attached anew is attached by a later call", async () => {
  await using place = await tempLake({ catalog: "postgres", data: "folder" });
  const { catalog, metadataSchema = "" } = place.config;
  await using lake = await open({ ...place.config, retryForMs: 0 }, { mustExist: false });
  const connection = await lake.connect();
  await connection.run("CREATE TABLE t AS SELECT 1 AS v");
  connection.closeSync();
  const backup = await backUp(place.config);
  await lake.define([{ name: "sums", sql: "SELECT sum(v) AS s FROM t" }]);
  await lake.refresh();
  await backup.restore();
  const metadata = `${quoteIdentifier(metadataSchema)}.ducklake_metadata`;
  await executePostgres(catalog, `UPDATE ${metadata} SET value = '99.0' WHERE key = 'version'`);
  await expect(lake.refresh()).rejects.toMatchObject({ code: "catalog_unreachable" });
  await expect(lake.refresh()).rejects.toMatchObject({ code: "catalog_unreachable" });
  await executePostgres(catalog, `UPDATE ${metadata} SET value = '1.0' WHERE key = 'version'`);
  expect((await lake.refresh()).views).toEqual([]);
});

test("two lakes in one database are told apart by their schemas", async () => {
  await using place = await tempLake({ catalog: "postgres", data: "folder" });
  await using lake = await open(place.config);
  const instance = (lake as unknown as { engine: { instance: never } }).engine.instance;
  await using same = await open(place.config, { instance });
  expect(await same.status()).toEqual([]);
  const other = { ...place.config, metadataSchema: `${place.config.metadataSchema}_other` };
  await expect(open(other, { instance })).rejects.toMatchObject({ code: "lake_name_taken" });
});
