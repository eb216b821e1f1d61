import { expect, test } from "vitest";
import { quoteIdentifier, quoteLiteral, quotePath } from "../../src/sql/quote.js";

test.each([
  ["plain", `"plain"`],
  [`say "hi"`, `"say ""hi"""`],
  ["a.b; DROP TABLE t --", `"a.b; DROP TABLE t --"`],
  ["Größe#1", `"Größe#1"`],
  ["", `""`],
])("an identifier %j", (name, quoted) => {
  expect(quoteIdentifier(name)).toBe(quoted);
});

test.each([
  ["plain", `'plain'`],
  ["it's", `'it''s'`],
  [`back\\slash "x"`, `'back\\slash "x"'`],
])("a literal %j", (value, quoted) => {
  expect(quoteLiteral(value)).toBe(quoted);
});

test("each part of a path is quoted by itself", () => {
  expect(quotePath(["lake", "my.schema", 't"x'])).toBe(`"lake"."my.schema"."t""x"`);
});
