import fc from "fast-check";
import { expect, test } from "vitest";
import { infinity, parseJson, printJson } from "../../src/sql/json.js";

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

test("infinity, which DuckDB writes as a word, is a number; the word inside text stays", () => {
  const parsed = parseJson(String.raw`{"a":Infinity,"b":[-Infinity,1.5],"c":"Infinity \" -Infinity\\","d":"\\"}`);
  const { a, b, c, d } = parsed as { a: never; b: never[]; c: string; d: string };
  expect([a, ...b, 1, undefined].map(infinity)).toEqual([1, -1, 0, 0, 0]);
  expect([c, d]).toEqual(['Infinity " -Infinity\\', "\\"]);
  expect(printJson(parseJson(printJson(parsed)))).toBe(printJson(parsed));
});

test("any text comes back as it was, beside infinity too", () => {
  const piece = fc.oneof(fc.string(), fc.constantFrom("Infinity", "-Infinity", '"', "\\", "1e999", ":"));
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = JSON.stringify(pieces.join(""));
      const parsed = parseJson(`{${text}:Infinity,"k":[${text},-Infinity]}`) as Record<string, never>;
      if (pieces.join("") === "k") return;
      expect(parsed["k"]?.[0]).toBe(pieces.join(""));
      expect(infinity(parsed["k"]?.[1])).toBe(-1);
      expect(infinity(parsed[pieces.join("")])).toBe(1);
    }),
  );
});
