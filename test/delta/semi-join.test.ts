import { beforeAll, describe, expect, test } from "vitest";
import {
  aggregate,
  antiJoin,
  constant,
  filter,
  join,
  leaves,
  project,
  scan,
  semiJoin,
  unionAll,
} from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { nodesOf, outputsOf, readsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");

describe.each([
  ["a semi join", semiJoin],
  ["an anti join", antiJoin],
])("the terms of %s", (_, make) => {
  const relation = make(t, u, "{t.a} = {u.a}");

  test("for a change of the left side are the changed rows against the new right side", () => {
    expect(readsOf(termsOf(relation, "t"))).toEqual([["Δ t", "new u"]]);
    expect(termsOf(relation, "t")[0]?.relation).toMatchObject({ kind: "semi-join", anti: relation.anti });
  });

  test("for a change of the right side are the old left rows that match a changed one, after minus before", () => {
    const [term, ...others] = termsOf(relation, "u");
    expect(others).toEqual([]);
    expect(term?.relation).toMatchObject({ kind: "union-all" });
    expect(leaves(term?.relation ?? t)).toEqual(["old t", "Δ u", "new u", "old t", "Δ u", "old u"]);
    const [after, before] = nodesOf(term?.relation ?? t).filter((node) => node.kind === "shared");
    expect(after).toEqual(before);
    // The rows that are looked at match a changed row; whether the join is anti says nothing of that.
    expect(after).toMatchObject({ input: { kind: "semi-join", anti: false, predicate: relation.predicate } });
    const signs = nodesOf(term?.relation ?? t).flatMap((node) =>
      node.kind === "project" ? [node.columns.at(-1)?.expression.sql] : [],
    );
    expect(signs).toEqual(["1", "-1"]);
    expect(term?.occurrences).toEqual([u.occurrence]);
  });

  test("for changes of both sides are both, and none for no change", () => {
    expect(outputsOf(termsOf(relation, "t", "u"))).toEqual([
      { weight: "given", columns: ["t.a", "t.b"] },
      { weight: "given", columns: ["t.a", "t.b"] },
    ]);
    expect(termsOf(relation)).toEqual([]);
  });

  test("take all terms of the right side together", () => {
    const union = unionAll(["x"], [u, "u.a"], [scan("w", "a"), "w.a"]);
    const [term, ...others] = termsOf(make(t, union, "{t.a} = {x}"), "u", "w");
    expect(others).toEqual([]);
    expect(leaves(term?.relation ?? t).filter((leaf) => leaf.startsWith("Δ"))).toEqual(["Δ u", "Δ w", "Δ u", "Δ w"]);
  });
});

describe("old + Σ terms = new", () => {
  let world: World;
  beforeAll(async () => {
    world = await smallWorld();
  });

  const PREDICATES = {
    equality: "{t.a} = {u.a}",
    "two equalities": "{t.a} = {u.a} AND {t.b} = {u.c}",
    "NULL-safe equality": "{t.a} IS NOT DISTINCT FROM {u.a}",
    inequality: "{t.a} >= {u.a}",
    "not equal": "{t.a} <> {u.a}",
    "as NOT IN asks": "({t.a} = {u.a}) IS DISTINCT FROM false",
    "a condition on the right rows alone": "{u.c} > 1",
    "a condition on the left rows alone": "{t.b} > 1",
    "always true": "true",
    "never true": "false",
    "always NULL": "CAST(NULL AS BOOLEAN)",
  };

  test.each([
    ["a semi join", semiJoin],
    ["an anti join", antiJoin],
  ])("for %s by any predicate", async (_, make) => {
    const relations = Object.entries(PREDICATES).map(([name, predicate]) => [name, make(t, u, predicate)]);
    await expectExact(world, Object.fromEntries(relations));
  });

  test("for semi and anti joins above, below and beside other operators", async () => {
    const w = scan("w", "a", "d");
    await expectExact(world, {
      "a table with itself": antiJoin(t, scan("t as t2", "a", "b"), "{t.a} = {t2.b}"),
      "both, one above the other": antiJoin(semiJoin(t, u, "{t.a} = {u.a}"), w, "{t.b} = {w.a}"),
      "on the right of another one": semiJoin(t, antiJoin(u, w, "{u.c} = {w.d}"), "{t.a} = {u.a}"),
      "a join on the left": antiJoin(join([t, u], "{t.a} = {u.a}"), w, "{u.c} = {w.a}"),
      "a join on the right": semiJoin(t, join([u, w], "{u.a} = {w.a}"), "{t.a} = {u.c}"),
      "groups on the right": antiJoin(
        t,
        aggregate(u, { k: "{u.a}" }, { m: "max({u.c})" }),
        "{t.a} = {k} AND {t.b} < {m}",
      ),
      "groups on the left": antiJoin(aggregate(t, { k: "{t.a}" }, { n: "count(*)" }), u, "{n} = {u.c}"),
      "a union on the right": semiJoin(t, unionAll(["x"], [u, "u.a"], [w, "w.a"]), "{t.a} = {x}"),
      "constant rows": antiJoin(t, constant("SELECT 1 AS x", "x"), "{t.a} = {x}"),
      "a projection above a filter above": project(filter(semiJoin(t, u, "{t.a} = {u.a}"), "{t.b} > 0"), {
        x: "{t.b}",
      }),
    });
  });
});
