import { expect, test } from "vitest";
import { differenceTerm, occurrencesOf, rowsOf } from "../../src/delta/difference.js";
import { atVersion, outputOf } from "../../src/plan/relation.js";
import { project, scan } from "../plan/build.js";
import { contextOf } from "./terms.js";

const t = scan("t", "a", "b");

test("after minus before: the rows of the one with +1, of the other with -1", () => {
  const term = differenceTerm(t, atVersion(t, "old"), [2, 5], contextOf([]));
  expect(outputOf(term.relation)).toEqual(["t.a", "t.b", term.weight]);
  expect(term.occurrences).toEqual([2, 5]);
  if (term.relation.kind !== "union-all") throw new Error(term.relation.kind);
  const branches = term.relation.branches.map(({ input, columns }) => {
    if (input.kind !== "project" || input.input.kind !== "scan") throw new Error(input.kind);
    return [input.input.version, input.columns.at(-1)?.expression.sql, columns];
  });
  expect(branches).toEqual([
    ["new", "1", ["t.a", "t.b", term.weight]],
    ["old", "-1", ["t.a", "t.b", term.weight]],
  ]);
});

test("the weights of two differences have different names", () => {
  const context = contextOf([]);
  expect(differenceTerm(t, t, [], context).weight).not.toBe(differenceTerm(t, t, [], context).weight);
});

test("the rows of terms are all rows that some term names, without their weights", () => {
  const terms = [
    { relation: t, weight: "w1", occurrences: [3] },
    { relation: project(t, { "t.b": "{t.b}", "t.a": "{t.a}", w2: "-1" }), weight: "w2", occurrences: [1, 3] },
  ];
  expect(rowsOf(terms, ["t.a", "t.b"])).toEqual({
    kind: "union-all",
    columns: ["t.a", "t.b"],
    branches: terms.map((term) => ({ input: term.relation, columns: ["t.a", "t.b"] })),
  });
  expect(occurrencesOf(terms)).toEqual([1, 3]);
});
