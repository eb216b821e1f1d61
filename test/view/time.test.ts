import { beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { type FunctionCatalog, loadFunctions } from "../../src/sql/functions.js";
import { parseSelect, printStatement } from "../../src/sql/parse.js";
import { columnNames, pinTime, usesTime } from "../../src/view/time.js";
import { memorySession } from "../sql/engine.js";

let session: Session;
let functions: FunctionCatalog;
beforeAll(async () => {
  session = await memorySession();
  await session.run("CREATE TABLE t (a INTEGER, moment TIMESTAMP)");
  await session.run("INSERT INTO t VALUES (1, TIMESTAMP '2020-01-01 00:00:00')");
  functions = await loadFunctions(session);
});

const INSTANT = "2021-06-07 10:20:30.123456+00";

async function asksTime(sql: string, columns: readonly string[] = ["a", "moment"]): Promise<boolean> {
  return usesTime(await parseSelect(session, sql, { view: "v" }), functions, new Set(columns));
}

describe("a definition asks for the time", () => {
  test.each([
    "SELECT now()",
    "SELECT NOW() FROM t",
    "SELECT current_timestamp",
    "SELECT CURRENT_DATE FROM t",
    "SELECT current_time, localtime, localtimestamp",
    "SELECT today()",
    "SELECT get_current_timestamp()",
    "SELECT transaction_timestamp()",
    "SELECT a FROM t WHERE moment < now() - INTERVAL 1 DAY",
    "SELECT a FROM (SELECT * FROM t WHERE moment::DATE = current_date)",
    "WITH x AS (SELECT now() AS n) SELECT 1",
    "SELECT age(moment) FROM t",
  ])("%s", async (sql) => {
    expect(await asksTime(sql)).toBe(true);
  });

  test.each([
    "SELECT a, moment FROM t",
    "SELECT age(moment, TIMESTAMP '2020-01-01') FROM t",
    "SELECT date_trunc('day', moment) FROM t",
    "SELECT 'now()' AS current_text FROM t",
    "SELECT t.current_date FROM t",
  ])("but not %s", async (sql) => {
    expect(await asksTime(sql)).toBe(false);
  });

  test("and a column of that name means the column", async () => {
    expect(await asksTime("SELECT current_date FROM t", ["current_date"])).toBe(false);
    expect(await asksTime("SELECT current_date FROM t", ["a"])).toBe(true);
    // A function is one whatever the columns are called.
    expect(await asksTime("SELECT now() FROM t", ["now"])).toBe(true);
  });
});

test("the names of all columns of all sources count, without case", () => {
  const sources = [{ columns: [{ name: "A" }, { name: "b" }] }, { columns: [{ name: "Current_Date" }] }];
  expect(columnNames(sources)).toEqual(new Set(["a", "b", "current_date"]));
});

describe("with the time pinned", () => {
  async function pinned(sql: string, columns: readonly string[] = ["a", "moment"]): Promise<Record<string, unknown>> {
    const statement = pinTime(await parseSelect(session, sql, { view: "v" }), INSTANT, new Set(columns));
    return session.row(await printStatement(session, statement));
  }

  test.each([
    ["now()", "TIMESTAMP WITH TIME ZONE", `TIMESTAMPTZ '${INSTANT}'`],
    ["current_timestamp", "TIMESTAMP WITH TIME ZONE", `TIMESTAMPTZ '${INSTANT}'`],
    ["get_current_timestamp()", "TIMESTAMP WITH TIME ZONE", `TIMESTAMPTZ '${INSTANT}'`],
    ["transaction_timestamp()", "TIMESTAMP WITH TIME ZONE", `TIMESTAMPTZ '${INSTANT}'`],
    ["current_date", "DATE", `TIMESTAMPTZ '${INSTANT}'::DATE`],
    ["today()", "DATE", `TIMESTAMPTZ '${INSTANT}'::DATE`],
    ["localtimestamp", "TIMESTAMP", `TIMESTAMPTZ '${INSTANT}'::TIMESTAMP`],
    ["localtime", "TIME", `TIMESTAMPTZ '${INSTANT}'::TIMESTAMP::TIME`],
    ["current_time", "TIME WITH TIME ZONE", `TIMESTAMPTZ '${INSTANT}'::TIMETZ`],
    [
      "age(TIMESTAMP '2021-06-01 12:00:00')",
      "INTERVAL",
      `age(TIMESTAMPTZ '${INSTANT}'::DATE::TIMESTAMP, TIMESTAMP '2021-06-01 12:00:00')`,
    ],
  ])("%s is the instant's, and of DuckDB's own type", async (question, type, answer) => {
    await session.run("SET TimeZone = 'America/New_York'");
    const row = await pinned(
      `SELECT typeof(x) AS type, x IS NOT DISTINCT FROM ${answer} AS same FROM (SELECT ${question} AS x)`,
    );
    expect(row).toEqual({ type, same: true });
    expect(await session.row(`SELECT typeof(${question}) AS type`)).toEqual({ type });
    await session.run("RESET TimeZone");
  });

  test("every place has the same answer, and columns keep their names", async () => {
    const row = await pinned(
      "WITH x AS (SELECT now() AS n) SELECT n = now() AS same, now() AS instant FROM x WHERE EXISTS (SELECT 1 FROM t WHERE moment < current_timestamp)",
    );
    expect(Object.keys(row)).toEqual(["same", "instant"]);
    expect(row["same"]).toBe(true);
  });

  test("a column with a name like the time's stays a column", async () => {
    const sql = "SELECT current_date AS x FROM (SELECT 5 AS current_date)";
    expect(await pinned(sql, ["current_date"])).toEqual({ x: 5 });
  });

  test("time inside of age() is pinned too", async () => {
    const row = await pinned("SELECT age(now()::TIMESTAMP) AS x");
    const [expected] = await session.rows<{ x: unknown }>(
      `SELECT age(TIMESTAMPTZ '${INSTANT}'::DATE::TIMESTAMP, TIMESTAMPTZ '${INSTANT}'::TIMESTAMP) AS x`,
    );
    expect(row).toEqual(expected);
  });
});
