import { beforeAll, describe, expect, test } from "vitest";
import { aggregate, filter, join, outerJoin, project, scan, unionAll } from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { nodesOf, outputsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");

describe("terms", () => {
  const groups = aggregate(t, { k: "{t.a}" }, { n: "count(*)" });

  test("are one, after minus before, and none where nothing changed", () => {
    expect(outputsOf(termsOf(groups, "t"))).toEqual([{ weight: "given", columns: ["k", "n"] }]);
    expect(termsOf(groups, "t")[0]?.occurrences).toEqual([t.occurrence]);
    expect(termsOf(groups)).toEqual([]);
    const both = aggregate(join([t, u], "{t.a} = {u.a}"), { k: "{t.b}" });
    expect(termsOf(both, "u", "t")).toHaveLength(1);
    expect(termsOf(both, "t", "u")[0]?.occurrences).toEqual([t.occurrence, u.occurrence]);
  });

  test("read the groups of changed rows only, new and old cut by the same keys, which are computed once", () => {
    const [term] = termsOf(groups, "t");
    if (term === undefined) throw new Error("no term");
    const cuts = nodesOf(term.relation).filter((node) => node.kind === "restrict");
    expect(cuts.map((cut) => cut.input)).toEqual([
      { ...t, version: "new" },
      { ...t, version: "old" },
    ]);
    const [first, second] = cuts.map((cut) => cut.keys);
    expect(first).toEqual(second);
    expect(first).toMatchObject({
      kind: "shared",
      input: { kind: "aggregate", calls: [], keys: [{ expression: { ref: "t.a" } }] },
    });
    expect(cuts[0]?.pairs).toEqual([[{ sql: `"t.a"`, columns: ["t.a"], ref: "t.a" }, expect.any(String)]]);
    const signs = nodesOf(term.relation).flatMap((node) =>
      node.kind === "project" ? [node.columns.at(-1)?.expression.sql] : [],
    );
    expect(signs).toEqual(["1", "-1"]);
  });

  test("cut only the inputs that a key comes from", () => {
    const [term] = termsOf(aggregate(join([t, u], "{t.a} = {u.a}"), { k: "{t.b}" }, { n: "count(*)" }), "u");
    const cuts = nodesOf(term?.relation ?? t).filter((node) => node.kind === "restrict");
    expect(cuts.map((cut) => cut.input.kind === "scan" && `${cut.input.version} ${cut.input.alias}`)).toEqual([
      "new t",
      "old t",
    ]);
  });
});

describe("old + Σ terms = new", () => {
  let world: World;
  beforeAll(async () => {
    world = await smallWorld();
  });

  test("for groups of one input", async () => {
    await expectExact(world, {
      "counts by a key that can be NULL": aggregate(t, { k: "{t.a}" }, { n: "count(*)", m: "count({t.b})" }),
      "sums and extremes": aggregate(t, { k: "{t.a}" }, { s: "sum({t.b})", x: "max({t.b})", y: "min({t.b})" }),
      "two keys": aggregate(t, { k: "{t.a}", l: "{t.b}" }, { n: "count(*)" }),
      "a computed key": aggregate(t, { k: "{t.a} % 2", l: "{t.a} + {t.b}" }, { n: "count(*)" }),
      "a constant key": aggregate(t, { k: "1", l: "{t.b}" }, { n: "count(*)" }),
      "only a constant key": aggregate(t, { k: "'x'" }, { n: "count(*)" }),
      "no keys, so always one row": aggregate(t, {}, { n: "count(*)", s: "sum({t.b})" }),
      "no keys over rows that are all left out": aggregate(filter(t, "false"), {}, { n: "count(*)" }),
      DISTINCT: aggregate(t, { x: "{t.a}", y: "{t.b}" }),
      "DISTINCT of no column of its own": aggregate(project(t, { one: "1" }), { x: "{one}" }),
      "an aggregate of distinct values": aggregate(t, { k: "{t.a}" }, { n: "count(DISTINCT {t.b})" }),
      "an aggregate with a filter": aggregate(t, { k: "{t.a}" }, { n: "count(*) FILTER (WHERE {t.b} > 1)" }),
      HAVING: filter(aggregate(t, { k: "{t.a}" }, { n: "count(*)" }), "{n} > 1"),
    });
  });

  test("for groups of other operators, and for groups of groups", async () => {
    const w = scan("w", "a", "d");
    await expectExact(world, {
      "of a join, by keys of one side": aggregate(join([t, u], "{t.a} = {u.a}"), { k: "{t.b}" }, { s: "sum({u.c})" }),
      "of a join, by keys of both sides": aggregate(
        join([t, u], "{t.a} = {u.a}"),
        { k: "{t.b}", l: "{u.c}" },
        { n: "count(*)" },
      ),
      "of a join, by a key of both sides": aggregate(
        join([t, u], "{t.a} = {u.a}"),
        { k: "{t.b} + {u.c}" },
        { n: "count(*)" },
      ),
      "of a join of three": aggregate(
        join([t, u, w], "{t.a} = {u.a}", "{u.a} = {w.a}"),
        { k: "{w.d}" },
        { n: "count(*)" },
      ),
      "of an outer join, by the padded side": aggregate(
        outerJoin("left", t, u, "{t.a} = {u.a}"),
        { k: "{u.c}" },
        { n: "count(*)" },
      ),
      "of an outer join, by the preserved side": aggregate(
        outerJoin("right", t, u, "{t.a} = {u.a}"),
        { k: "{u.c}" },
        { n: "count({t.a})" },
      ),
      "of a union": aggregate(unionAll(["x"], [t, "t.a"], [u, "u.c"]), { k: "{x}" }, { n: "count(*)" }),
      "of a projection": aggregate(project(t, { x: "{t.a} - {t.b}" }), { k: "{x}" }, { n: "count(*)" }),
      "of groups": aggregate(aggregate(t, { k: "{t.a}" }, { n: "count(*)" }), { m: "{n}" }, { groups: "count(*)" }),
      "of groups, by the same key": aggregate(
        aggregate(t, { k: "{t.a}", l: "{t.b}" }),
        { m: "{k}" },
        { n: "count(*)" },
      ),
      "of one row": aggregate(aggregate(t, {}, { n: "count(*)" }), { m: "{n}" }, { one: "count(*)" }),
      "without keys, of groups": aggregate(aggregate(t, { k: "{t.a}" }), {}, { n: "count({k})" }),
    });
  });
});
