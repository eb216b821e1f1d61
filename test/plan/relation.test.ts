import { describe, expect, test } from "vitest";
import {
  atVersion,
  ColumnIds,
  columnExpression,
  expression,
  inputsOf,
  keepColumns,
  outputOf,
  type Relation,
  scansOf,
  withInputs,
} from "../../src/plan/relation.js";
import {
  aggregate,
  antiJoin,
  constant,
  filter,
  join,
  leaves,
  outerJoin,
  project,
  repeat,
  scan,
  semiJoin,
  sql,
  unionAll,
  window,
} from "./build.js";

const t = scan("t", "a", "b");
const u = scan("u", "c");
const keys = scan("k", "key");
const restrict: Relation = { kind: "restrict", input: t, keys, pairs: [[sql("{t.a}"), "k.key"]] };
const delta: Relation = {
  kind: "delta-scan",
  source: "t",
  occurrence: 1,
  alias: "t",
  columns: t.columns,
  weight: "weight#1",
};

/** Each kind of relation, its output and how many inputs it has. */
const KINDS: readonly (readonly [string, Relation, readonly string[], number])[] = [
  ["a scan", t, ["t.a", "t.b"], 0],
  ["the delta of a scan, which has a weight too", delta, ["t.a", "t.b", "weight#1"], 0],
  ["constant rows", constant("SELECT 1", "x"), ["x"], 0],
  ["a filter", filter(t, "{t.a} > 1"), ["t.a", "t.b"], 1],
  ["a projection", project(t, { x: "{t.a} + 1" }), ["x"], 1],
  ["a join", join([t, u, keys]), ["t.a", "t.b", "u.c", "k.key"], 3],
  ["an outer join", outerJoin("left", t, u, "{t.a} = {u.c}"), ["t.a", "t.b", "u.c"], 2],
  ["a semi join", semiJoin(t, u, "{t.a} = {u.c}"), ["t.a", "t.b"], 2],
  ["an anti join", antiJoin(t, u, "{t.a} = {u.c}"), ["t.a", "t.b"], 2],
  ["a cut by keys", restrict, ["t.a", "t.b"], 2],
  ["an aggregate", aggregate(t, { k: "{t.a}" }, { n: "count(*)" }), ["k", "n"], 1],
  ["window functions, which add columns", window(t, ["{t.a}"], { r: "rank() OVER ()" }), ["t.a", "t.b", "r"], 1],
  ["a union", unionAll(["x"], [t, "t.a"], [u, "u.c"]), ["x"], 2],
  ["repeated rows", repeat(t, "{t.b}"), ["t.a", "t.b"], 1],
  ["a shared part", { kind: "shared", name: "s", input: t }, ["t.a", "t.b"], 1],
];

describe.each(KINDS)("%s", (_, relation, output, inputs) => {
  test("gives its columns in order", () => {
    expect(outputOf(relation)).toEqual(output);
  });

  test("takes back its inputs, and others in their places", () => {
    expect(inputsOf(relation)).toHaveLength(inputs);
    expect(withInputs(relation, inputsOf(relation))).toEqual(relation);
    const others = inputsOf(relation).map((_input, index) => scan(`other${index}`, "x"));
    const changed = withInputs(relation, others);
    expect(inputsOf(changed)).toEqual(others);
    expect({ ...changed, ...dropInputs }).toEqual({ ...relation, ...dropInputs, ...branchesOf(changed) });
  });

  test("reads every scan at the version asked for and is otherwise the same", () => {
    const old = atVersion(relation, "old");
    expect(leaves(old)).toEqual(leaves(relation).map((leaf) => leaf.replace("new", "old")));
    expect(atVersion(old, "new")).toEqual(relation);
  });
});

const dropInputs = { input: null, inputs: null, left: null, right: null, keys: null };

function branchesOf(relation: Relation): object {
  return relation.kind === "union-all" ? { branches: relation.branches } : {};
}

test("too few inputs are a mistake", () => {
  expect(() => withInputs(semiJoin(t, u, "true"), [t])).toThrow(TypeError);
});

test("scans are listed in the order of the definition, a table as often as it is read", () => {
  const nested = join([filter(t, "true"), unionAll(["x"], [u, "u.c"], [scan("t as t2", "a"), "t2.a"])]);
  expect(scansOf(nested).map((found) => found.alias)).toEqual(["t", "u", "t2"]);
});

describe("expressions", () => {
  test("a column is a reference to itself, with its name quoted", () => {
    expect(columnExpression('a"b#1')).toEqual({ sql: `"a""b#1"`, columns: ['a"b#1'], ref: 'a"b#1' });
    expect(keepColumns(["x", "y"])).toEqual([
      { id: "x", expression: columnExpression("x") },
      { id: "y", expression: columnExpression("y") },
    ]);
  });

  test("the template puts brackets around anything but a column, and names each column once", () => {
    const sum = expression`${columnExpression("a")} + ${columnExpression("b")}`;
    expect(sum).toEqual({ sql: `"a" + "b"`, columns: ["a", "b"] });
    expect(expression`${sum} * ${sum} - ${"1"}`).toEqual({ sql: `("a" + "b") * ("a" + "b") - 1`, columns: ["a", "b"] });
  });
});

test("ids are unique, and numbering goes on where a stored plan ended", () => {
  const ids = new ColumnIds();
  const first = [ids.create("a"), ids.create("a"), ids.create("b")];
  expect(new Set(first).size).toBe(3);
  const later = new ColumnIds(ids.position);
  expect(first).not.toContain(later.create("a"));
  expect(first).not.toContain(later.create("b"));
});
