import { expect, test } from "vitest";
import { affectedKeys } from "../../src/delta/affected-keys.js";
import { derive } from "../../src/delta/derive.js";
import { atVersion, outputOf } from "../../src/plan/relation.js";
import { leaves, scan, sql } from "../plan/build.js";
import { contextOf } from "./terms.js";

const t = scan("t", "a", "b");

test("are the distinct values of the key expressions in all changed rows, whatever their weights", () => {
  const context = contextOf(["t"]);
  const keys = affectedKeys(t, derive(t, context), [sql("{t.a}"), sql("{t.b} % 2")], context);
  expect(keys.relation.kind).toBe("shared");
  expect(keys.relation.input).toMatchObject({
    kind: "aggregate",
    calls: [],
    keys: [{ expression: { ref: "t.a" } }, { expression: { sql: `"t.b" % 2` } }],
    // The weight is not among the columns, so a row that comes and goes is a changed row.
    input: { kind: "union-all", columns: ["t.a", "t.b"] },
  });
  expect(leaves(keys.relation)).toEqual(["Δ t"]);
});

test("cut any version of the input by the same keys", () => {
  const context = contextOf(["t"]);
  const keys = affectedKeys(t, derive(t, context), [sql("{t.a}")], context);
  const [key = ""] = outputOf(keys.relation);
  for (const version of ["old", "new"] as const) {
    expect(keys.restrict(atVersion(t, version))).toEqual({
      kind: "restrict",
      input: atVersion(t, version),
      keys: keys.relation,
      pairs: [[sql("{t.a}"), key]],
    });
  }
});

test("without key expressions stand for whether anything changed at all", () => {
  const context = contextOf(["t"]);
  const keys = affectedKeys(t, derive(t, context), [], context);
  // An aggregate without keys would be one row even over no rows.
  expect(keys.relation.input.kind).toBe("union-all");
  expect(keys.restrict(t)).toMatchObject({ kind: "restrict", pairs: [] });
});

test("have other names each time", () => {
  const context = contextOf(["t"]);
  const terms = derive(t, context);
  const [first, second] = [
    affectedKeys(t, terms, [sql("{t.a}")], context),
    affectedKeys(t, terms, [sql("{t.a}")], context),
  ];
  expect(first.relation.name).not.toBe(second.relation.name);
  expect(outputOf(first.relation)).not.toEqual(outputOf(second.relation));
});
