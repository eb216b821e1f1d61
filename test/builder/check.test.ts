import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { count, movingSum, type Query, source, sql, sum, view } from "../../src/builder/index.js";
import { DefinitionError, type IvmError, type ViewDefinition } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

let opened: OpenLake;
beforeAll(async () => {
  opened = await OpenLake.start();
  await opened.rows("CREATE TABLE orders (id INTEGER, customer INTEGER, amount INTEGER)");
  await opened.rows("CREATE TABLE customers (id INTEGER, name VARCHAR)");
  await opened.rows("CREATE SCHEMA shop");
  await opened.rows("CREATE TABLE shop.items (item VARCHAR, price INTEGER)");
});
afterAll(() => opened[Symbol.asyncDispose]());

async function refused(make: () => readonly ViewDefinition[]): Promise<IvmError> {
  const define = async () => opened.lake.define(make(), { dryRun: true });
  const error = await define().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DefinitionError);
  return error as IvmError;
}

const orders = source("orders").as("o");
const customers = source("customers").as("c");
const both = orders.join(customers, { on: { "o.customer": "c.id" } });

describe("a column that the lake does not have is told by name, with its source and what may be meant", () => {
  // biome-ignore lint/suspicious/noExplicitAny: queries of all row types.
  const cases: readonly (readonly [string, Query<any>, string, string])[] = [
    ["in select", both.select("o.amuont"), '"amuont" is no column of orders (o).', "amount"],
    ["without an alias", both.select("nam"), '"nam" is no column of orders (o) or customers (c).', "name"],
    [
      "of another schema",
      source("items", { schema: "shop" }).select("prise"),
      '"prise" is no column of shop.items (items).',
      "price",
    ],
    ["in a condition", orders.where("custmer", "=", 1), '"custmer" is no column of orders (o).', "customer"],
    [
      "in a join",
      orders.join(customers, { on: { "o.customer": "c.ident" } }),
      '"ident" is no column of customers (c).',
      "",
    ],
    ["in using", orders.join(customers, { using: ["nam"] }), '"nam" is no column of orders (o).', ""],
    [
      "in an expression",
      both.select({ x: (column) => sql`upper(${column("c.nam")})` }),
      '"nam" is no column of customers (c).',
      "name",
    ],
    ["in by", orders.aggregate({ by: "costumer", n: count() }), '"costumer" is no column of orders (o).', "customer"],
    ["in an aggregate", orders.aggregate({ total: sum("o.amoun") }), '"amoun" is no column of orders (o).', "amount"],
    ["in along", orders.accumulate({ along: "di", s: movingSum("amount", 2) }), '"di" is no column of orders (o).', ""],
    [
      "after an aggregate",
      orders
        .aggregate({ by: "customer", total: sum("amount") })
        .where((column) => sql`${column("totals" as never)} > 1`),
      '"totals" is no column of the rows before it.',
      "total",
    ],
    [
      "of a name",
      orders
        .select("id")
        .as("rows")
        .select("rows.amount" as never),
      '"amount" is no column of rows.',
      "",
    ],
    [
      "in a union",
      orders.select("id").unionAll(customers.select({ number: "id" }) as never),
      'the second query of a union has no column "id"',
      "",
    ],
    [
      "in a query inside",
      orders.where((column) => sql`${column("customer")} IN ${customers.select("idd")}`),
      '"idd" is no column of customers (c).',
      "",
    ],
  ];
  test.each(cases)("%s", async (_, query, message, meant) => {
    const error = await refused(() => [{ ...view("v", query), file: "/views/views.ts" }]);
    expect(error).toMatchObject({ code: "column_missing", subject: { view: "v" } });
    // Where tables have to be known for it, `define` tells it, which knows the file.
    if (error.subject.table !== undefined) expect(error.subject.file).toBe("/views/views.ts");
    expect(error.message).toContain(`View v: ${message}`);
    if (meant !== "") expect(error.hint).toContain(`Did you mean "${meant}"?`);
  });

  test("of another view that is defined with it", async () => {
    const totals = view("totals", orders.aggregate({ by: "customer", total: sum("amount") }));
    const error = await refused(() => [totals, view("large", source("totals").where("totl", ">", 1))]);
    expect(error.message).toBe('View large: "totl" is no column of totals.');
    expect(error.hint).toContain('Did you mean "total"?');
  });
});

test("what can be seen without a lake is told by `view` at once", () => {
  expect(() =>
    view(
      "v",
      orders.select("id", "amount").where((column) => sql`${column("amont" as never)} > 1`),
    ),
  ).toThrow(expect.objectContaining({ code: "column_missing", hint: expect.stringContaining('"amount"') }));
  expect(() => view("v", orders.join(source("customers").as("O"), { using: ["id"] }))).toThrow(
    expect.objectContaining({ code: "builder_alias" }),
  );
  expect(() => view("v", both.where("name", "=", "Ada").join(source("x"), { kind: "full", using: ["id"] }))).toThrow(
    expect.objectContaining({ code: "builder_where" }),
  );
  for (const [code, make] of [
    ["builder_join", () => orders.join(customers, {} as never)],
    ["builder_columns", () => orders.select()],
    ["builder_columns", () => orders.aggregate({})],
    ["builder_operator", () => orders.where("id", "~" as never, 1 as never)],
    ["builder_value", () => orders.aggregate({ by: "id", total: "amount" })],
    ["builder_value", () => orders.accumulate({ along: "id", total: sum("amount") as never })],
    ["builder_literal", () => sql`${new Date() as never}`],
    ["builder_rows", () => movingSum("amount", 0)],
  ] as const) {
    expect(make, code).toThrow(expect.objectContaining({ code }));
  }
});

test("a definition is that of an SQL file, and names and values can't become SQL", () => {
  const odd = source('the "orders"', { schema: "a.b" }).as("o;--");
  const definition = view("v", odd.where("o;--.it's", "=", "it's").select({ 'x"y': "o;--.it's" }).primaryKey('x"y'), {
    refresh: "full",
  });
  expect(definition).toEqual({
    name: "v",
    sql: `SELECT "o;--"."it's" AS "x""y"\nFROM "a.b"."the ""orders""" AS "o;--"\nWHERE ("o;--"."it's" = 'it''s')`,
    primaryKey: ['x"y'],
    refresh: "full",
    query: expect.anything(),
  });
  const frozen = (value: unknown): boolean =>
    typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen));
  expect(frozen(definition)).toBe(true);
});
