/** What views may hold and how things may be named. */

import { expect, test } from "vitest";
import { quoteIdentifier } from "../../src/sql/quote.js";
import type { World } from "./world.js";

/** Expressions over `k`, of types that a lake can't hold or that a Parquet file gives back as another value. */
const STRANGE: Readonly<Record<string, string>> = {
  huge: "sum(k) OVER (PARTITION BY k) * 10000000000000000000",
  unsigned: "(k % 100 + 100)::UHUGEINT + 340282366920938463463374607431768211000",
  span: "to_microseconds(k) + INTERVAL 1 MONTH",
  zoned: "'12:00:00+05:30'::TIMETZ",
  fine: "'12:34:56.123456789'::TIME_NS",
  bits: "'10100000001'::BIT",
  choice: "(CASE WHEN k > 1 THEN 'a' ELSE 'b' END)::ENUM('a', 'b')",
  pair: "array_value(k, 2)",
  sums: "[sum(k) OVER (PARTITION BY k), NULL]",
  nested: "{'s': [to_microseconds(k)], 'e': {'x': 'a'::ENUM('a'), 'y': array_value(k::HUGEINT, 1)}}",
  map: "MAP {coalesce(k::VARCHAR, 'none'): to_seconds(k)}",
  number: "k::BIGNUM",
};

/** Types that a lake holds as they are, with two values each. */
const KEPT: Readonly<Record<string, readonly [string, string]>> = {
  DOUBLE: ["'NaN'", "-1e300"],
  "DECIMAL(38,10)": ["9999999999999999999999999999.9999999999", "-0.0000000001"],
  BLOB: ["'\\x00\\xFF'::BLOB", "''::BLOB"],
  TIMESTAMPTZ: ["'infinity'", "'2024-01-01 00:00:00+02'"],
  TIMESTAMP: ["'1969-12-31 23:59:59.999999'", "'2024-01-01'"],
  "INTEGER[]": ["[]", "[1, NULL]"],
  "STRUCT(a INTEGER, b VARCHAR[])": ["{'a': 1, 'b': ['x', NULL]}", "{'a': NULL, 'b': NULL}"],
  "MAP(VARCHAR, INTEGER)": ["MAP {'a': 1, 'b': NULL}", "MAP {}"],
  UUID: ["'00000000-0000-0000-0000-000000000001'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
  UBIGINT: ["18446744073709551615", "0"],
  JSON: ["'{\"a\": [1, \"''\"]}'", "'null'"],
  VARCHAR: ["'a''b\"c\\d\u{1F986}'", "''"],
};

/** Longer than a PostgreSQL identifier may be. */
const LONG = "long ".repeat(25).trim();

const NAMES: readonly string[] = [
  'quo"ted',
  "do.tted",
  "two words",
  "dŭck 鴨",
  "select",
  LONG,
  "O'Neill",
  "semi;colon--",
];

export function contentTests(world: () => World): void {
  test("values of types that storage changes keep their value and their type", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (k INTEGER)", "INSERT INTO t VALUES (1), (2), (2), (NULL)");
    const columns = Object.entries(STRANGE).map(([name, sql]) => `${sql} AS ${name}`);
    await w.build({
      strange: `SELECT k, ${columns.join(", ")} FROM t`,
      totals: `SELECT k % 2 AS k, sum(k) AS total, sum(k) + 1 AS more, min(to_hours(k % 1000)) AS shortest,
                 max(array_value(k, k)) AS largest, bit_xor(k::HUGEINT) AS mixed FROM t GROUP BY 1`,
      spans: "SELECT to_days(k) AS span, k::HUGEINT AS h, count(*) AS n FROM t GROUP BY ALL",
      above: "SELECT max(s.huge) AS huge, sum(t.total) AS total FROM strange s, totals t",
    });
    await w.sql("INSERT INTO t SELECT i::INTEGER FROM range(3, 20) r(i)", "DELETE FROM t WHERE k = 2");
    await w.refresh();
    await w.sql("INSERT INTO t VALUES (2147483647), (-2147483648), (NULL)", "DELETE FROM t WHERE k IN (3, 1)");
    await w.refresh();
    await w.verify();
    expect(await w.value("SELECT typeof(total) FROM totals LIMIT 1")).toBe("HUGEINT");
  });

  test("values of types that a lake holds, inlined and in files", async () => {
    const w = world();
    const types = Object.entries(KEPT);
    const names = types.map((_, index) => `c${index}`);
    const row = (id: string, pick: 0 | 1) => `(${[id, ...types.map(([, values]) => values[pick])].join(", ")})`;
    await w.sql(`CREATE TABLE t (id INTEGER, ${types.map(([type], index) => `c${index} ${type}`).join(", ")})`);
    await w.sql(`INSERT INTO t VALUES ${row("1", 0)}, ${row("2", 1)}`, "INSERT INTO t (id) VALUES (3)");
    await w.build({
      flat: "SELECT * FROM t",
      groups: `SELECT ${names.join(", ")}, count(*) AS n FROM t GROUP BY ALL`,
      extremes: `SELECT id % 2 AS k, ${names.map((name) => `max(${name}) AS ${name}`).join(", ")} FROM t GROUP BY 1`,
    });
    const values = row("i", 1).slice(1, -1);
    await w.sql(`INSERT INTO t SELECT ${values} FROM range(10, 30) r(i)`, "DELETE FROM t WHERE id = 1");
    await w.refresh();
    await w.sql(`CALL ducklake_flush_inlined_data('${w.alias}')`, `INSERT INTO t VALUES ${row("4", 0)}`);
    await w.sql("DELETE FROM t WHERE id BETWEEN 10 AND 28", "UPDATE t SET id = 5 WHERE id = 2");
    await w.refresh();
    await w.verify();
  });

  test("names of every kind, for tables, columns and views", async () => {
    const w = world();
    const q = quoteIdentifier;
    const views: Record<string, string> = {};
    for (const name of NAMES) {
      await w.sql(`CREATE TABLE ${q(`t ${name}`)} (${q(name)} INTEGER, ${q(`${name} 2`)} VARCHAR)`);
      await w.sql(`INSERT INTO ${q(`t ${name}`)} SELECT i, 'v' || i % 3 FROM range(15) r(i)`);
      views[name] = `SELECT ${q(`${name} 2`)}, sum(${q(name)}) AS ${q(`${name} sum`)}, count(*) AS ${q(`${name}.n`)}
                     FROM ${q(`t ${name}`)} GROUP BY 1`;
    }
    const all = NAMES.map(
      (name) => `SELECT ${q(`${name} 2`)} AS ${q("all names")} FROM ${q(name)} AS ${q(`${name}!`)}`,
    );
    views["all of them"] = all.join(" UNION ALL ");
    await w.build(views);
    for (const name of NAMES) {
      await w.sql(
        `INSERT INTO ${q(`t ${name}`)} VALUES (100, 'v9')`,
        `DELETE FROM ${q(`t ${name}`)} WHERE ${q(name)} < 3`,
      );
    }
    const result = await w.refresh();
    expect(result.views.map((view) => view.strategy)).toEqual(Object.keys(views).map(() => "incremental"));
    await w.verify();
    for (const view of await w.lake.status()) expect(view.state).toBe("fresh");
    const explained = await w.lake.explain('quo"ted');
    expect(explained.terms).toHaveLength(1);
  });

  test("plain views of the lake inside definitions", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (id INTEGER, v INTEGER)", "INSERT INTO t SELECT i, i % 4 FROM range(20) r(i)");
    const plain = [
      { name: "several", sql: "SELECT id AS number, v FROM t WHERE id > 3" },
      { name: "more", sql: "SELECT a.number, b.v FROM several a JOIN t b ON a.number = b.id" },
    ];
    for (const { name, sql } of plain) await w.sql(`CREATE VIEW ${name} AS ${sql}`);
    await w.define([
      { name: "over_plain", sql: "SELECT v, count(*) AS n FROM more m GROUP BY v" },
      { name: "over_both", sql: "SELECT o.n, s.number FROM over_plain o JOIN several s USING (v)" },
    ]);
    await w.refresh({}, plain);
    await w.sql("INSERT INTO t VALUES (50, 2), (51, NULL)", "DELETE FROM t WHERE id = 5");
    const result = await w.refresh({}, plain);
    expect(result.views.map((view) => view.strategy)).toEqual(["incremental", "incremental"]);
    expect(result.views[0]?.sources.map((source) => source.source)).toEqual(["main.t"]);
    await w.verify();
    await w.define([]);
    await w.sql("DROP VIEW more", "DROP VIEW several");
  });
}
