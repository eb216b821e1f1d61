import { afterAll, beforeAll, expect, test } from "vitest";
import type { Lake } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

const place = OpenLake.start({ engine: { threads: 1 } });
let lake: Lake;
let rows: (sql: string) => Promise<unknown[][]>;

beforeAll(async () => {
  const opened = await place;
  lake = opened.lake;
  rows = (sql) => opened.rows(sql);
});

afterAll(async () => (await place)[Symbol.asyncDispose]());

test("float_sums: fold adds and takes away, and rounds where reading anew does not", async () => {
  await rows("CREATE TABLE t(k INTEGER, x DOUBLE)");
  await rows("INSERT INTO t VALUES (1, 1), (2, 2), (2, 0.5)");
  const sql = "SELECT k, sum(x) AS s, avg(x) AS a FROM t GROUP BY k";
  await lake.define([
    { name: "anew", sql },
    { name: "folded", sql, floatSums: "fold" },
  ]);
  await lake.refresh();
  await rows("INSERT INTO t VALUES (1, 1e20), (2, 1.5)");
  await lake.refresh();
  await rows("DELETE FROM t WHERE x = 1e20");
  await lake.refresh();
  expect(await rows("FROM anew ORDER BY k")).toEqual([
    [1, 1, 1],
    [2, 4, 4 / 3],
  ]);
  // (1 + 1e20) - 1e20, which `verify` finds.
  expect(await rows("FROM folded ORDER BY k")).toEqual([
    [1, 0, 0],
    [2, 4, 4 / 3],
  ]);
  expect((await lake.verify()).map((result) => [result.view, result.ok])).toEqual([
    ["anew", true],
    ["folded", false],
  ]);
});
