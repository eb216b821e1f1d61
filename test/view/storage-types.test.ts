import { beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { storageTypes } from "../../src/view/storage-types.js";
import { memorySession } from "../sql/engine.js";

let session: Session;
beforeAll(async () => {
  session = await memorySession();
});

test.each([
  ["BOOLEAN", "BOOLEAN"],
  ["BIGINT", "BIGINT"],
  ["UBIGINT", "UBIGINT"],
  ["DOUBLE", "DOUBLE"],
  ["DECIMAL(38,10)", "DECIMAL(38,10)"],
  ["VARCHAR", "VARCHAR"],
  ["BLOB", "BLOB"],
  ["UUID", "UUID"],
  ["DATE", "DATE"],
  ["TIMESTAMP_NS", "TIMESTAMP_NS"],
  ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE"],
  ["HUGEINT", "DECIMAL(38,0)"],
  ["UHUGEINT", "VARCHAR"],
  ["INTERVAL", "VARCHAR"],
  ["TIME WITH TIME ZONE", "VARCHAR"],
  ["TIME_NS", "VARCHAR"],
  ["BIT", "VARCHAR"],
  ["BIGNUM", "VARCHAR"],
  ["ENUM('a', 'it''s')", "VARCHAR"],
  ["INTEGER[]", "INTEGER[]"],
  ["HUGEINT[]", "DECIMAL(38,0)[]"],
  ["INTEGER[3]", "INTEGER[]"],
  ["INTERVAL[2][]", "VARCHAR[][]"],
  ['STRUCT(a INTEGER, "odd ""name" VARCHAR)', 'STRUCT(a INTEGER, "odd ""name" VARCHAR)'],
  ["STRUCT(a INTEGER, b HUGEINT)", 'STRUCT("a" INTEGER, "b" DECIMAL(38,0))'],
  ['STRUCT("odd ""name" INTERVAL[], b STRUCT(c BIT))', 'STRUCT("odd ""name" VARCHAR[], "b" STRUCT("c" VARCHAR))'],
  ["MAP(VARCHAR, INTEGER)", "MAP(VARCHAR, INTEGER)"],
  ["MAP(HUGEINT, STRUCT(x INTERVAL))", 'MAP(DECIMAL(38,0), STRUCT("x" VARCHAR))'],
])("%s is stored as %s", async (type, stored) => {
  expect(await storageTypes(session, [type])).toEqual([{ kind: "stored", type: stored }]);
});

test.each([
  "UNION(a INTEGER, b VARCHAR)",
  "UNION(a INTEGER)[]",
  "STRUCT(x UNION(a INTEGER))",
  "MAP(VARCHAR, UNION(a INTEGER))",
])("%s is refused", async (type) => {
  expect(await storageTypes(session, [type])).toEqual([{ kind: "refused", type }]);
});

test.each(["STRUCT(INTEGER, VARCHAR)", "STRUCT(a STRUCT(INTEGER, INTEGER))[]"])(
  "%s has no name in SQL",
  async (type) => {
    expect(await storageTypes(session, [type])).toEqual([{ kind: "unwritable", type }]);
  },
);

test("types are answered in their order", async () => {
  const found = await storageTypes(session, ["HUGEINT", "INTEGER", "UNION(a INTEGER)"]);
  expect(found.map((type) => `${type.kind} ${type.type}`)).toEqual([
    "stored DECIMAL(38,0)",
    "stored INTEGER",
    "refused UNION(a INTEGER)",
  ]);
});

describe("a value comes back from its stored form as it was", () => {
  test.each([
    ["HUGEINT", "-12345678901234567890123456789::HUGEINT"],
    ["UHUGEINT", "340282366920938463463374607431768211455::UHUGEINT"],
    ["INTERVAL", "INTERVAL '1 year 2 months 3 days 04:05:06.000007'"],
    ["TIME WITH TIME ZONE", "'01:02:03.000004+05:30'::TIMETZ"],
    ["TIME_NS", "'01:02:03.000000004'::TIME_NS"],
    ["BIT", "'0101'::BIT"],
    ["BIGNUM", "'123456789012345678901234567890123456789012'::BIGNUM"],
    ["ENUM('a', 'it''s')", "'it''s'::ENUM('a', 'it''s')"],
    ["INTEGER[3]", "[1, NULL, 3]::INTEGER[3]"],
    ["STRUCT(a INTERVAL[], b HUGEINT)", "{'a': [INTERVAL 1 DAY, NULL], 'b': -5::HUGEINT}"],
    ["MAP(INTERVAL, BIT)", "MAP {INTERVAL 90 MINUTE: '1'::BIT}"],
  ])("%s", async (type, value) => {
    const [storage] = await storageTypes(session, [type]);
    const row = await session.row<{ same: boolean; nulls: boolean }>(
      `SELECT CAST(CAST(v AS ${storage?.type}) AS ${type}) IS NOT DISTINCT FROM v AS same,
              CAST(CAST(NULL::${type} AS ${storage?.type}) AS ${type}) IS NULL AS nulls
       FROM (SELECT CAST(${value} AS ${type}) AS v)`,
    );
    expect(row).toEqual({ same: true, nulls: true });
  });
});
