import { beforeAll, describe, expect, test } from "vitest";
import { outputOf, type Relation } from "../../src/plan/relation.js";
import { aggregate, asofJoin, filter, join, leaves, project, scan } from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { nodesOf, outputsOf, readsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
/** One row for each key and moment: with several, an ASOF join has no single answer. */
const u = aggregate(scan("u", "a", "c"), { "u.a": "{u.a}" }, { "u.c": "max({u.c})" });
const moments = aggregate(scan("w", "a", "d"), { "w.a": "{w.a}", "w.d": "{w.d}" });

describe("the terms of an ASOF join", () => {
  const relation = asofJoin("left", t, scan("u", "a", "c"), [["{t.a}", "{u.a}"]], ["{t.b}", ">=", "{u.c}"]);

  test("for a change of the left side are the changed rows against the new right rows of their keys", () => {
    const terms = termsOf(relation, "t");
    expect(readsOf(terms)).toEqual([["Δ t", "new u", "Δ t"]]);
    const [cut] = nodesOf(terms[0]?.relation ?? t).filter((node) => node.kind === "restrict");
    expect(cut?.input).toMatchObject({ kind: "scan", source: "u" });
  });

  test("for a change of the right side are the old left rows that it can concern, after minus before", () => {
    const terms = termsOf(relation, "u");
    expect(outputsOf(terms)).toEqual([{ weight: "given", columns: outputOf(relation) }]);
    const reads = readsOf(terms).flat();
    expect(reads.filter((leaf) => leaf.endsWith(" t"))).toEqual(Array(4).fill("old t"));
    expect(reads.filter((leaf) => leaf === "new u" || leaf === "old u")).toEqual(["new u", "old u"]);
    const [concerned] = nodesOf(terms[0]?.relation ?? t).filter((node) => node.kind === "semi-join");
    expect(concerned).toMatchObject({ anti: false });
    expect(leaves(concerned ?? t)).toEqual(["old t", "Δ u"]);
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

  test.each(["inner", "left"] as const)("for %s joins by each inequality", async (side) => {
    const relations: Record<string, Relation> = {};
    for (const operator of [">=", ">", "<=", "<"] as const) {
      const key = [["{t.a}", "{w.a}"]] as const;
      relations[`by a key and ${operator}`] = asofJoin(side, t, moments, key, ["{t.b}", operator, "{w.d}"]);
      relations[`by ${operator} alone`] = asofJoin(side, t, u, [], ["{t.b}", operator, "{u.a}"]);
    }
    await expectExact(world, relations);
  });

  test("above, below and beside other operators", async () => {
    const nearest = asofJoin("left", t, moments, [["{t.a}", "{w.a}"]], ["{t.b}", ">=", "{w.d}"]);
    const self = aggregate(scan("t as x", "a", "b"), { "x.a": "{x.a}", "x.b": "{x.b}" });
    await expectExact(world, {
      "the same table on both sides": asofJoin("inner", t, self, [["{t.a}", "{x.b}"]], ["{t.b}", ">", "{x.a}"]),
      "a join on the left": asofJoin(
        "left",
        join([t, u], "{t.a} = {u.a}"),
        moments,
        [["{u.c}", "{w.a}"]],
        ["{t.b}", "<=", "{w.d}"],
      ),
      "groups of it": aggregate(nearest, { k: "{w.d}" }, { n: "count(*)", m: "max({t.b})" }),
      "below a filter": filter(nearest, "{w.d} IS NULL OR {w.d} > 1"),
      "keys that are expressions": asofJoin(
        "inner",
        t,
        moments,
        [["{t.a} + 1", "{w.a}"]],
        ["{t.b} + 1", ">=", "{w.d} * 2"],
      ),
      "one above another": asofJoin("left", nearest, u, [["{w.d}", "{u.c}"]], ["{t.b}", ">=", "{u.a}"]),
      projected: project(nearest, { x: "{t.a}", y: "coalesce({w.d}, -1)" }),
    });
  });
});
