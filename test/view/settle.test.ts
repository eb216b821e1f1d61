import { beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { parseSelect, printStatement } from "../../src/sql/parse.js";
import { settleOrder } from "../../src/view/settle.js";
import { memorySession } from "../sql/engine.js";

let session: Session;

beforeAll(async () => {
  session = await memorySession();
  await session.run("CREATE TABLE t(x INTEGER, y INTEGER, z INTEGER, s VARCHAR)");
});

async function settled(expression: string): Promise<string> {
  const statement = await parseSelect(session, `SELECT ${expression} AS a FROM t`, { view: "v" });
  const text = await printStatement(session, settleOrder(statement));
  return text.replace(/^SELECT (.*) AS a FROM t$/, "$1");
}

describe("an aggregate that depends on order gets one", () => {
  test.each([
    ["any_value(x)", "min(x)"],
    ["first(x) FILTER (WHERE y > 1)", "min(x) FILTER (WHERE (y > 1))"],
    ["list(x)", "list(x ORDER BY x ASC NULLS LAST)"],
    ["string_agg(DISTINCT s, ',')", "string_agg(DISTINCT s, ',' ORDER BY s ASC NULLS LAST)"],
    ["string_agg(s, ',' ORDER BY y DESC)", "string_agg(s, ',' ORDER BY y DESC, s ASC NULLS LAST)"],
    ["mode(x)", `"mode"(x ORDER BY x ASC NULLS LAST)`],
    ["arg_max(x, y, 2)", "arg_max(x, y, 2 ORDER BY x ASC NULLS LAST, y ASC NULLS LAST)"],
    ["first(x ORDER BY y, z DESC)", `"first"(x ORDER BY y, z DESC, x ASC NULLS LAST)`],
  ])("%s becomes %s", async (from, to) => {
    expect(await settled(from)).toBe(to);
  });

  test.each([
    "sum(x)",
    "list_sort(list(x))",
    "list(x ORDER BY x DESC)",
    "string_agg('a', ',')",
    "median(x)",
    "first(x) OVER (ORDER BY y)",
  ])("%s stays as it is", async (expression) => {
    const statement = await parseSelect(session, `SELECT ${expression} AS a FROM t`, { view: "v" });
    expect(settleOrder(statement)).toBe(statement);
  });
});

test.each([
  ["SELECT list(x) AS l FROM t ORDER BY 1", true],
  ["SELECT list(x) AS l FROM (SELECT x FROM t ORDER BY y)", false],
  ["WITH u AS (SELECT x FROM t ORDER BY y LIMIT 3) SELECT first(x) AS l FROM u", false],
  ["SELECT * FROM (SELECT y, any_value(x) AS l FROM t GROUP BY y)", true],
])("rows of a subquery in an order are taken in it: %s", async (sql, settles) => {
  const statement = await parseSelect(session, sql, { view: "v" });
  expect(settleOrder(statement) !== statement).toBe(settles);
});

/** Rows in which every pick has one answer, NULLs in all places. */
const ROWS = [
  "(1, 5, 1, 'a'), (2, 7, 2, 'b'), (3, 1, 3, 'c')",
  "(1, NULL, 1, 'a'), (NULL, 9, 2, 'b'), (2, 3, 3, 'c'), (9, 8, 4, 'd'), (NULL, 0, 0, NULL)",
  "(1, NULL, NULL, 'a')",
  "(NULL, 5, 1, NULL), (NULL, 9, 2, NULL)",
  "(4, 1, 1, 'b')",
];

describe("the order chooses among the answers that DuckDB may give", () => {
  const picks = [
    ...["arg_min", "argmin", "min_by", "arg_max", "argmax", "max_by"].map((name) => `${name}(x, y)`),
    ...["arg_min_null", "arg_max_null", "arg_min_nulls_last", "arg_max_nulls_last"].map((name) => `${name}(x, y)`),
    ...["first", "last", "any_value"].flatMap((name) =>
      ["y", "y DESC", "y NULLS FIRST", "y DESC NULLS FIRST", "y, z", "y DESC, z DESC NULLS FIRST"].map(
        (order) => `${name}(x ORDER BY ${order})`,
      ),
    ),
    "arg_max(s, y) FILTER (WHERE z < 3)",
    "arg_max(x, (y, z))",
    "arg_min_null(s, (z, y))",
    "first(s ORDER BY y DESC) FILTER (WHERE y IS NOT NULL)",
  ];

  test.each(picks)("%s is the same where there is one answer", async (pick) => {
    const other = await settled(pick);
    expect(other).toMatch(/min\(|max\(/);
    expect(other).not.toBe(pick);
    for (const rows of ROWS) {
      await session.run("DELETE FROM t");
      await session.run(`INSERT INTO t VALUES ${rows}`);
      const row = await session.row(`SELECT (${pick}) IS NOT DISTINCT FROM (${other}) AS same FROM t`);
      expect([rows, row]).toEqual([rows, { same: true }]);
    }
  });

  test.each([
    ["arg_max(x, y)", 3],
    ["arg_min(x, y)", 1],
    ["arg_max_null(x, y)", null],
    ["first(x ORDER BY y)", 1],
    ["last(x ORDER BY y)", null],
    ["any_value(x ORDER BY y DESC)", 3],
  ])("%s of rows that are alike in y picks by x", async (pick, expected) => {
    const other = await settled(pick);
    await session.run("DELETE FROM t");
    await session.run("INSERT INTO t VALUES (2, 1, 0, ''), (3, 1, 0, ''), (NULL, 1, 0, ''), (1, 1, 0, '')");
    expect(await session.row(`SELECT ${other} AS picked FROM t`)).toEqual({ picked: expected });
  });
});
