import { expect, test } from "vitest";
import { ConfigError, DefinitionError, type LakeConfig, open } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

/** What programs without types may write. */
const thrownBy = (work: () => Promise<unknown>): Promise<Error> =>
  work().then(
    () => expect.unreachable("nothing was thrown"),
    (error) => error,
  );

test.each([
  [undefined, "value_invalid", "must be an object, not undefined", "The fields are: catalog"],
  ["lake.ducklake", "value_invalid", "must be an object, not a string", "The fields are: catalog"],
  [{}, "key_missing", "has no catalog", "catalog"],
  [{ catalog: "" }, "value_invalid", "has an empty text for catalog", "catalog"],
  [{ catalog: "x", data_path: "y" }, "key_unknown", "unknown field data_path", 'Did you mean "dataPath"?'],
  [{ catalog: "x", s3: { urlstyle: "path" } }, "key_unknown", "unknown field s3.urlstyle", 'Did you mean "urlStyle"?'],
  [{ catalog: "x", engine: { threads: "2" } }, "value_invalid", "has a string for engine.threads", "number"],
  [{ catalog: "x", log: { compact: "autto" } }, "value_invalid", 'has "autto" for log.compact', 'Did you mean "auto"?'],
])("open refuses %j", async (config, code, message, hint) => {
  const error = await thrownBy(() => open(config as unknown as LakeConfig));
  expect(error).toBeInstanceOf(ConfigError);
  expect(error).toMatchObject({ code, message: expect.stringContaining(message), hint: expect.stringContaining(hint) });
});

test("define refuses what is no list of definitions, and fields and values that nobody knows", async () => {
  await using place = await OpenLake.start();
  const sql = "SELECT 1 AS a";
  for (const [definitions, code, view, message, hint] of [
    ["x", "value_invalid", undefined, "a list of definitions, not a string", "define(["],
    [undefined, "value_invalid", undefined, "a list of definitions, not undefined", "define(["],
    [["x"], "value_invalid", undefined, "Definition 1 must be an object, not a string", "name, sql"],
    [[null], "value_invalid", undefined, "Definition 1 must be an object, not null", "name, sql"],
    [[{ name: "v" }], "key_missing", "v", "The definition of view v has no sql", "sql"],
    [[{ name: "w", sql }, { sql }], "key_missing", undefined, "Definition 2 has no name", "name"],
    [[{ name: "v", sql, refresh: "fulll" }], "value_invalid", "v", '"fulll" for refresh', 'Did you mean "full"?'],
    [[{ name: "v", sql, primary_key: ["a"] }], "key_unknown", "v", "field primary_key", 'Did you mean "primaryKey"?'],
    [[{ name: "v", sql, primaryKey: "a" }], "value_invalid", "v", "has a string for primaryKey", "array"],
  ] as const) {
    const error = await thrownBy(() => place.lake.define(definitions as never));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error).toMatchObject({
      code,
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
    expect((error as DefinitionError).subject).toEqual(view === undefined ? {} : { view });
  }
  expect(await place.lake.status()).toEqual([]);
  // Objects of a wider type are as good.
  await place.lake.define([{ name: "v", sql, owner: "finance" }] as never);
  expect((await place.lake.status()).map(({ view }) => view)).toEqual(["v"]);
});

test("calls after close say that the lake is closed", async () => {
  await using place = await OpenLake.start();
  const { lake } = place;
  const waiting = lake.status();
  await Promise.all([lake.close(), lake.close()]);
  expect(await waiting).toEqual([]);
  for (const call of [
    () => lake.define([]),
    () => lake.refresh(),
    () => lake.query("SELECT 1"),
    () => lake.connect(),
    () => lake.changes("v", {}),
    () => lake.history(),
  ]) {
    expect(await thrownBy(call)).toMatchObject({ name: "ConfigError", code: "lake_closed", hint: expect.any(String) });
  }
});

test("rows are read once, in one way", async () => {
  await using place = await OpenLake.start();
  const take = async (rows: AsyncIterable<unknown>): Promise<number> => {
    let count = 0;
    for await (const _ of rows) count += 1;
    return count;
  };
  const rows = await place.lake.query("SELECT 1 AS a");
  expect(await take(rows)).toBe(1);
  const closed = await place.lake.query("SELECT 1 AS a");
  closed.close();
  for (const again of [
    () => take(rows),
    () => take(rows.jsonLines()),
    () => take(rows.arrow()),
    () => rows.copyTo("never.csv", "csv"),
    () => take(closed),
  ]) {
    expect(await thrownBy(again)).toMatchObject({ name: "ConfigError", code: "rows_taken", hint: expect.any(String) });
  }
});
