import { beforeAll, describe, expect, test } from "vitest";
import { restrictTo } from "../../src/delta/restrict.js";
import { inputsOf, type Relation } from "../../src/plan/relation.js";
import {
  aggregate,
  antiJoin,
  constant,
  filter,
  join,
  outerJoin,
  project,
  repeat,
  scan,
  semiJoin,
  sql,
  unionAll,
  window,
} from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectSameRows, smallWorld } from "./data.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");
const w = scan("w", "a", "d");
/** Keys that some rows have and some have not; one of them is NULL. */
const keys = constant(`SELECT * FROM (VALUES (0, 1), (1, 2), (NULL, NULL), (2, NULL)) AS k(k1, k2)`, "k1", "k2");

type Pairs = readonly (readonly [string, string])[];

function cut(relation: Relation, pairs: Pairs): Relation {
  return restrictTo(
    relation,
    keys,
    pairs.map(([expression, key]) => [sql(expression), key] as const),
  );
}

/** Where the cuts are: what is below each of them, as `expression → kind`. */
function cuts(relation: Relation): string[] {
  if (relation.kind !== "restrict") return inputsOf(relation).flatMap(cuts);
  const { input, pairs } = relation;
  const below = input.kind === "scan" ? input.alias : input.kind;
  return [`${pairs.map(([expression]) => expression.sql.replaceAll('"', "")).join(", ")} → ${below}`, ...cuts(input)];
}

const ONE: Pairs = [["{t.a}", "k1"]];
const ranked = window(t, ["{t.a}"], { r: "rank() OVER (PARTITION BY {t.a} ORDER BY {t.b})" });

const SEVERAL_ROWS: Relation = {
  kind: "project",
  input: t,
  columns: [{ id: "x", expression: { ...sql("unnest([{t.a}, {t.b}])"), multipliesRows: true } }],
};

/** A relation, the keys it is cut by, and where the cut must end up. */
const CASES: readonly (readonly [string, Relation, Pairs, readonly string[]])[] = [
  ["a table is cut itself", t, ONE, ["t.a → t"]],
  ["through filters", filter(filter(t, "{t.b} > 0"), "{t.a} < 3"), ONE, ["t.a → t"]],
  ["through repeated rows", repeat(t, "{t.b}"), ONE, ["t.a → t"]],
  ["through a projection of the column", project(t, { x: "{t.a}", y: "{t.b}" }), [["{x}", "k1"]], ["t.a → t"]],
  ["through a projection of an expression", project(t, { x: "{t.a} + {t.b}" }), [["{x}", "k1"]], ["t.a + t.b → t"]],
  ["not through a projection of a constant", project(t, { x: "1" }), [["{x}", "k1"]], ["x → project"]],
  ["not through a projection that gives several rows for one", SEVERAL_ROWS, [["{x}", "k1"]], ["x → project"]],
  ["not for an expression over a projection", project(t, { x: "{t.a}" }), [["{x} + 1", "k1"]], ["x + 1 → project"]],
  [
    "two keys through a projection",
    project(t, { x: "{t.b}", y: "{t.a}" }),
    [
      ["{x}", "k1"],
      ["{y}", "k2"],
    ],
    ["t.b, t.a → t"],
  ],
  ["into the left side of a semi join", semiJoin(t, u, "{t.a} = {u.a}"), ONE, ["t.a → t"]],
  ["into the left side of an anti join", antiJoin(t, u, "{t.a} = {u.a}"), ONE, ["t.a → t"]],
  ["into the input of a join that has the key", join([t, u], "{t.a} = {u.a}"), [["{u.c}", "k1"]], ["u.c → u"]],
  [
    "into each input of a join that has a key, and the whole",
    join([t, u, w], "{t.a} = {u.a}", "{u.a} = {w.a}"),
    [
      ["{t.b}", "k1"],
      ["{w.d}", "k2"],
    ],
    ["t.b, w.d → join", "t.b → t", "w.d → w"],
  ],
  [
    "above a join for an expression over two inputs",
    join([t, u], "{t.a} = {u.a}"),
    [["{t.b} + {u.c}", "k1"]],
    ["t.b + u.c → join"],
  ],
  ["above a join for a constant", join([t, u], "{t.a} = {u.a}"), [["1", "k1"]], ["1 → join"]],
  ["into a join and on through its input", join([filter(t, "{t.b} > 0"), u], "{t.a} = {u.a}"), ONE, ["t.a → t"]],
  ["into the preserved side of a left join", outerJoin("left", t, u, "{t.a} = {u.a}"), ONE, ["t.a → t"]],
  [
    "into the preserved side of a right join",
    outerJoin("right", t, u, "{t.a} = {u.a}"),
    [["{u.c}", "k1"]],
    ["u.c → u"],
  ],
  [
    "above a left join for a key of the padded side",
    outerJoin("left", t, u, "{t.a} = {u.a}"),
    [["{u.c}", "k1"]],
    ["u.c → outer-join"],
  ],
  [
    "above a left join for keys of both sides",
    outerJoin("left", t, u, "{t.a} = {u.a}"),
    [
      ["{t.b}", "k1"],
      ["{u.c}", "k2"],
    ],
    ["t.b, u.c → outer-join"],
  ],
  ["above a full join for a key of its left", outerJoin("full", t, u, "{t.a} = {u.a}"), ONE, ["t.a → outer-join"]],
  [
    "above a full join for a key of its right",
    outerJoin("full", t, u, "{t.a} = {u.a}"),
    [["{u.c}", "k1"]],
    ["u.c → outer-join"],
  ],
  ["through groups of the key", aggregate(t, { k: "{t.a}" }, { n: "count(*)" }), [["{k}", "k1"]], ["t.a → t"]],
  [
    "through groups of more than the key",
    aggregate(t, { k: "{t.a}", l: "{t.b}" }, { n: "count(*)" }),
    [["{l}", "k1"]],
    ["t.b → t"],
  ],
  [
    "through groups of an expression",
    aggregate(t, { k: "{t.a} % 2" }, { n: "count(*)" }),
    [["{k}", "k1"]],
    ["t.a % 2 → t"],
  ],
  [
    "above groups for an aggregate's value",
    aggregate(t, { k: "{t.a}" }, { n: "count(*)" }),
    [["{n}", "k1"]],
    ["n → aggregate"],
  ],
  [
    "above groups for a key and a value",
    aggregate(t, { k: "{t.a}" }, { n: "count(*)" }),
    [
      ["{k}", "k1"],
      ["{n}", "k2"],
    ],
    ["k, n → aggregate"],
  ],
  ["above groups of a constant", aggregate(t, { k: "1" }, { n: "count(*)" }), [["{k}", "k1"]], ["k → aggregate"]],
  ["through window functions over whole partitions", ranked, ONE, ["t.a → t"]],
  ["above window functions for another column", ranked, [["{t.b}", "k1"]], ["t.b → window"]],
  [
    "above window functions for a partition and another column",
    ranked,
    [
      ["{t.a}", "k1"],
      ["{t.b}", "k2"],
    ],
    ["t.a, t.b → window"],
  ],
  ["above window functions for a function's value", ranked, [["{r}", "k1"]], ["r → window"]],
  [
    "above window functions without partitions",
    window(t, [], { r: "rank() OVER (ORDER BY {t.b})" }),
    ONE,
    ["t.a → window"],
  ],
  [
    "into every branch of a union",
    unionAll(["x", "y"], [t, "t.a", "t.b"], [u, "u.c", "u.a"]),
    [["{y}", "k1"]],
    ["t.b → t", "u.a → u"],
  ],
  [
    "above a union for an expression",
    unionAll(["x"], [t, "t.a"], [u, "u.c"]),
    [["{x} + 1", "k1"]],
    ["x + 1 → union-all"],
  ],
  ["above constant rows", constant("SELECT 1 AS x", "x"), [["{x}", "k1"]], ["x → constant"]],
  ["above what has no key at all", t, [], [" → t"]],
  [
    "above rows in an order with a limit",
    { kind: "limit", input: t, orders: [{ expression: sql("{t.b}"), direction: "ASC" }], limit: "2", offset: null },
    ONE,
    ["t.a → limit"],
  ],
];

test.each(CASES)("%s", (_, relation, pairs, expected) => {
  expect(cuts(cut(relation, pairs))).toEqual(expected);
});

test("a cut keeps the keys as they are given, so that they are computed once", () => {
  const shared: Relation = { kind: "shared", name: "affected", input: keys };
  const union = unionAll(["x"], [t, "t.a"], [u, "u.a"]);
  const found = inputsOf(restrictTo(union, shared, [[sql("{x}"), "k1"]])).map(
    (input) => input.kind === "restrict" && input.keys,
  );
  expect(found).toEqual([shared, shared]);
});

describe("a cut that was pushed down gives the rows that a cut at the top gives", () => {
  let world: World;
  beforeAll(async () => {
    world = await smallWorld();
  });

  test("for every operator", async () => {
    // A limit keeps other rows where peers are; its order is not total here.
    const exact = CASES.filter(([, relation]) => relation.kind !== "limit");
    const pairs = exact.map(([name, relation, given]) => {
      const top: Relation = {
        kind: "restrict",
        input: relation,
        keys,
        pairs: given.map(([expression, key]) => [sql(expression), key] as const),
      };
      return [name, [cut(relation, given), top]] as const;
    });
    await expectSameRows(world, Object.fromEntries(pairs));
  });
});
