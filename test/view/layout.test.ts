import { describe, expect, test } from "vitest";
import type { AggregateCall, Relation } from "../../src/plan/relation.js";
import { bagLayout, isLimited, type LayoutDraft, layoutOf } from "../../src/view/layout.js";
import { limitsRows } from "../../src/view/limited.js";
import { argumentKey, type ViewPlan } from "../../src/view/plan-view.js";
import type { StateRule } from "../../src/view/states.js";
import { aggregate, filter, join, project, scan, sql, unionAll, window } from "../plan/build.js";

const t = scan("t", "a", "b");

interface CallOptions {
  readonly type: string;
  readonly argumentType?: string;
  readonly filter?: string;
  readonly distinct?: boolean;
  readonly ordered?: boolean;
}

/** An aggregate call such as `sum({t.b})`, with its type and that of its argument. */
class Calls {
  readonly calls: AggregateCall[] = [];
  readonly types: Record<string, string> = { k: "INTEGER" };

  add(id: string, text: string, options: CallOptions): this {
    const [, name = "", inner = ""] = /^(\w+)\((.*)\)$/.exec(text) ?? [];
    const split = inner === "" || inner === "*" ? [] : inner.split(", ");
    this.calls.push({
      id,
      name,
      arguments: split.map(sql),
      ...(options.filter === undefined ? {} : { filter: sql(options.filter) }),
      distinct: options.distinct === true,
      ordered: options.ordered === true,
      expression: sql(text),
    });
    this.types[id] = options.type;
    if (options.argumentType !== undefined) this.types[argumentKey(id)] = options.argumentType;
    return this;
  }

  /** The layout of `SELECT k, <calls> FROM t GROUP BY k`. */
  layout(): LayoutDraft {
    const top = { ...aggregate(t, { k: "{t.a}" }), calls: this.calls };
    const output = ["k", ...this.calls.map((call) => call.id)];
    return layoutOf(
      this.plan(top, output),
      output.map((id) => ({ name: id, type: this.types[id] ?? "" })),
    );
  }

  plan(relation: Relation, output: readonly string[]): ViewPlan {
    return { relation, output, types: this.types, nextId: 100 };
  }
}

function statesOf(layout: LayoutDraft): StateRule["rule"][] {
  return (layout.groups?.states ?? []).map((state) => state.rule.rule);
}

describe("which states are kept for an aggregate", () => {
  test.each<[string, string, CallOptions, string[]]>([
    ["count(*) is counted", "count_star(*)", { type: "BIGINT" }, ["count"]],
    ["count(x) is counted", "count({t.b})", { type: "BIGINT", argumentType: "VARCHAR" }, ["count"]],
    [
      "sum of an integer is summed, with the number of its values",
      "sum({t.b})",
      { type: "HUGEINT", argumentType: "INTEGER" },
      ["count", "sum"],
    ],
    ["sum of a BIGINT is summed", "sum({t.b})", { type: "HUGEINT", argumentType: "BIGINT" }, ["count", "sum"]],
    [
      "sum of a decimal is summed",
      "sum({t.b})",
      { type: "DECIMAL(38,2)", argumentType: "DECIMAL(10,2)" },
      ["count", "sum"],
    ],
    [
      "avg of an integer is its sum and its count",
      "avg({t.b})",
      { type: "DOUBLE", argumentType: "INTEGER" },
      ["count", "sum"],
    ],
    ["sum of a float is read anew", "sum({t.b})", { type: "DOUBLE", argumentType: "DOUBLE" }, ["reread"]],
    ["avg of a float is read anew", "avg({t.b})", { type: "DOUBLE", argumentType: "FLOAT" }, ["reread"]],
    ["sum of 128 bits is read anew", "sum({t.b})", { type: "HUGEINT", argumentType: "HUGEINT" }, ["reread"]],
    ["sum of an interval is read anew", "sum({t.b})", { type: "INTERVAL", argumentType: "INTERVAL" }, ["reread"]],
    ["min is an extreme", "min({t.b})", { type: "VARCHAR", argumentType: "VARCHAR" }, ["extreme"]],
    ["max is an extreme", "max({t.b})", { type: "DOUBLE", argumentType: "DOUBLE" }, ["extreme"]],
    [
      "max of distinct values is the same extreme",
      "max({t.b})",
      { type: "INTEGER", argumentType: "INTEGER", distinct: true },
      ["extreme"],
    ],
    ["the largest n are read anew", "max({t.b}, 3)", { type: "INTEGER[]", argumentType: "INTEGER" }, ["reread"]],
    [
      "count of distinct values is counted",
      "count({t.b})",
      { type: "BIGINT", argumentType: "INTEGER", distinct: true },
      ["count"],
    ],
    [
      "sum of distinct values is summed",
      "sum({t.b})",
      { type: "HUGEINT", argumentType: "INTEGER", distinct: true },
      ["count", "sum"],
    ],
    [
      "an aggregate in an order is read anew",
      "string_agg({t.b})",
      { type: "VARCHAR", argumentType: "VARCHAR", ordered: true },
      ["reread"],
    ],
    ["count_if is counted", "count_if({t.b})", { type: "HUGEINT", argumentType: "BOOLEAN" }, ["count", "count"]],
    ["bool_and is counted", "bool_and({t.b})", { type: "BOOLEAN", argumentType: "BOOLEAN" }, ["count", "count"]],
    ["bit_xor is a parity", "bit_xor({t.b})", { type: "BIGINT", argumentType: "BIGINT" }, ["count", "parity"]],
    ["bit_or is extended", "bit_or({t.b})", { type: "BIGINT", argumentType: "BIGINT" }, ["count", "bits"]],
    ["bits of 128 are read anew", "bit_or({t.b})", { type: "HUGEINT", argumentType: "HUGEINT" }, ["reread"]],
    [
      "a variance is made of sums",
      "var_samp({t.b})",
      { type: "DOUBLE", argumentType: "INTEGER" },
      ["count", "sum", "sum", "value"],
    ],
    [
      "a variance of 64 bits also counts the values that are too wide",
      "var_samp({t.b})",
      { type: "DOUBLE", argumentType: "BIGINT" },
      ["count", "count", "sum", "sum", "value"],
    ],
    [
      "a variance of wide decimals is read anew",
      "var_samp({t.b})",
      { type: "DOUBLE", argumentType: "DECIMAL(20,2)" },
      ["reread"],
    ],
    ["a variance of floats is read anew", "var_samp({t.b})", { type: "DOUBLE", argumentType: "DOUBLE" }, ["reread"]],
    [
      "a variance of distinct values is read anew",
      "var_samp({t.b})",
      { type: "DOUBLE", argumentType: "INTEGER", distinct: true },
      ["reread"],
    ],
    ["median is read anew", "median({t.b})", { type: "DOUBLE", argumentType: "INTEGER" }, ["reread"]],
    ["arg_max is read anew", "arg_max({t.b}, {t.a})", { type: "INTEGER", argumentType: "INTEGER" }, ["reread"]],
  ])("%s", (_, text, options, expected) => {
    const layout = new Calls().add("x", text, options).layout();
    // The number of rows of the group is always kept: it tells when the group is gone.
    expect(statesOf(layout)).toEqual(["rows", ...expected]);
  });

  test("where one aggregate is read anew, no states are kept for the others", () => {
    const integer = { argumentType: "INTEGER" };
    const layout = new Calls()
      .add("x", "avg({t.b})", { type: "DOUBLE", ...integer })
      .add("y", "median({t.b})", { type: "DOUBLE", ...integer })
      .add("z", "count({t.b})", { type: "BIGINT", ...integer, distinct: true })
      .layout();
    expect(statesOf(layout)).toEqual(["rows", "reread", "reread", "reread"]);
    expect(layout.counted).toEqual([]);
  });

  test("a filter goes into the state's rule and into its first value", () => {
    const layout = new Calls()
      .add("x", "sum({t.b})", { type: "HUGEINT", argumentType: "INTEGER", filter: "{t.a} > 1" })
      .layout();
    const [, count, sum] = layout.groups?.states ?? [];
    expect(count?.rule).toMatchObject({ rule: "count", argument: { ref: "t.b" }, filter: { sql: `"t.a" > 1` } });
    expect(sum?.rule).toMatchObject({
      rule: "sum",
      filter: { sql: `"t.a" > 1` },
      type: "DECIMAL(38,0)",
      count: count?.id,
    });
    const initial = layout.groups?.aggregate.calls.map((call) => call.expression.sql) ?? [];
    expect(initial[1]).toMatch(/count\("t.b"\) FILTER \(WHERE "t.a" > 1\)/);
    expect(initial[2]).toMatch(/sum\("t.b"\) FILTER \(WHERE "t.a" > 1\)/);
  });

  test("sums are kept in decimals, which Parquet does not change", () => {
    const layout = new Calls()
      .add("x", "sum({t.b})", { type: "HUGEINT", argumentType: "BIGINT" })
      .add("y", "sum({t.a})", { type: "DECIMAL(38,3)", argumentType: "DECIMAL(9,3)" })
      .layout();
    expect(layout.columns.filter((column) => !column.name.startsWith("_ivm_")).map((column) => column.type)).toEqual([
      "INTEGER",
      "DECIMAL(38,0)",
      "DECIMAL(38,3)",
    ]);
  });
});

describe("equal states are kept once", () => {
  const integer = { type: "HUGEINT", argumentType: "INTEGER" };
  const number = { type: "DOUBLE", argumentType: "INTEGER" };

  test("of sum, avg and count of one expression", () => {
    const layout = new Calls()
      .add("s", "sum({t.b})", integer)
      .add("m", "avg({t.b})", number)
      .add("n", "count({t.b})", { type: "BIGINT", argumentType: "INTEGER" })
      .layout();
    expect(statesOf(layout)).toEqual(["rows", "count", "sum"]);
  });

  test("but not where the expression or the filter differs", () => {
    const layout = new Calls()
      .add("s", "sum({t.b})", integer)
      .add("m", "avg({t.a})", number)
      .add("f", "sum({t.b})", { ...integer, filter: "{t.a} > 1" })
      .layout();
    expect(statesOf(layout)).toEqual(["rows", "count", "sum", "count", "sum", "count", "sum"]);
  });

  test("and the distinct values of one expression and filter are counted in one table", () => {
    const distinct = { argumentType: "INTEGER", distinct: true };
    const filter = "{t.a} > 1";
    const layout = new Calls()
      .add("n", "count({t.b})", { type: "BIGINT", ...distinct })
      .add("s", "sum({t.b})", { type: "HUGEINT", ...distinct })
      .add("m", "avg({t.b})", { type: "DOUBLE", ...distinct })
      .add("f", "count({t.b})", { type: "BIGINT", ...distinct, filter })
      .add("x", "max({t.b})", { type: "INTEGER", ...distinct })
      .layout();
    expect(statesOf(layout)).toEqual(["rows", "count", "sum", "count", "extreme"]);
    expect(
      layout.counted?.map((table) => [table.filter?.sql, table.columns.map(({ name, type }) => [name, type])]),
    ).toEqual([
      [
        undefined,
        [
          ["key1", "INTEGER"],
          ["value", "INTEGER"],
          ["copies", "BIGINT"],
        ],
      ],
      [
        `"t.a" > 1`,
        [
          ["key1", "INTEGER"],
          ["value", "INTEGER"],
          ["copies", "BIGINT"],
        ],
      ],
    ]);
  });

  test("and every column of the table has a name of its own", () => {
    const layout = new Calls()
      .add("s", "sum({t.b})", integer)
      .add("m", "avg({t.a})", number)
      .add("n", "count({t.a})", { type: "BIGINT", argumentType: "INTEGER" })
      .add("x", "median({t.a})", number)
      .layout();
    const names = layout.columns.map((column) => column.name);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(layout.columns.map((column) => column.id)).size).toBe(names.length);
  });
});

describe("names and visible columns", () => {
  const types = { type: "HUGEINT", argumentType: "INTEGER" };

  test("a key or state that is shown as it is has the visible name, all else starts with _ivm_", () => {
    const calls = new Calls()
      .add("s", "sum({t.b})", types)
      .add("m", "min({t.b})", { type: "INTEGER", argumentType: "INTEGER" });
    const top = { ...aggregate(t, { k: "{t.a}" }), calls: calls.calls };
    const relation = project(top, { out1: "{m}", out2: "{s} + 1", out3: "{k}" });
    const visible = [
      { name: "smallest", type: "INTEGER" },
      { name: "more", type: "HUGEINT" },
      { name: "group", type: "INTEGER" },
    ];
    const layout = layoutOf(calls.plan(relation, ["out1", "out2", "out3"]), visible);
    expect(layout.columns.map((column) => column.name)).toEqual([
      "group",
      "_ivm_rows",
      expect.stringMatching(/^_ivm_/),
      expect.stringMatching(/^_ivm_/),
      "smallest",
    ]);
    expect(layout.output).toEqual([
      { name: "smallest", type: "INTEGER", id: "out1" },
      { name: "more", type: "HUGEINT", id: "out2" },
      { name: "group", type: "INTEGER", id: "out3" },
    ]);
  });

  test("a key that is not shown is kept all the same", () => {
    const calls = new Calls().add("n", "count_star(*)", { type: "BIGINT" });
    const top = { ...aggregate(t, { k: "{t.a}" }), calls: calls.calls };
    const layout = layoutOf(calls.plan(project(top, { out: "{n}" }), ["out"]), [{ name: "n", type: "BIGINT" }]);
    expect(layout.columns.map((column) => [column.name, column.type])).toEqual([
      ["_ivm_key1", "INTEGER"],
      ["_ivm_rows", "BIGINT"],
      ["n", "BIGINT"],
    ]);
    expect(layout.groups?.keys).toEqual(["k"]);
  });

  test("HAVING and projections stand between the table and the visible rows", () => {
    const calls = new Calls().add("n", "count_star(*)", { type: "BIGINT" });
    const top = { ...aggregate(t, { k: "{t.a}" }), calls: calls.calls };
    const relation = project(filter(top, "{n} > 1"), { out: "{k}" });
    const layout = layoutOf(calls.plan(relation, ["out"]), [{ name: "k", type: "INTEGER" }]);
    expect(layout.visible).toMatchObject({
      kind: "project",
      input: {
        kind: "filter",
        predicate: { sql: `"n" > 1` },
        input: { kind: "project", input: { kind: "scan", source: "data" } },
      },
    });
    // All groups are kept, also those that HAVING hides.
    expect(layout.groups?.aggregate.input).toBe(t);
  });

  test("columns that every table of a lake has are stored under another name", () => {
    const layout = bagLayout([
      { name: "rowid", type: "BIGINT" },
      { name: "Snapshot_ID", type: "BIGINT" },
      { name: "id", type: "BIGINT" },
    ]);
    expect(layout.output.map((column) => column.name)).toEqual(["rowid", "Snapshot_ID", "id"]);
    expect(layout.columns.map((column) => column.name)).toEqual(["_ivm_column_rowid", "_ivm_column_Snapshot_ID", "id"]);
  });
});

describe("the form of the table", () => {
  const calls = new Calls();
  const columns = [{ name: "a", type: "INTEGER" }];
  const formOf = (relation: Relation, output: string): string =>
    layoutOf(calls.plan(relation, [output]), columns).groups === null ? "a row for each row" : "a row for each group";

  test.each<[string, Relation, string, string]>([
    ["a table", t, "t.a", "a row for each row"],
    ["a projection of a filter", project(filter(t, "true"), { x: "{t.a}" }), "x", "a row for each row"],
    ["a join", join([t]), "t.a", "a row for each row"],
    ["groups", aggregate(t, { k: "{t.a}" }), "k", "a row for each group"],
    [
      "a filter on a projection of groups",
      filter(project(aggregate(t, { k: "{t.a}" }), { x: "{k}" }), "{x} > 1"),
      "x",
      "a row for each group",
    ],
    ["no groups", aggregate(t, {}, { n: "count(*)" }), "n", "a row for each group"],
    ["window functions over groups", window(aggregate(t, { k: "{t.a}" }), ["{k}"], {}), "k", "a row for each row"],
    ["a union of groups", unionAll(["x"], [aggregate(t, { k: "{t.a}" }), "k"]), "x", "a row for each row"],
    ["a join of groups", join([aggregate(t, { k: "{t.a}" })]), "k", "a row for each row"],
  ])("for %s", (_, relation, output, expected) => {
    expect(formOf(relation, output)).toBe(expected);
  });

  test("a LIMIT over groups is the visible rows' own, one over rows without an order is not kept at all", () => {
    const limit = (input: Relation): Relation => ({ kind: "limit", input, orders: [], limit: "3", offset: null });
    const groups = aggregate(t, { k: "{t.a}" });
    expect(limitsRows(limit(t))).toBe(true);
    expect(limitsRows(project(limit(t), { x: "{t.a}" }))).toBe(true);
    expect(limitsRows(limit(groups))).toBe(false);
    expect(limitsRows(groups)).toBe(false);
    expect(isLimited(layoutOf(calls.plan(limit(groups), ["k"]), columns))).toBe(true);
    expect(isLimited(layoutOf(calls.plan(groups, ["k"]), columns))).toBe(false);
  });

  test("a LIMIT over rows keeps the first rows of its order, with ties, beyond those that it shows", () => {
    const orders = [{ expression: sql("{t.a}"), direction: "DESC NULLS LAST" }];
    const limit: Relation = { kind: "limit", input: t, orders, limit: "3", offset: "2" };
    expect(limitsRows(limit)).toBe(false);
    const layout = layoutOf(calls.plan(limit, ["t.a"]), columns);
    expect(layout.candidates).toMatchObject({ input: t, needed: "5", most: "1100" });
    expect(layout.rows).toMatchObject({
      kind: "project",
      input: { kind: "filter", input: { kind: "window", input: t } },
    });
    expect(isLimited(layout)).toBe(true);
    expect(limitsRows({ ...limit, limit: null })).toBe(true);
    expect(limitsRows({ ...limit, limit: "100000" })).toBe(true);
  });
});
