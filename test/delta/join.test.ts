import { beforeAll, describe, expect, test } from "vitest";
import { aggregate, constant, filter, join, project, scan, unionAll } from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { outputsOf, readsOf, termsOf } from "./terms.js";

function chain(size: number) {
  const inputs = Array.from({ length: size }, (_, index) => scan(`r${index + 1}`, "a"));
  const predicates = inputs.slice(1).map((input, index) => `{r${index + 1}.a} = {${input.alias}.a}`);
  return { relation: join(inputs, ...predicates), sources: inputs.map((input) => input.source) };
}

describe("the telescoping sum", () => {
  test("has one term an input: new before it, its delta, old behind it", () => {
    const { relation, sources } = chain(4);
    expect(readsOf(termsOf(relation, ...sources))).toEqual([
      ["Δ r1", "old r2", "old r3", "old r4"],
      ["new r1", "Δ r2", "old r3", "old r4"],
      ["new r1", "new r2", "Δ r3", "old r4"],
      ["new r1", "new r2", "new r3", "Δ r4"],
    ]);
  });

  test.each([1, 2, 3, 5, 16, 40])("has %d terms for as many inputs that changed", (size) => {
    const { relation, sources } = chain(size);
    const terms = termsOf(relation, ...sources);
    expect(terms).toHaveLength(size);
    expect(terms.map((term) => term.occurrences)).toEqual(
      relation.inputs.map((input) => (input.kind === "scan" ? [input.occurrence] : [])),
    );
  });

  test("has no term for an input that did not change, and never its delta", () => {
    const { relation } = chain(4);
    expect(readsOf(termsOf(relation, "r1", "r3"))).toEqual([
      ["Δ r1", "old r2", "old r3", "old r4"],
      ["new r1", "new r2", "Δ r3", "old r4"],
    ]);
    expect(termsOf(relation)).toEqual([]);
  });

  test("keeps the predicates and gives the columns of all inputs and the weight", () => {
    const { relation, sources } = chain(3);
    for (const term of termsOf(relation, ...sources)) {
      expect(term.relation).toMatchObject({ kind: "join", predicates: relation.predicates });
    }
    expect(outputsOf(termsOf(relation, ...sources))).toEqual(
      sources.map(() => ({ weight: "given", columns: ["r1.a", "r2.a", "r3.a"] })),
    );
  });

  test("takes each place of a self-join as an input of its own", () => {
    const self = join([scan("t as x", "a"), scan("t as y", "a"), scan("t as z", "a")], "{x.a} = {y.a}");
    expect(readsOf(termsOf(self, "t"))).toEqual([
      ["Δ x", "old y", "old z"],
      ["new x", "Δ y", "old z"],
      ["new x", "new y", "Δ z"],
    ]);
  });

  test("has a term for each term of an input that is not a table", () => {
    const union = unionAll(["x"], [scan("t", "a"), "t.a"], [scan("u", "a"), "u.a"]);
    const relation = join([union, scan("w", "a"), constant("SELECT 1 AS one", "one")], "{x} = {w.a}");
    expect(readsOf(termsOf(relation, "t", "u", "w"))).toEqual([
      ["Δ t", "old w"],
      ["Δ u", "old w"],
      ["new t", "new u", "Δ w"],
    ]);
  });
});

describe("old + Σ terms = new", () => {
  let world: World;
  beforeAll(async () => {
    world = await smallWorld();
  });

  const [t, u, w] = [scan("t", "a", "b"), scan("u", "a", "c"), scan("w", "a", "d")];
  const [t2, u2] = [scan("t as t2", "a", "b"), scan("u as u2", "a", "c")];

  test("for joins of two to five inputs", async () => {
    await expectExact(world, {
      "one input": join([t]),
      equality: join([t, u], "{t.a} = {u.a}"),
      inequality: join([t, u], "{t.a} < {u.a}"),
      "NULL-safe equality": join([t, u], "{t.a} IS NOT DISTINCT FROM {u.a}"),
      "a cross product": join([t, u]),
      "several predicates": join([t, u], "{t.a} = {u.a}", "{t.b} + {u.c} > 2"),
      "a predicate on one side": join([t, u], "{t.a} = {u.a}", "{u.c} IS NULL"),
      "three in a chain": join([t, u, w], "{t.a} = {u.a}", "{u.c} = {w.a}"),
      "three in a ring": join([t, u, w], "{t.a} = {u.a}", "{u.c} = {w.d}", "{w.a} = {t.b}"),
      four: join([t, u, w, t2], "{t.a} = {u.a}", "{u.c} = {w.a}", "{t2.b} = {t.b}"),
      five: join([t, u, w, t2, u2], "{t.a} = {u.a}", "{u.c} = {w.a}", "{t2.b} = {t.b}", "{u2.a} = {t2.a}"),
      "a table with itself": join([t, t2], "{t.a} = {t2.b}"),
      "a table with itself three times": join([t, t2, scan("t as t3", "a", "b")], "{t.a} = {t2.a}", "{t2.b} = {t3.a}"),
    });
  });

  test("for inputs that are not tables, and for a join as an input", async () => {
    await expectExact(world, {
      "filter and projection": join([filter(t, "{t.b} > 0"), project(u, { x: "{u.a} % 2" })], "{t.a} = {x}"),
      "a union": join([unionAll(["x"], [t, "t.a"], [u, "u.a"]), w], "{x} = {w.a}"),
      "groups on both sides": join(
        [aggregate(t, { k: "{t.a}" }, { n: "count(*)" }), aggregate(u, { l: "{u.a}" }, { m: "count(*)" })],
        "{k} = {l}",
      ),
      "a join, and a table that it reads too": join([join([t, u], "{t.a} = {u.a}"), t2], "{t2.a} = {u.c}"),
      "constant rows": join([constant("SELECT unnest([0, 1, NULL]) AS x", "x"), t], "{x} = {t.a}"),
      "a filter and a projection above": project(filter(join([t, u], "{t.a} = {u.a}"), "{u.c} > {t.b}"), {
        x: "{t.b}",
      }),
    });
  });
});
