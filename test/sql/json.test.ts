import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson, printJson } from "../../src/sql/json.js";

test.each([
  ["a place in the text that DuckDB does not know", `{"query_location":18446744073709551615}`],
  ["a constant of 128 bits", `{"value":-170141183460469231731687303715884105728}`],
  ["the first integer that a double can't hold", `[9007199254740993,-9007199254740993]`],
  ["an integer that a double can hold", `[9007199254740991,-9007199254740991,0,1]`],
  ["a fraction", `[0.1,1.5,-2.25]`],
  ["text, null and booleans", `{"a":"ü\\"\\n","b":null,"c":[true,false],"d":{}}`],
])("%s comes back as it was", (_, source) => {
  expect(printJson(parseJson(source))).toBe(source);
});

test("integers become bigint where a double can't hold them, else numbers", () => {
  expect(parseJson(`[18446744073709551615,9007199254740991]`)).toEqual([18446744073709551615n, 9007199254740991]);
});

test("any integer comes back digit by digit", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 127n), max: 2n ** 128n }), (value) => {
      expect(printJson(parseJson(`{"value":[${value}]}`))).toBe(`{"value":[${value}]}`);
    }),
  );
});

test("a double without a fraction stays a double", () => {
  const text = printJson(parseJson(`[1.0,10000000000.0,-3.0]`));
  expect(text).toMatch(/^\[1(\.0|e0),1(0000000000\.0|e10),-3(\.0|e0)\]$/i);
});
