import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readLakeObjects, tableAt } from "../../src/catalog/tables.js";
import { CatalogLake } from "./lake.js";

let lake: CatalogLake;
beforeAll(async () => {
  lake = await CatalogLake.open();
});
afterAll(() => lake[Symbol.asyncDispose]());

describe("a table at a snapshot", () => {
  test("has its columns in order, each with an identity and a type, fields of structs included", async () => {
    await lake.run("CREATE TABLE Typed (b INTEGER, a STRUCT(x INTEGER, y VARCHAR)[], m MAP(VARCHAR, BIGINT))");
    const found = await tableAt(lake.session, lake.engine, { schema: "MAIN", table: "typed" }, await lake.now());
    expect(found).toMatchObject({ schema: "main", table: "Typed", uuid: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(found?.columns.map((column) => column.name)).toEqual(["b", "a", "m"]);
    expect(new Set(found?.columns.map((column) => column.id)).size).toBe(3);
    const types = found?.columns.map((column) => column.type) ?? [];
    expect(types[0]).toBe("int32");
    expect(types[1]).toMatch(/struct.*x int32.*y varchar/);
    expect(types[2]).toMatch(/map.*varchar.*int64/);
  });

  test("is what it was then: before it was made, after an ALTER, under another name", async () => {
    const nothing = await lake.now();
    await lake.run("CREATE TABLE moving (a INTEGER)");
    const created = await lake.now();
    await lake.run("ALTER TABLE moving ADD COLUMN b INTEGER");
    const altered = await lake.now();
    await lake.run("ALTER TABLE moving RENAME TO moved");
    const renamed = await lake.now();
    const at = (table: string, snapshot: bigint) =>
      tableAt(lake.session, lake.engine, { schema: "main", table }, snapshot);
    expect(await at("moving", nothing)).toBeUndefined();
    expect((await at("moving", created))?.columns.map((column) => column.name)).toEqual(["a"]);
    expect((await at("moving", altered))?.columns.map((column) => column.name)).toEqual(["a", "b"]);
    expect(await at("moving", renamed)).toBeUndefined();
    expect(await at("moved", altered)).toBeUndefined();
    const [before, after] = [await at("moving", created), await at("moved", renamed)];
    expect(after?.id).toBe(before?.id);
    expect(after?.columns[0]?.id).toBe(before?.columns[0]?.id);
    expect(await tableAt(lake.session, lake.engine, { schema: "other", table: "moved" }, renamed)).toBeUndefined();
  });

  test("that was made again is another one, and so is a column", async () => {
    const at = async (table: string) => tableAt(lake.session, lake.engine, { schema: "main", table }, await lake.now());
    await lake.run("CREATE TABLE again (a INTEGER, b INTEGER)");
    const first = await at("again");
    await lake.run("ALTER TABLE again DROP COLUMN b", "ALTER TABLE again ADD COLUMN b INTEGER");
    const second = await at("again");
    expect(second?.uuid).toBe(first?.uuid);
    expect(second?.columns[1]?.id).not.toBe(first?.columns[1]?.id);
    await lake.run("DROP TABLE again", "CREATE TABLE again (a INTEGER, b INTEGER)");
    const third = await at("again");
    expect(third?.uuid).not.toBe(first?.uuid);
    expect(third?.id).not.toBe(first?.id);
  });

  test("names and text are data, not SQL", async () => {
    await lake.run(`CREATE TABLE "it's ""odd" ("a'b" INTEGER)`);
    const found = await tableAt(lake.session, lake.engine, { schema: "main", table: `it's "odd` }, await lake.now());
    expect(found?.columns.map((column) => column.name)).toEqual(["a'b"]);
  });
});

test("the objects of a lake: tables with DuckDB's types, plain views with their query", async () => {
  await lake.run(
    "CREATE SCHEMA Raw",
    "CREATE TABLE Raw.Events (Id BIGINT, price DECIMAL(10,2), tags VARCHAR[])",
    "CREATE VIEW raw.recent AS SELECT id, price FROM raw.events WHERE price > 1",
    `CREATE VIEW named("key", "the cost") AS SELECT id, price FROM raw.events`,
    "CREATE VIEW dropped AS SELECT 1 AS a",
    "DROP VIEW dropped",
  );
  const objects = await readLakeObjects(lake.session, lake.engine);
  expect(objects.table("RAW", "EVENTS")).toEqual({
    schema: "Raw",
    table: "Events",
    columns: [
      { name: "Id", type: "BIGINT" },
      { name: "price", type: "DECIMAL(10,2)" },
      { name: "tags", type: "VARCHAR[]" },
    ],
  });
  expect(objects.table("main", "events")).toBeUndefined();
  expect(objects.table("raw", "recent")).toBeUndefined();
  expect(objects.view("Raw", "Recent")).toMatchObject({ schema: "Raw", view: "recent", aliases: "" });
  expect(objects.view("raw", "recent")?.sql).toMatch(/^SELECT .* FROM raw\.events WHERE/i);
  expect(objects.view("main", "named")?.aliases).toMatch(/^"key", ?"the cost"$/);
  expect(objects.view("main", "dropped")).toBeUndefined();
  expect([objects.hasSchema("RAW"), objects.hasSchema("nothing")]).toEqual([true, false]);
  expect(objects.names).toContain("Raw.Events");
  // A view's query stands alone: it can be run as it is.
  await lake.session.rows(objects.view("raw", "recent")?.sql ?? "");
});
