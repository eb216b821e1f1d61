import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lake, open } from "../../src/index.js";
import { aggregateClasses } from "../../src/plan/aggregate-classes.js";
import { differences } from "../oracle/compare.js";
import { tempLake } from "../setup/lake.js";

/**
 * Every aggregate of DuckDB through a history of changes in a lake: alone, with FILTER, DISTINCT and ORDER BY, by
 * groups and without. Each view is compared with its own query after each refresh.
 */

/** Arguments, for each aggregate, that have one answer whatever the order of the rows. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  count: ["s", "*", "x", "i + n"],
  count_star: [""],
  sum: ["i", "b", "d", "f", "n"],
  avg: ["i", "b", "d", "n"],
  mean: ["i"],
  bool_and: ["f", "i > 2"],
  bool_or: ["f", "i > 4"],
  count_if: ["f", "i > 2"],
  countif: ["f"],
  bit_xor: ["i", "u", "b", "-i"],
  bit_and: ["i", "u", "-i"],
  bit_or: ["i", "u", "-b"],
  regr_count: ["i, d", "x, u"],
  min: ["i", "s", "x", "d", "ts", "l"],
  max: ["i", "s", "x", "d", "ts", "l"],
  any_value: ["1 + 0 * coalesce(i, 0)"],
  arbitrary: ["1 + 0 * coalesce(i, 0)"],
  first: ["1 + 0 * coalesce(i, 0)"],
  last: ["1 + 0 * coalesce(i, 0)"],
  median: ["i", "d"],
  mad: ["x"],
  approx_count_distinct: ["s"],
  bitstring_agg: ["u, 0, 255"],
  entropy: ["s"],
  favg: ["x"],
  fsum: ["x"],
  kahan_sum: ["x"],
  sumkahan: ["x"],
  histogram: ["i"],
  histogram_exact: ["i, [0, 1, 2]"],
  kurtosis: ["i"],
  kurtosis_pop: ["i"],
  skewness: ["i"],
  product: ["i"],
  quantile: ["i, 0.3"],
  quantile_cont: ["i, 0.3", "d, [0.1, 0.5]"],
  quantile_disc: ["s, 0.3"],
  ...Object.fromEntries(
    ["var_samp", "var_pop", "variance", "stddev", "stddev_samp", "stddev_pop", "sem"].map((name) => [
      name,
      ["i", "d", "b"],
    ]),
  ),
  ...Object.fromEntries(
    [
      ...["covar_pop", "covar_samp", "corr", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy"],
      ...["regr_slope", "regr_intercept", "regr_r2"],
    ].map((name) => [name, ["i, d", "b, n"]]),
  ),
  ...Object.fromEntries(
    ["arg_min", "argmin", "min_by", "arg_max", "argmax", "max_by", "arg_min_null", "arg_max_null"]
      .concat(["arg_min_nulls_last", "arg_max_nulls_last"])
      .map((name) => [name, ["s, (i, s)", "d, (ts, d)"]]),
  ),
};

/** Aggregates in an order that leaves nothing open. */
const ORDERED: Readonly<Record<string, readonly string[]>> = {
  list: ["i ORDER BY i", "s ORDER BY s DESC NULLS FIRST"],
  array_agg: ["s ORDER BY i, s"],
  string_agg: ["s, ',' ORDER BY s", "s, ',' ORDER BY i DESC, s"],
  group_concat: ["s ORDER BY s"],
  listagg: ["s ORDER BY s"],
  mode: ["i ORDER BY i", "s ORDER BY s DESC"],
  approx_quantile: ["i, 0.5 ORDER BY i"],
  approx_top_k: ["i, 2 ORDER BY i"],
  reservoir_quantile: ["i, 0.5 ORDER BY i"],
  any_value: ["s ORDER BY i, s", "s ORDER BY i DESC, s DESC"],
  first: ["s ORDER BY i, s", "s ORDER BY i DESC NULLS FIRST, s DESC"],
  last: ["s ORDER BY i, s", "s ORDER BY ts NULLS FIRST, s NULLS FIRST"],
  arg_min: ["s, i ORDER BY s"],
  arg_max: ["s, i ORDER BY s DESC"],
  sum: ["i ORDER BY s"],
  count: ["i ORDER BY s"],
};

/** Of aggregates that are folded or extended, what is read anew for its types or modifiers. */
const READ_ANEW: readonly string[] = [
  ...["sum(x)", "sum(h)", "avg(x)", "avg(h)", "var_samp(x)", "stddev_pop(x)", "covar_pop(x, i)", "corr(i, x)"],
  ...["bit_and(h)", "max(i, 2)", "min(s, 2)", "arg_max(s, (i, s), 2)", "first(s ORDER BY i, s DESC)"],
  ...[
    "var_pop(DISTINCT i)",
    "corr(DISTINCT i, d)",
    "count_if(DISTINCT f)",
    "regr_count(DISTINCT i, d)",
    "sum(DISTINCT x)",
  ],
];

/** Not to be called by users, or window functions only. */
const LEFT_OUT = ["sum_no_overflow", ...aggregateClasses().flatMap((a) => (a.class === "window" ? [a.name] : []))];
/** With ORDER BY, DISTINCT values can be ordered by themselves only. */
const DISTINCT_LEFT_OUT = new Set(["count_star", "list", "array_agg", "string_agg", "group_concat", "listagg"]);

/** Folded aggregates whose distinct values are counted, or do not matter. */
const COUNTED = new Set(["count", "sum", "avg", "mean", "bit_xor", "bool_and", "bool_or"]);

interface View {
  readonly name: string;
  readonly sql: string;
}

/** Views of aggregates of one class each: one that is read anew would have its neighbours read anew too. */
function views(): View[] {
  const named = new Map<string, string[]>();
  const add = (view: string, call: string): void => {
    named.set(view, [...(named.get(view) ?? []), call]);
  };
  for (const { name, class: kind } of aggregateClasses()) {
    for (const call of CALLS[name] ?? []) {
      add(`${kind}_plain`, `${name}(${call})`);
      add(`${kind}_filter`, `${name}(${call}) FILTER (WHERE i > 1 OR s = 'a')`);
      if (DISTINCT_LEFT_OUT.has(name) || call === "*") continue;
      if (kind !== "folded" || COUNTED.has(name)) add(`${kind}_distinct`, `${name}(DISTINCT ${call})`);
      if (COUNTED.has(name)) add("folded_distinct", `${name}(DISTINCT ${call}) FILTER (WHERE i > 1)`);
    }
    for (const call of ORDERED[name] ?? []) add(`${kind}_ordered`, `${name}(${call})`);
  }
  named.set("anew", [...READ_ANEW]);
  return [...named].flatMap(([view, calls]) => {
    const list = calls.map((call, index) => `${call} AS c${index}`).join(", ");
    const grouped = { name: `${view}_by`, sql: `SELECT g, ${list} FROM t GROUP BY g` };
    const one = { name: `${view}_all`, sql: `SELECT ${list} FROM t${view.includes("plain") ? " WHERE g = 1" : ""}` };
    if (/plain$|^folded_distinct$/.test(view)) return [grouped, one];
    return view.endsWith("ordered") ? [one] : [grouped];
  });
}

/** Numbers from a seed, so that a failure can be repeated. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    yield state >> 8;
  }
}

class History {
  private readonly random: Generator<number, never>;

  constructor(seed: number) {
    this.random = numbers(seed);
  }

  below(limit: number): number {
    return this.random.next().value % limit;
  }

  /** A row; every value may be NULL, and small ranges make many copies. */
  row(): string {
    const or = (value: string): string => (this.below(6) === 0 ? "NULL" : value);
    const i = this.below(7);
    return `(${or(String(this.below(4)))}, ${or(String(i))}, ${or(String(this.below(40) - 20))}, ${or(`${i}000000000000`)}, ${or(`${this.below(90) - 40}.25`)}, ${or(`${this.below(16)}.5`)}, ${or(`'${"abcd"[this.below(4)]}'`)}, ${or(this.below(2) === 0 ? "true" : "false")}, ${or(`TIMESTAMP '2020-01-0${1 + this.below(9)}'`)}, ${or(String(this.below(256)))}, ${or(String(this.below(9)))}, ${or(`[${this.below(3)}, ${i}]`)})`;
  }

  change(): string[] {
    const rows = (count: number): string =>
      `INSERT INTO t VALUES ${Array.from({ length: count }, () => this.row()).join(", ")}`;
    switch (this.below(6)) {
      case 0:
        return [rows(1 + this.below(4))];
      case 1:
        return [`DELETE FROM t WHERE i = ${this.below(7)}`, rows(2)];
      case 2:
        return [`DELETE FROM t WHERE g = ${this.below(4)} OR g IS NULL`];
      case 3:
        return [`UPDATE t SET i = ${this.below(7)}, s = 'e' WHERE u % 5 = ${this.below(5)}`];
      case 4:
        return [`INSERT INTO t SELECT * FROM t WHERE i = ${this.below(7)}`, rows(3)];
      default:
        return [`UPDATE t SET x = NULL, d = d + 1, f = NOT f WHERE n > ${this.below(20)}`, rows(1)];
    }
  }
}

let lake: Lake;
let query: (sql: string) => Promise<void>;
let wrong: () => Promise<string[]>;
/** The views with an aggregate that only reading a group anew gives. */
let readAnew: () => Promise<string[]>;
const place = tempLake();

beforeAll(async () => {
  lake = await open({ ...(await place).config, engine: { threads: 1 } });
  const connection = await lake.connect();
  query = async (sql) => void (await connection.run(sql));
  wrong = async () => {
    const found: string[] = [];
    for (const { name, sql } of views()) {
      await query(`CREATE OR REPLACE TEMP TABLE expected AS ${sql}`);
      await query(`CREATE OR REPLACE TEMP TABLE actual AS FROM main.${name}`);
      for (const difference of await differences(connection, "actual", "expected"))
        found.push(`${name}: ${difference}`);
    }
    return found;
  };
  readAnew = async () => {
    const reader = await connection.runAndReadAll(
      `SELECT name FROM ivm.views WHERE contains(built, '"rule":"reread"') ORDER BY name`,
    );
    return reader.getRows().map(([name]) => String(name));
  };
});

afterAll(async () => {
  await lake.close();
  await (await place).cleanup();
});

test("every aggregate is here", () => {
  const names = aggregateClasses().map((entry) => entry.name);
  const here = [...Object.keys(CALLS), ...Object.keys(ORDERED), ...LEFT_OUT];
  expect([...new Set(here)].sort()).toEqual(names);
});

test("every aggregate is what its query says after each change", { timeout: 240_000 }, async () => {
  await query(
    "CREATE TABLE t(g INTEGER, i INTEGER, n SMALLINT, b BIGINT, d DECIMAL(9,2), x DOUBLE, s VARCHAR, f BOOLEAN, ts TIMESTAMP, u UTINYINT, h HUGEINT, l INTEGER[])",
  );
  const defined = await lake.define(views());
  expect(
    defined.actions.flatMap((action) => (action.strategy === "recompute" ? [[action.view, action.reasons]] : [])),
  ).toEqual([]);
  const history = new History(Number(process.env["AGGREGATES_SEED"] ?? 1));
  const strategies = new Set<string | null>();
  for (let step = 0; step < 5; step += 1) {
    // Empty at first, and once more in the middle.
    if (step === 3) await query("DELETE FROM t");
    else if (step > 0) for (let count = 0; count < 3; count += 1) for (const sql of history.change()) await query(sql);
    const result = await lake.refresh();
    expect(result.views.flatMap((view) => (view.error === null ? [] : [[view.view, view.error.message]]))).toEqual([]);
    expect(await wrong()).toEqual([]);
    for (const view of result.views) strategies.add(view.strategy);
  }
  expect(await readAnew()).toEqual(
    views()
      .flatMap(({ name }) => (/^(reread|anew)/.test(name) ? [name] : []))
      .sort(),
  );
  expect(strategies).toContain("incremental");
  expect(strategies).not.toContain("recompute");
});
