import { beforeAll, describe, expect, test } from "vitest";
import { filter, project, repeat, scan, unionAll } from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { outputsOf, readsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");

describe("the delta of a table", () => {
  test("is one term: its change, with a weight, under the number of the place where it is read", () => {
    const [term, ...others] = termsOf(t, "t");
    expect(others).toEqual([]);
    expect(term?.relation).toEqual({
      kind: "delta-scan",
      source: "t",
      occurrence: t.occurrence,
      alias: "t",
      columns: t.columns,
      weight: term?.weight,
    });
    expect(term?.occurrences).toEqual([t.occurrence]);
  });

  test("has no term where the table did not change", () => {
    expect(termsOf(t)).toEqual([]);
    expect(termsOf(t, "u")).toEqual([]);
  });
});

describe("filter, projection, union and repetition", () => {
  test("apply to the delta and read nothing else", () => {
    const plan = filter(project(t, { x: "{t.a} + 1", y: "{t.b}" }), "{x} > 2");
    expect(readsOf(termsOf(plan, "t"))).toEqual([["Δ t"]]);
    expect(outputsOf(termsOf(plan, "t"))).toEqual([{ weight: "given", columns: ["x", "y"] }]);
    expect(termsOf(plan, "u")).toEqual([]);
  });

  test("of a union there is a term for each branch that changed, under the union's columns", () => {
    const union = unionAll(["x", "y"], [t, "t.b", "t.a"], [u, "u.a", "u.c"]);
    expect(readsOf(termsOf(union, "t", "u"))).toEqual([["Δ t"], ["Δ u"]]);
    expect(outputsOf(termsOf(union, "t", "u"))).toEqual([
      { weight: "given", columns: ["x", "y"] },
      { weight: "given", columns: ["x", "y"] },
    ]);
    expect(readsOf(termsOf(union, "u"))).toEqual([["Δ u"]]);
    const [first] = termsOf(union, "t");
    expect(first?.relation).toMatchObject({
      columns: [{ id: "x", expression: { ref: "t.b" } }, { id: "y", expression: { ref: "t.a" } }, {}],
    });
  });

  test("a repeated row has a weight of its own, the count times the row's", () => {
    const [term] = termsOf(repeat(t, "{t.b}"), "t");
    expect(term?.relation.kind).toBe("project");
    expect(outputsOf(termsOf(repeat(t, "{t.b}"), "t"))).toEqual([{ weight: "given", columns: ["t.a", "t.b"] }]);
  });
});

describe("old + Σ terms = new", () => {
  let world: World;
  beforeAll(async () => {
    world = await smallWorld();
  });

  test("for every linear operator and for those above each other", async () => {
    await expectExact(world, {
      table: t,
      "columns of a table": scan("t", "b"),
      "no column of a table": project(scan("t"), { one: "1" }),
      filter: filter(t, "{t.a} >= {t.b}"),
      "a filter that NULL decides": filter(t, "{t.a} IS NULL OR {t.b} = 1"),
      projection: project(t, { x: "{t.a} + {t.b}", y: "coalesce({t.a}, -1)" }),
      "a projection of fewer columns, so that rows become copies": project(t, { x: "{t.a} % 2" }),
      union: unionAll(["x", "y"], [t, "t.a", "t.b"], [u, "u.c", "u.a"]),
      "a union of a table with itself": unionAll(["x"], [t, "t.a"], [scan("t as t2", "b"), "t2.b"]),
      "a union of three, one of them filtered": unionAll(
        ["x"],
        [filter(t, "{t.a} > 0"), "t.a"],
        [u, "u.a"],
        [scan("w", "d"), "w.d"],
      ),
      "a union of unions": unionAll(["z"], [unionAll(["x"], [t, "t.a"], [u, "u.a"]), "x"], [scan("w", "a"), "w.a"]),
      repetition: repeat(t, "{t.b}"),
      "repetition by a count that can be NULL or below zero": repeat(t, "{t.a} - {t.b}"),
      "a filter on a projection of repeated rows": filter(project(repeat(t, "2"), { x: "{t.a} * 2" }), "{x} > 1"),
      "repetition of a union": repeat(unionAll(["x"], [t, "t.a"], [u, "u.a"]), "{x}"),
    });
  });
});
