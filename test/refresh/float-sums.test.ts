import { expect, test } from "vitest";
import { SharedLake } from "../setup/shared-lake.js";

const shared = new SharedLake({ engine: { threads: 1 } });

test("float_sums: fold adds and takes away, and rounds where reading anew does not", async () => {
  await shared.rows("CREATE TABLE t(k INTEGER, x DOUBLE)");
  await shared.rows("INSERT INTO t VALUES (1, 1), (2, 2), (2, 0.5)");
  const sql = "SELECT k, sum(x) AS s, avg(x) AS a FROM t GROUP BY k";
  await shared.lake.define([
    { name: "anew", sql },
    { name: "folded", sql, floatSums: "fold" },
  ]);
  await shared.lake.refresh();
  await shared.rows("INSERT INTO t VALUES (1, 1e20), (2, 1.5)");
  await shared.lake.refresh();
  await shared.rows("DELETE FROM t WHERE x = 1e20");
  await shared.lake.refresh();
  expect(await shared.rows("FROM anew ORDER BY k")).toEqual([
    [1, 1, 1],
    [2, 4, 4 / 3],
  ]);
  // (1 + 1e20) - 1e20, which `verify` finds.
  expect(await shared.rows("FROM folded ORDER BY k")).toEqual([
    [1, 0, 0],
    [2, 4, 4 / 3],
  ]);
  expect((await shared.lake.verify()).map((result) => [result.view, result.ok])).toEqual([
    ["anew", true],
    ["folded", false],
  ]);
});
