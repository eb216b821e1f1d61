import { expect, test } from "vitest";
import { sameName } from "../../src/sql/quote.js";
import { sourceName } from "../../src/view/names.js";

test.each([
  ["main", "orders", "main.orders"],
  ["Größe", "_x1", "Größe._x1"],
  ["main", "odd name", 'main."odd name"'],
  ["a.b", 'say "hi"', '"a.b"."say ""hi"""'],
  ["main", "1st", 'main."1st"'],
])("%s and %s are written %s", (schema, table, name) => {
  expect(sourceName(schema, table)).toBe(name);
});

test("names compare without case", () => {
  expect(sameName("Orders", "oRDERS")).toBe(true);
  expect(sameName("orders", "order")).toBe(false);
});
