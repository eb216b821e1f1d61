import { describe, expect, test } from "vitest";
import { prune } from "../../src/plan/prune.js";
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
} from "./build.js";

/** The columns that are read of each table. */
function reads(relation: Relation): Record<string, string> {
  if (relation.kind === "scan" || relation.kind === "delta-scan") {
    return { [relation.alias]: relation.columns.map((column) => column.name).join(" ") };
  }
  return Object.assign({}, ...inputsOf(relation).map(reads)) as Record<string, string>;
}

const t = scan("t", "a", "b", "c", "d");
const u = scan("u", "a", "b", "c", "d");

describe("only what is used is read", () => {
  test.each<[string, Relation, string[], Record<string, string>]>([
    ["of a table", t, ["t.b"], { t: "b" }],
    ["of a table whose rows are only counted", t, [], { t: "" }],
    ["by a filter", filter(t, "{t.c} > 1"), ["t.a"], { t: "a c" }],
    ["by a projection", project(t, { x: "{t.a} + {t.b}", y: "{t.c}" }), ["x"], { t: "a b" }],
    ["by a join's predicates", join([t, u], "{t.a} = {u.a}", "{u.d} > {t.d}"), ["u.b"], { t: "a d", u: "a b d" }],
    ["by an outer join", outerJoin("full", t, u, "{t.a} = {u.a}"), ["t.b"], { t: "a b", u: "a" }],
    ["by a semi join", semiJoin(t, u, "{t.a} = {u.a}"), ["t.b"], { t: "a b", u: "a" }],
    ["by an anti join without a condition", antiJoin(t, u, "true"), ["t.b"], { t: "b", u: "" }],
    [
      "by the calls that are used",
      aggregate(t, { k: "{t.a}" }, { s: "sum({t.b})", m: "max({t.c})" }),
      ["m"],
      { t: "a c" },
    ],
    ["by the keys of groups, used or not", aggregate(t, { k: "{t.a}" }, { s: "sum({t.b})" }), ["s"], { t: "a b" }],
    ["by DISTINCT, which is all of its columns", aggregate(t, { x: "{t.a}", y: "{t.b}" }), ["x"], { t: "a b" }],
    [
      "by window functions that are used",
      window(t, ["{t.a}"], {
        r: "rank() OVER (PARTITION BY {t.a} ORDER BY {t.b})",
        s: "sum({t.c}) OVER (PARTITION BY {t.a})",
      }),
      ["s", "t.d"],
      { t: "a c d" },
    ],
    [
      "where no window function is used",
      window(t, ["{t.a}"], { r: "rank() OVER (PARTITION BY {t.a})" }),
      ["t.d"],
      { t: "d" },
    ],
    [
      "by a union, position by position",
      unionAll(["x", "y"], [t, "t.a", "t.b"], [u, "u.d", "u.c"]),
      ["y"],
      { t: "b", u: "c" },
    ],
    ["to repeat rows", repeat(t, "{t.d}"), ["t.a"], { t: "a d" }],
    [
      "to look up keys",
      { kind: "restrict", input: t, keys: u, pairs: [[sql("{t.b}"), "u.c"]] },
      ["t.a"],
      { t: "a b", u: "c" },
    ],
    ["behind a shared part", { kind: "shared", name: "s", input: t }, ["t.a"], { t: "a" }],
  ])("%s", (_, relation, needed, expected) => {
    expect(reads(prune(relation, new Set(needed)))).toEqual(expected);
  });

  test("through all of a plan", () => {
    const plan = project(
      aggregate(
        join([filter(t, "{t.d} IS NOT NULL"), project(u, { k: "{u.a}", v: "{u.b}", w: "{u.c}" })], "{t.a} = {k}"),
        {
          g: "{v}",
        },
        { n: "count(*)", s: "sum({w})" },
      ),
      { out: "{n} + 1" },
    );
    expect(reads(prune(plan, new Set(["out"])))).toEqual({ t: "a d", u: "a b" });
  });
});

test("the columns that are left keep their order", () => {
  const pruned = prune(project(t, { x: "{t.a}", y: "{t.b}", z: "{t.c}" }), new Set(["z", "x"]));
  expect(pruned.kind === "project" && pruned.columns.map((column) => column.id)).toEqual(["x", "z"]);
});

test("a window node without functions goes, and a filter stays", () => {
  const ranked = window(t, ["{t.a}"], { r: "rank() OVER (PARTITION BY {t.a})" });
  expect(prune(ranked, new Set(["t.a"])).kind).toBe("scan");
  expect(prune(filter(ranked, "{r} = 1"), new Set(["t.a"]))).toMatchObject({
    kind: "filter",
    input: { kind: "window" },
  });
});

test("a column that gives several rows for one stays, used or not", () => {
  const elements = { id: "x", expression: { ...sql("unnest({t.b})"), multipliesRows: true as const } };
  const several: Relation = { kind: "project", input: t, columns: [...project(t, { y: "{t.a}" }).columns, elements] };
  expect(reads(prune(several, new Set(["y"])))).toEqual({ t: "a b" });
});

test("constant rows and the relation itself are left alone", () => {
  const rows = constant("VALUES (1, 2)", "x", "y");
  expect(prune(rows, new Set(["x"]))).toBe(rows);
  const before = JSON.stringify(t);
  prune(filter(t, "{t.a} = 1"), new Set());
  expect(JSON.stringify(t)).toBe(before);
});
