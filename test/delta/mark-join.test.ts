import { beforeAll, describe, expect, test } from "vitest";
import { outputOf } from "../../src/plan/relation.js";
import {
  aggregate,
  antiJoin,
  constant,
  filter,
  join,
  leaves,
  markJoin,
  project,
  scan,
  unionAll,
} from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { nodesOf, outputsOf, readsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");
const w = scan("w", "a", "d");

describe("the terms of a mark join", () => {
  const relation = markJoin(t, u, "{t.a} = {u.a}", "{t.b} < {u.c}");

  test("for a change of the left side are the changed rows against the new right side", () => {
    expect(readsOf(termsOf(relation, "t"))).toEqual([["Δ t", "new u"]]);
  });

  test("for a change of the right side are the old left rows that it can concern, after minus before", () => {
    const terms = termsOf(relation, "u");
    expect(outputsOf(terms)).toEqual([{ weight: "given", columns: outputOf(relation) }]);
    expect(leaves(terms[0]?.relation ?? t)).toEqual(["old t", "Δ u", "new u", "old t", "Δ u", "old u"]);
    const [concerned] = nodesOf(terms[0]?.relation ?? t).filter((node) => node.kind === "semi-join");
    expect(concerned?.predicate.sql).toContain("IS DISTINCT FROM false");
  });

  test("without a change there are none", () => {
    expect(termsOf(relation)).toEqual([]);
  });
});

describe("old + Σ terms = new", () => {
  let world: World;
  beforeAll(async () => {
    world = await smallWorld();
  });

  test("for all comparisons, correlated or not", async () => {
    await expectExact(world, {
      "IN, correlated": markJoin(t, u, "{t.a} = {u.a}", "{t.b} = {u.c}"),
      "IN, not correlated": markJoin(t, u, "true", "{t.b} = {u.c}"),
      "less than ANY": markJoin(t, u, "{t.a} >= {u.a}", "{t.b} < {u.c}"),
      "not equal to ANY": markJoin(t, u, "{t.a} = {u.a}", "{t.b} <> {u.c}"),
      "EXISTS by an inequality": markJoin(t, u, "{t.a} > {u.a} OR {t.b} = {u.c}"),
      "a comparison that is always NULL": markJoin(t, u, "{t.a} = {u.a}", "CAST(NULL AS BOOLEAN)"),
    });
  });

  test("above, below and beside other operators", async () => {
    const marked = markJoin(t, u, "{t.a} = {u.a}", "{t.b} <= {u.c}");
    await expectExact(world, {
      "a filter by the mark": filter(marked, "{mark} OR {t.b} IS NULL"),
      "NOT of the mark": filter(marked, "NOT {mark}"),
      "groups of it": aggregate(marked, { k: "{mark}" }, { n: "count(*)", s: "sum({t.b})" }),
      "one above another": { ...markJoin(marked, w, "{t.b} = {w.a}", "{t.a} > {w.d}"), mark: "second" },
      "a join on the left": markJoin(join([t, w], "{t.a} = {w.a}"), u, "{w.d} = {u.a}", "{t.b} > {u.c}"),
      "groups on the right": markJoin(t, aggregate(u, { k: "{u.a}" }, { m: "max({u.c})" }), "true", "{t.b} > {m}"),
      "an anti join on the right": markJoin(t, antiJoin(u, w, "{u.a} = {w.a}"), "{t.a} = {u.a}", "{t.b} = {u.c}"),
      "a union on the right": markJoin(t, unionAll(["x"], [u, "u.c"], [w, "w.d"]), "true", "{t.b} = {x}"),
      "a table with itself": markJoin(t, scan("t as t2", "a", "b"), "{t.a} = {t2.b}", "{t.b} < {t2.a}"),
      "constant rows": markJoin(t, constant("SELECT 1 AS x", "x"), "true", "{t.a} = {x}"),
      projected: project(marked, { x: "coalesce({mark}, false)" }),
    });
  });
});
