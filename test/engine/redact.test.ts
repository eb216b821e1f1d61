import { expect, test } from "vitest";
import { makeRedactor } from "../../src/engine/redact.js";
import { open } from "../../src/index.js";

test.each([
  ["postgres:dbname=x password=abc host=y", ["abc"]],
  ["postgres:dbname=x password = 'a b\\'c' host=y", ["a b\\'c"]],
  ["postgres:postgresql://me:pw%40x@db/x", ["pw%40x", "pw@x"]],
  // Not written as an address should be, which is when errors tell of it.
  ["postgres:postgresql://me:p@ss/w:rd@db/x", ["p@ss/w:rd"]],
  ["postgres:postgresql://me:two words@db/x", ["two words"]],
  ["postgres:postgresql://me:100%@db/x", ["100%"]],
])("what %s keeps secret is in no message", (catalog, secrets) => {
  const { redact } = makeRedactor({ catalog });
  for (const secret of secrets) expect(redact(`at "${secret}": refused`)).toBe('at "***": refused');
});

test("an address with a password that is written wrongly is an error without it", async () => {
  const catalog = "postgres:postgresql://me:p@ss/w:100%@127.0.0.1:1/x";
  const error = await open({ catalog, retryForMs: 0 }).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "catalog_unreachable" });
  expect((error as Error).stack).not.toMatch(/ss\/w/);
  expect(((error as Error).cause as Error).stack).not.toMatch(/ss\/w/);
});
