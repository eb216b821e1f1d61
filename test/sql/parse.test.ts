import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { DefinitionError } from "../../src/errors.js";
import { child, children, fingerprint, text } from "../../src/sql/ast.js";
import { parseSelect, printExpressions, printStatement } from "../../src/sql/parse.js";
import { memorySession } from "./engine.js";

let session: Session;
beforeAll(async () => {
  session = await memorySession();
});

async function failure(sql: string, origin: { file?: string; lineOffset?: number } = {}): Promise<DefinitionError> {
  const error = await parseSelect(session, sql, { view: "daily", ...origin }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DefinitionError)) throw new Error(`expected a DefinitionError, got ${String(error)}`);
  return error;
}

describe("a syntax error", () => {
  test.each([
    ["at the start", "SELEC 1", 1, 1],
    ["on the first line", "SELECT 1 FROM t WHERE WHERE", 1, 23],
    ["on a later line", "SELECT a\nFROM t\n  GROUP a", 3, 9],
    ["after characters of two bytes", "SELECT 'äöüß' AS s FROM t WHERE )", 1, 33],
    ["after characters of four bytes", "SELECT '🦆🦆' AS s FROM t WHERE )", 1, 31],
    ["on a line that starts with several bytes", "SELECT 1\n/* Größe */ FRM t x y", 2, 17],
    ["behind Windows line ends", "SELECT a\r\nFROM t\r\nGROUP a", 3, 7],
  ])("%s tells line and column in characters", async (_, sql, line, column) => {
    const error = await failure(sql);
    expect(error.code).toBe("syntax_error");
    expect(error.subject).toMatchObject({ view: "daily", line, lineColumn: column });
    expect(error.message).toContain(`daily`);
    expect(error.message).toContain(`at line ${line}, column ${column}`);
    expect(error.hint).toBeTruthy();
  });

  test("counts the lines of the file that stand before the SQL, and names the file", async () => {
    const error = await failure("SELECT 1\nFROM t WHERE )", { file: "views/daily.sql", lineOffset: 4 });
    expect(error.subject).toEqual({ view: "daily", file: "views/daily.sql", line: 6, lineColumn: 14 });
    expect(error.message).toContain("at line 6, column 14");
  });
});

test.each([
  ["INSERT", "INSERT INTO t VALUES (1)"],
  ["CREATE VIEW", "CREATE VIEW v AS SELECT 1"],
  ["DELETE", "DELETE FROM t"],
  ["two statements", "SELECT 1; SELECT 2"],
  ["a SELECT and another statement", "SELECT 1; DROP TABLE t"],
  ["nothing", ""],
  ["a comment alone", "-- SELECT 1"],
])("%s is not a SELECT", async (_, sql) => {
  const error = await failure(sql, { file: "views/daily.sql" });
  expect(error.code).toBe("not_a_select");
  expect(error.subject).toMatchObject({ view: "daily", file: "views/daily.sql" });
  expect(error.hint).toBeTruthy();
});

test.each([
  ["PIVOT t ON g USING count(*)", true],
  ["FROM (PIVOT t ON g USING count(*)) -- by g", true],
  ["WITH p AS (PIVOT t ON g USING count(*)) SELECT * FROM p;", true],
  ["INSERT INTO t VALUES ('PIVOT t ON g')", false],
  ["SELECT 1; DROP TABLE t", false],
])("%s is told to be a PIVOT without its values: %s", async (sql, pivot) => {
  const error = await failure(sql);
  expect(error.code).toBe("not_a_select");
  expect(error.message === "View daily: a PIVOT in a view must list its values.").toBe(pivot);
  expect(error.hint?.includes("IN ('a', 'b')")).toBe(pivot);
});

test.each([
  "SELECT 1;",
  "FROM t",
  "WITH x AS (SELECT 1 AS a) SELECT * FROM x",
  "SELECT 1 UNION ALL SELECT 2 ORDER BY 1",
  "SELECT 18446744073709551615, -9223372036854775808, 170141183460469231731687303715884105727, 9007199254740993",
  "SELECT 0.1, 12345678901234567890.12, 'ä''\"', DATE '2020-02-29', INTERVAL '3 days', '\\xAA'::BLOB",
  "SELECT a FROM s.t AS x AT (VERSION => 3) WHERE x.a IN (SELECT b FROM u)",
  "SELECT a, sum(b) FILTER (WHERE c > 1) FROM t GROUP BY ALL HAVING count(*) > 1 QUALIFY row_number() OVER (PARTITION BY a ORDER BY b DESC NULLS LAST) = 1",
  "SELECT list_transform(l, lambda x: x + 1), {'k': a}, [x + 1 FOR x IN l], s.f, l[1:2], MAP {'a': 1} FROM t",
  "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b), t.* FROM t LEFT JOIN u USING (k) NATURAL JOIN w, LATERAL (SELECT 1)",
])("%s is printed as SQL that means the same", async (sql) => {
  const statement = await parseSelect(session, sql, { view: "v" });
  const printed = await printStatement(session, statement);
  expect(fingerprint(await parseSelect(session, printed, { view: "v" }))).toBe(fingerprint(statement));
});

test("doubles are printed as doubles, to the last digit", async () => {
  const list = ["1e0", "1e10", "0.1e0", "1.5e-7", "1.7976931348623157e308", "-3e0"];
  const query = `SELECT ${list.map((text) => `typeof(${text}) || ' ' || CAST(${text} AS VARCHAR)`).join(", ")}`;
  const printed = await printStatement(session, await parseSelect(session, query, { view: "v" }));
  const values = async (sql: string) => Object.values(await session.row<Record<string, string>>(sql));
  expect(await values(printed)).toEqual(await values(query));
  expect((await values(printed)).filter((value) => !value.startsWith("DOUBLE "))).toEqual([]);
});

describe("printing expressions", () => {
  async function expressionsOf(list: string) {
    const statement = await parseSelect(session, `SELECT ${list}`, { view: "v" });
    return children(child(statement, "node"), "select_list");
  }

  test("keeps their order and leaves out aliases", async () => {
    const list = Array.from({ length: 30 }, (_, index) => `a + ${index} AS x${index}`).join(", ");
    const printed = await printExpressions(session, await expressionsOf(list));
    expect(printed).toEqual(Array.from({ length: 30 }, (_, index) => `(a + ${index})`));
  });

  test("takes one round trip for all of them and none for none", async () => {
    const expressions = await expressionsOf("a, b, sum(c)");
    const before = session.statements;
    expect(await printExpressions(session, expressions)).toHaveLength(3);
    expect(session.statements - before).toBe(1);
    expect(await printExpressions(session, [])).toEqual([]);
    expect(session.statements - before).toBe(1);
  });

  test("quotes names that are not plain", async () => {
    const [expression] = await expressionsOf(`"region#12" || "say ""hi"""`);
    if (expression === undefined) throw new Error("no expression");
    expect(text(expression, "class")).toBe("FUNCTION");
    expect(await printExpressions(session, [expression])).toEqual([`("region#12" || "say ""hi""")`]);
  });
});

test("constants that are infinite are printed as such, wherever they stand", async () => {
  const cell = fc.constantFrom("1e400", "-1e400", "1e308", "5", "NULL", "'Infinity'::DOUBLE", "1e400 - 1e400", "-1e0");
  const column = fc.oneof(
    cell,
    cell.map((value) => `[${value}, 2]`),
    cell.map((value) => `{'Infinity': ${value}}`),
    cell.map((value) => `coalesce(NULL, ${value}, 1e400)`),
    cell.map((value) => `(SELECT count(*) FROM (VALUES (1.5e0), (1e400)) t(v) WHERE v < ${value})`),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(column, { minLength: 1, maxLength: 4 }), async (columns) => {
      const sql = `SELECT ${columns.map((value, index) => `${value} AS c${index}`).join(", ")}`;
      const printed = await printStatement(session, await parseSelect(session, sql, { view: "v" }));
      const values = async (query: string) => session.rows(`SELECT CAST(q AS VARCHAR) AS q FROM (${query}) q`);
      expect(await values(printed)).toEqual(await values(sql));
    }),
    { numRuns: 60 },
  );
});

test("a PIVOT by an infinite value has the columns that DuckDB gives it", async () => {
  const sql =
    "FROM (VALUES ('inf'::DOUBLE), ('-inf'), (5)) t(v) PIVOT (count(*) FOR v IN (1e400, -1e400 AS low, 5 AS five))";
  const printed = await printStatement(session, await parseSelect(session, sql, { view: "v" }));
  expect(await session.rows(printed)).toEqual(await session.rows(sql));
});
