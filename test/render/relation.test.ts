import { beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { atVersion, type Relation } from "../../src/plan/relation.js";
import { type LeafRenderer, renderConsolidated, renderRelation } from "../../src/render/relation.js";
import {
  aggregate,
  antiJoin,
  asofJoin,
  constant,
  filter,
  join,
  markJoin,
  outerJoin,
  project,
  repeat,
  scan,
  semiJoin,
  sql,
  timeFilter,
  unionAll,
  window,
} from "../plan/build.js";
import { memorySession } from "../sql/engine.js";

let session: Session;
beforeAll(async () => {
  session = await memorySession();
});

const ROWS: Readonly<Record<string, string>> = {
  t: "(1, 10), (1, 10), (2, 20), (NULL, 30)",
  u: "(1, 'x'), (3, 'y'), (NULL, 'z')",
};

/** Each leaf as VALUES, every row of a delta with the weight -1. */
const leaves: LeafRenderer = {
  scan: ({ alias, columns }) =>
    columns.length === 0
      ? `SELECT 1 AS "row" FROM (VALUES ${ROWS[alias]}) AS v(${alias}1, ${alias}2)`
      : `SELECT * FROM (VALUES ${ROWS[alias]}) AS v(${columns.map((column) => `"${column.id}"`).join(", ")})`,
  deltaScan: ({ alias, columns, weight }) =>
    `SELECT *, -1 AS "${weight}" FROM (VALUES ${ROWS[alias]}) AS v(${columns.map((column) => `"${column.id}"`).join(", ")})`,
  instant: (version) => `TIMESTAMPTZ '${version === "old" ? 2019 : 2020}-01-01 00:00:00+00'`,
};

async function rows(relation: Relation): Promise<string[]> {
  const found = await session.rows<Record<string, unknown>>(renderRelation(relation, leaves));
  return found.map((row) => Object.values(row).map(String).join(" ")).sort();
}

const t = scan("t", "a", "b");
const t2 = {
  ...scan("t", "a", "b"),
  columns: [
    { id: "t2.a", name: "a" },
    { id: "t2.b", name: "b" },
  ],
};
const u = scan("u", "a", "c");
const keys = constant("SELECT * FROM (VALUES (1), (NULL)) AS k(key)", "key");

describe("the rows of a relation", () => {
  test.each<[string, Relation, string[]]>([
    ["a table", t, ["1 10", "1 10", "2 20", "null 30"]],
    ["constant rows", constant("SELECT 7 AS x", "x"), ["7"]],
    ["a filter", filter(t, "{t.b} >= 20"), ["2 20", "null 30"]],
    [
      "a filter by the time",
      timeFilter(t, "{t.b} >= 20 AND {now#0} >= TIMESTAMPTZ '2020-01-01 00:00:00+00'"),
      ["2 20", "null 30"],
    ],
    [
      "a filter by an earlier time",
      atVersion(timeFilter(t, "{now#0} >= TIMESTAMPTZ '2020-01-01 00:00:00+00'"), "old"),
      [],
    ],
    [
      "an ASOF join",
      asofJoin("inner", t, u, [["{t.b}", "10 * {u.a}"]], ["{t.a}", ">=", "{u.a}"]),
      ["1 10 1 x", "1 10 1 x"],
    ],
    [
      "a mark join",
      project(markJoin(t, u, "{t.a} >= {u.a}", "{t.b} > 10"), { a: "{t.a}", mark: "{mark}" }),
      ["1 false", "1 false", "2 true", "null false"],
    ],
    [
      "a mark join with a comparison that is NULL for some",
      project(markJoin(t, join([u, filter(t2, "{t2.a} IS NULL")]), "true", "{t.b} < 0 OR {t2.a} > 1"), {
        mark: "{mark}",
      }),
      ["null", "null", "null", "null"],
    ],
    [
      "a mark join without a comparison",
      project(markJoin(t, u, "{t.a} = {u.a}"), { a: "{t.a}", mark: "{mark}" }),
      ["1 true", "1 true", "2 false", "null false"],
    ],
    ["an ASOF left join", asofJoin("left", filter(t, "{t.b} = 20"), u, [], ["{t.a}", "<", "{u.a}"]), ["2 20 3 y"]],
    ["a filter that is NULL", filter(t, "{t.a} = NULL"), []],
    ["filters above each other", filter(filter(t, "{t.b} > 10 OR {t.a} = 1"), "{t.b} < 30"), ["1 10", "1 10", "2 20"]],
    ["a projection", project(t, { x: "{t.a} + 1", y: "{t.b}" }), ["2 10", "2 10", "3 20", "null 30"]],
    ["a projection of nothing keeps the rows", project(t, {}), ["1", "1", "1", "1"]],
    ["a join", join([t, u], "{t.a} = {u.a}"), ["1 10 1 x", "1 10 1 x"]],
    [
      "a join by two conditions",
      join([t, u], "{t.a} = {u.a} OR {t.b} = 30", "{u.c} <> 'z'"),
      ["1 10 1 x", "1 10 1 x", "null 30 1 x", "null 30 3 y"],
    ],
    ["a join of one", join([u]), ["1 x", "3 y", "null z"]],
    [
      "a left join",
      outerJoin("left", t, u, "{t.a} = {u.a}"),
      ["1 10 1 x", "1 10 1 x", "2 20 null null", "null 30 null null"],
    ],
    [
      "a right join",
      outerJoin("right", t, u, "{t.a} = {u.a}"),
      ["1 10 1 x", "1 10 1 x", "null null 3 y", "null null null z"],
    ],
    [
      "a full join",
      outerJoin("full", filter(t, "{t.b} > 10"), filter(u, "{u.c} = 'x'"), "{t.a} = {u.a}"),
      ["2 20 null null", "null 30 null null", "null null 1 x"],
    ],
    ["a semi join", semiJoin(t, u, "{t.a} = {u.a}"), ["1 10", "1 10"]],
    ["an anti join", antiJoin(t, u, "{t.a} = {u.a}"), ["2 20", "null 30"]],
    ["an anti join by a condition that is NULL for some", antiJoin(t, u, "({t.a} = {u.a}) IS DISTINCT FROM false"), []],
    ["groups", aggregate(t, { k: "{t.a}" }, { n: "count(*)", s: "sum({t.b})" }), ["1 2 20", "2 1 20", "null 1 30"]],
    ["groups by an expression", aggregate(t, { k: "{t.b} > 10" }, { n: "count({t.a})" }), ["false 2", "true 1"]],
    ["no groups", aggregate(filter(t, "false"), {}, { n: "count(*)" }), ["0"]],
    ["no groups and no calls are one row", aggregate(filter(t, "false"), {}), ["0"]],
    ["DISTINCT", aggregate(t, { "t.a": "{t.a}" }), ["1", "2", "null"]],
    [
      "window functions",
      window(t, ["{t.a}"], { n: "count(*) OVER (PARTITION BY {t.a})" }),
      ["1 10 2", "1 10 2", "2 20 1", "null 30 1"],
    ],
    ["a union by position", unionAll(["x"], [t, "t.b"], [u, "u.a"]), ["1", "10", "10", "20", "3", "30", "null"]],
    ["repeated rows", repeat(filter(t, "{t.b} > 10"), "{t.a}"), ["2 20", "2 20"]],
    ["rows repeated less than once", repeat(t, "{t.a} - 2"), []],
    [
      "rows with keys, NULL among them",
      { kind: "restrict", input: t, keys, pairs: [[sql("{t.a}"), "key"]] },
      ["1 10", "1 10", "null 30"],
    ],
    [
      "rows with an expression among the keys",
      { kind: "restrict", input: t, keys, pairs: [[sql("{t.a} - 1"), "key"]] },
      ["2 20", "null 30"],
    ],
    ["all rows, where there is any key", { kind: "restrict", input: u, keys, pairs: [] }, ["1 x", "3 y", "null z"]],
    ["no rows, where there is none", { kind: "restrict", input: u, keys: filter(keys, "false"), pairs: [] }, []],
    [
      "the first rows in an order",
      {
        kind: "limit",
        input: t,
        orders: [
          { expression: sql("{t.a}"), direction: "DESC NULLS FIRST" },
          { expression: sql("{t.b}"), direction: "ASC" },
        ],
        limit: "2",
        offset: "1",
      },
      ["1 10", "2 20"],
    ],
    ["a table without columns, counted", aggregate(join([scan("t"), scan("u")]), {}, { n: "count(*)" }), ["12"]],
  ])("%s", async (_, relation, expected) => {
    expect(await rows(relation)).toEqual(expected);
  });
});

test("ids are quoted, whatever they are", async () => {
  const odd = `say "hi"#1; --`;
  const relation = project(constant(`SELECT 1 AS "say ""hi""#1; --"`, odd), { 'x"y': `{${odd}} + 1` });
  expect(await rows(relation)).toEqual(["2"]);
  expect(await session.rows(renderRelation(relation, leaves))).toEqual([{ 'x"y': 2 }]);
});

describe("shared parts", () => {
  const inner: Relation = { kind: "shared", name: "inner#1", input: filter(t, "{t.b} > 10") };
  const outer: Relation = { kind: "shared", name: "outer#2", input: aggregate(inner, { k: "{t.a}" }) };

  test("are written once, computed once, and before what reads them", async () => {
    const relation = unionAll(["x"], [outer, "k"], [outer, "k"], [inner, "t.b"]);
    const text = renderRelation(relation, leaves);
    expect(text.match(/VALUES/g)).toHaveLength(1);
    expect(text.match(/AS MATERIALIZED/g)).toHaveLength(2);
    expect(text.indexOf('"inner#1" AS')).toBeLessThan(text.indexOf('"outer#2" AS'));
    expect(await rows(relation)).toEqual(["2", "2", "20", "30", "null", "null"]);
  });

  test("can be a whole statement or the input of anything", async () => {
    expect(await rows(inner)).toEqual(["2 20", "null 30"]);
    expect(await rows(filter(inner, "{t.a} = 2"))).toEqual(["2 20"]);
    expect(await rows(antiJoin(t, project(inner, { x: "{t.b}" }), "{t.b} = {x}"))).toEqual(["1 10", "1 10"]);
  });
});

describe("consolidation", () => {
  const plus = (x: string, weight: string) => ({
    relation: constant(`SELECT ${x} AS x, ${weight} AS "w#1"`, "x", "w#1"),
    weight: "w#1",
  });
  const consolidated = async (terms: readonly { relation: Relation; weight: string }[], columns = ["x"]) => {
    const found = await session.rows<{ x: number; weight: bigint }>(renderConsolidated(terms, columns, leaves));
    return found.map((row) => [row.x, row.weight]).sort();
  };

  test("sums the weights of equal rows over all terms and drops those that vanish", async () => {
    const terms = [
      plus("1", "1"),
      plus("2", "1"),
      plus("1", "2"),
      plus("2", "-1"),
      plus("3", "-1"),
      plus("NULL::INTEGER", "1"),
      plus("NULL::INTEGER", "1"),
    ];
    expect(await consolidated(terms)).toEqual([
      [null, 2n],
      [1, 3n],
      [3, -1n],
    ]);
  });

  test("of rows without columns is their number", async () => {
    expect(await consolidated([plus("1", "1"), plus("2", "-3")], [])).toEqual([[undefined, -2n]]);
    expect(await consolidated([plus("1", "1"), plus("2", "-1")], [])).toEqual([]);
  });

  test("of no rows is empty", async () => {
    const none = { relation: filter(constant(`SELECT 1 AS x, 1 AS "w#1"`, "x", "w#1"), "false"), weight: "w#1" };
    expect(await consolidated([none])).toEqual([]);
    expect(await consolidated([none], [])).toEqual([]);
  });

  test("takes each term's own weight", async () => {
    const other = { relation: constant(`SELECT 5 AS "w#2", 1 AS x`, "w#2", "x"), weight: "w#2" };
    expect(await consolidated([plus("1", "-1"), other])).toEqual([[1, 4n]]);
  });

  test("reads deltas and tables by the leaves that it is given", async () => {
    const delta: Relation = {
      kind: "delta-scan",
      source: "t",
      occurrence: 1,
      alias: "t",
      columns: t.columns,
      weight: "w",
    };
    const found = await session.rows(renderConsolidated([{ relation: delta, weight: "w" }], ["t.a", "t.b"], leaves));
    expect(found).toContainEqual({ "t.a": 1, "t.b": 10, weight: -2n });
    expect(found).toHaveLength(3);
  });
});
