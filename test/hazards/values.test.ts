/** Values and types that storage changes, and constants that JSON changes. */

import { expect, test } from "vitest";
import { IvmError } from "../../src/index.js";
import { Scene } from "./scene.js";

test("sums of integers beyond 2^53 keep their digits and their type", async () => {
  await using scene = await Scene.start({ inlining: 0 });
  await scene.sql("CREATE TABLE t(k INT, v BIGINT)");
  await scene.sql("INSERT INTO t VALUES (1, 9223372036854775807), (1, 9223372036854775806), (2, -9223372036854775808)");
  await scene.define({
    totals: "SELECT k, SUM(v) AS s, SUM(v) * 1000 AS t, AVG(v) AS a FROM t GROUP BY k",
    above: "SELECT SUM(s) AS s, MIN(s) AS low, MAX(t) AS high FROM totals",
  });
  expect(await scene.value("SELECT typeof(s) FROM totals LIMIT 1")).toBe("HUGEINT");
  await scene.sql("INSERT INTO t VALUES (1, 9007199254740993), (3, 1)", "DELETE FROM t WHERE k = 2");
  await scene.refresh();
  expect(await scene.value("SELECT s::VARCHAR FROM totals WHERE k = 1")).toBe("18455751272964292606");
});

test("constants beyond 2^53 in a definition", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(k BIGINT)", "INSERT INTO t VALUES (1), (9007199254740993)");
  await scene.define({
    constants:
      "SELECT k, k = 9007199254740993 AS same, 9223372036854775807 AS big, 18446744073709551617 AS huge, " +
      "123456789012345678901234567890.123456 AS fine, 0.1 AS tenth FROM t WHERE k <> 9007199254740992",
  });
  await scene.sql("INSERT INTO t VALUES (9007199254740992), (9007199254740993)");
  await scene.refresh();
  expect(await scene.value("SELECT count(*) FROM constants WHERE same")).toBe("2");
});

test("a table of wide integers", async () => {
  await using scene = await Scene.start();
  await scene.sql(
    "CREATE TABLE t(k INT, v HUGEINT, u UHUGEINT)",
    "INSERT INTO t VALUES (1, 5, 5), (2, -7, 7), (2, NULL, NULL)",
  );
  await scene.define({ flat: "SELECT v, u FROM t", totals: "SELECT k, SUM(v) AS s, MAX(u) AS m FROM t GROUP BY k" });
  await scene.sql(
    "CALL ducklake_flush_inlined_data('lake')",
    "INSERT INTO t VALUES (1, 6, 6)",
    "DELETE FROM t WHERE v = -7",
  );
  await scene.refresh();
});

/** Types that a lake can hold. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  DOUBLE: ["'NaN'", "'Infinity'", "'-Infinity'", "1e300", "0.5"],
  FLOAT: ["'NaN'", "1.5"],
  "DECIMAL(38,10)": ["9999999999999999999999999999.9999999999", "-0.0000000001"],
  BLOB: ["'\\x00\\xFF'::BLOB", "''::BLOB"],
  TIMESTAMPTZ: ["'infinity'", "'-infinity'", "'2024-01-01 00:00:00+02'"],
  TIMESTAMP_NS: ["'2024-01-01 00:00:00.123456789'"],
  TIME: ["'12:34:56.789012'"],
  UUID: ["'00000000-0000-0000-0000-000000000001'"],
  "INTEGER[]": ["[]", "[1, NULL]"],
  "STRUCT(a INTEGER, b VARCHAR[])": ["{'a': 1, 'b': ['x', NULL]}", "{'a': NULL, 'b': NULL}"],
  "MAP(VARCHAR, INTEGER)": ["MAP {'a': 1, 'b': NULL}", "MAP {}"],
  UBIGINT: ["18446744073709551615"],
  JSON: ["'{\"a\": 1}'"],
};

test.each(Object.entries(KEPT))("values of type %s pass through, are grouped by and go again", async (type, values) => {
  await using scene = await Scene.start();
  const rows = values.flatMap((value, index) => [`(${index}, ${value})`, `(${index}, ${value})`]);
  await scene.sql(
    `CREATE TABLE t(id INT, v ${type})`,
    `INSERT INTO t VALUES ${rows.join(", ")}, (90, NULL), (91, NULL)`,
  );
  await scene.define({ flat: "SELECT v FROM t", totals: "SELECT v, COUNT(*) AS n FROM t GROUP BY v" });
  await scene.sql("DELETE FROM t WHERE id IN (0, 90)", `INSERT INTO t VALUES (50, ${values[0]})`);
  await scene.refresh();
  await scene.sql(
    "CALL ducklake_flush_inlined_data('lake')",
    "DELETE FROM t WHERE id IN (1, 91)",
    "UPDATE t SET v = NULL",
  );
  await scene.refresh();
});

/** Expressions of types that a lake can't hold, or that come back from a file as another value. */
const STRANGE: Readonly<Record<string, string>> = {
  INTERVAL: "to_microseconds(k) + INTERVAL 1 MONTH",
  UHUGEINT: "k::UHUGEINT + 340282366920938463463374607431768211000",
  "TIME WITH TIME ZONE": "'12:00:00+05:30'::TIMETZ",
  TIME_NS: "'12:34:56.123456789'::TIME_NS",
  BIT: "'101'::BIT",
  ENUM: "(CASE WHEN k > 1 THEN 'a' ELSE 'b' END)::ENUM('a', 'b')",
  "INTEGER[2]": "array_value(k, 2)",
  "list of sums": "[SUM(k) OVER ()]",
  "struct of sums": "{'s': SUM(k) OVER (), 'i': to_microseconds(k)}",
  BIGNUM: "k::BIGNUM",
  UNION: "union_value(num := k)",
};

test.each(Object.entries(STRANGE))("a column of type %s has the right value, or is refused by name", async (_, sql) => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(k INTEGER)", "INSERT INTO t VALUES (1), (2), (2), (NULL)");
  try {
    await scene.define({ odd: `SELECT k, ${sql} AS strange FROM t` });
  } catch (error) {
    if (!(error instanceof IvmError)) throw error;
    expect(error.code).toBe("type_refused");
    expect(error.message).toContain("strange");
    expect(error.hint).toMatch(/[Cc]ast/);
    return;
  }
  await scene.sql("INSERT INTO t SELECT i::INTEGER FROM range(3, 20) r(i)", "DELETE FROM t WHERE k = 2");
  await scene.refresh();
});

test("a zero that changes its sign", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(id INT, v DOUBLE)", "INSERT INTO t VALUES (1, -0.0), (2, 1.5)");
  await scene.define({ flat: "SELECT id, v, v::VARCHAR AS text, 1 / v AS inverse FROM t" });
  await scene.sql("UPDATE t SET v = 0.0 WHERE id = 1");
  await scene.refresh();
  expect(await scene.value("SELECT text FROM flat WHERE id = 1")).toBe("0.0");
});

test.each([0, 10])("a value becomes another one that DuckDB takes for it (inlining %i)", async (inlining) => {
  await using scene = await Scene.start({ inlining });
  await scene.sql(
    "CREATE TABLE t(id INT, v DOUBLE, i INTERVAL, s STRUCT(v FLOAT))",
    "INSERT INTO t VALUES (1, 0.0, INTERVAL 30 DAY, {'v': 0.0}), (2, 1.5, INTERVAL 1 DAY, NULL)",
  );
  const parts = "SELECT id, signbit(v) AS negative, extract(day FROM i) AS days, s::VARCHAR AS s FROM t";
  const texts = "SELECT v::VARCHAR AS v, i::VARCHAR AS i, count(*) AS n FROM t GROUP BY ALL";
  const alone = { name: "parts", sql: parts, refresh: "incremental" } as const;
  for (const definitions of [[alone], [alone, { name: "texts", sql: texts, refresh: "incremental" } as const]]) {
    await scene.lake.define(definitions);
    await scene.sql("UPDATE t SET v = 0.0, i = INTERVAL 30 DAY, s = {'v': 0.0} WHERE id = 1");
    await scene.refresh();
    await scene.sql("UPDATE t SET v = '-0.0', i = INTERVAL 1 MONTH, s = {'v': '-0.0'} WHERE id = 1");
    const { views } = await scene.refresh();
    expect(views.map((view) => view.strategy)).toEqual(definitions.map(() => "incremental"));
    expect(await scene.rows("parts")).toEqual(["(1, true, 0, {'v': -0.0})", "(2, false, 1, NULL)"]);
  }
  expect(await scene.rows("texts")).toEqual(["(-0.0, 1 month, 1)", "(1.5, 1 day, 1)"]);
});

test("infinities and NaN leave a sum again", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t(k INT, v DOUBLE)");
  await scene.sql("INSERT INTO t VALUES (1, 1.5), (1, 'NaN'), (2, 'inf'), (2, '-inf'), (2, 4.0), (3, 1e300), (3, 1.0)");
  await scene.define({
    totals: "SELECT k, SUM(v) AS s, AVG(v) AS a, MIN(v) AS low, MAX(v) AS high FROM t GROUP BY k",
    total: "SELECT SUM(v) AS s, AVG(v) AS a FROM t WHERE v < 1e20",
  });
  await scene.sql("DELETE FROM t WHERE isnan(v) OR v = 'inf'");
  await scene.refresh();
  await scene.sql("DELETE FROM t WHERE isinf(v) OR v = 1e300");
  await scene.refresh();
  expect(await scene.rows("totals")).toEqual([
    "(1, 1.5, 1.5, 1.5, 1.5)",
    "(2, 4.0, 4.0, 4.0, 4.0)",
    "(3, 1.0, 1.0, 1.0, 1.0)",
  ]);
});

test("decimals as large as they come", async () => {
  await using scene = await Scene.start();
  const most = "99999999999999999999999999999999999999";
  await scene.sql("CREATE TABLE t(k INT, v DECIMAL(38,0))", `INSERT INTO t VALUES (1, ${most}), (2, -${most})`);
  await scene.define({ totals: "SELECT k, SUM(v) AS s, MAX(v) AS m FROM t GROUP BY k" });
  await scene.sql(`UPDATE t SET k = 3 - k`);
  await scene.refresh();
});
