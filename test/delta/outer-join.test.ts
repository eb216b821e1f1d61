import { beforeAll, describe, expect, test } from "vitest";
import { derive } from "../../src/delta/derive.js";
import { aggregate, filter, join, leaves, outerJoin, project, scan } from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { contextOf, nodesOf, outputsOf, readsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");
const SIDES = ["left", "right", "full"] as const;

describe("terms", () => {
  test("a change of the preserved side alone reads no old state and only its own delta", () => {
    expect(readsOf(termsOf(outerJoin("left", t, u, "{t.a} = {u.a}"), "t"))).toEqual([
      ["Δ t", "old u"],
      ["Δ t", "new u"],
    ]);
    expect(readsOf(termsOf(outerJoin("right", t, u, "{t.a} = {u.a}"), "u"))).toEqual([
      ["new t", "Δ u"],
      ["Δ u", "new t"],
    ]);
  });

  test("a change of the other side alone cuts the preserved rows down to those that match a changed row", () => {
    const terms = termsOf(outerJoin("left", t, u, "{t.a} = {u.a}"), "u");
    expect(terms).toHaveLength(2);
    expect(leaves(terms[0]?.relation ?? t)).toEqual(["new t", "Δ u"]);
    const preserved = nodesOf(terms[1]?.relation ?? t).filter((node) => node.kind === "shared");
    expect(preserved.map(leaves)).toEqual([
      ["old t", "Δ u"],
      ["old t", "Δ u"],
    ]);
  });

  test.each(SIDES)("a %s join has no term where neither side changed, and all columns where one did", (side) => {
    const relation = outerJoin(side, t, u, "{t.a} = {u.a}");
    expect(termsOf(relation)).toEqual([]);
    for (const output of outputsOf(termsOf(relation, "t", "u"))) {
      expect(output).toEqual({ weight: "given", columns: ["t.a", "t.b", "u.a", "u.c"] });
    }
  });

  test("the padding has the types of the columns it stands for", () => {
    const context = contextOf(["t"], (id) => (id === "u.c" ? "DECIMAL(10,2)" : "VARCHAR"));
    const terms = derive(outerJoin("left", t, u, "{t.a} = {u.a}"), context);
    const pads = nodesOf(terms.at(-1)?.relation ?? t).flatMap((node) =>
      node.kind === "project" ? node.columns.filter((column) => column.expression.sql.startsWith("CAST(NULL")) : [],
    );
    expect(pads.map((column) => `${column.id}: ${column.expression.sql}`)).toEqual([
      "u.a: CAST(NULL AS VARCHAR)",
      "u.c: CAST(NULL AS DECIMAL(10,2))",
    ]);
  });
});

describe("old + Σ terms = new", () => {
  let world: World;
  beforeAll(async () => {
    world = await smallWorld();
  });

  const PREDICATES = {
    equality: "{t.a} = {u.a}",
    "NULL-safe equality": "{t.a} IS NOT DISTINCT FROM {u.a}",
    inequality: "{t.a} < {u.a}",
    "equality and more": "{t.a} = {u.a} AND {t.b} > {u.c}",
    "a condition on the left rows alone": "{t.b} > 1",
    "a condition on the right rows alone": "{u.c} = 1",
    "a condition that can be NULL": "{t.a} = {u.a} OR {t.b} = {u.c}",
    "always true": "true",
    "never true": "false",
    "always NULL": "CAST(NULL AS BOOLEAN)",
  };

  test.each(SIDES)("for a %s join by any predicate", async (side) => {
    // A full join has the parts of both others, so those are tried with fewer predicates.
    const predicates = Object.entries(PREDICATES).slice(0, side === "full" ? undefined : 5);
    const relations = predicates.map(([name, predicate]) => [name, outerJoin(side, t, u, predicate)]);
    await expectExact(world, Object.fromEntries(relations));
  });

  test("for outer joins above, below and beside other operators", async () => {
    const w = scan("w", "a", "d");
    const t2 = scan("t as t2", "a", "b");
    await expectExact(world, {
      "a table with itself": outerJoin("full", t, t2, "{t.a} = {t2.b}"),
      "a chain": outerJoin("left", outerJoin("left", t, u, "{t.a} = {u.a}"), w, "{u.c} = {w.a}"),
      "full above full": outerJoin("full", outerJoin("full", t, u, "{t.a} = {u.a}"), w, "{u.a} = {w.a}"),
      "left with a join on its right": outerJoin("left", t, join([u, w], "{u.a} = {w.a}"), "{t.b} = {u.c}"),
      "a join with an outer join in it": join([outerJoin("right", t, u, "{t.a} = {u.a}"), w], "{w.d} = {u.c}"),
      "groups on the right": outerJoin("left", t, aggregate(u, { k: "{u.a}" }, { n: "count(*)" }), "{t.a} = {k}"),
      "groups above": aggregate(outerJoin("left", t, u, "{t.a} = {u.a}"), { k: "{t.b}" }, { n: "count({u.c})" }),
      "a filter that undoes the padding": filter(outerJoin("left", t, u, "{t.a} = {u.a}"), "{u.a} IS NULL"),
      "a coalesced key": project(outerJoin("full", t, u, "{t.a} = {u.a}"), { k: "coalesce({t.a}, {u.a})" }),
    });
  });
});
