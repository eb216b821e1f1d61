import { beforeAll, describe, expect, test } from "vitest";
import { aggregate, filter, join, outerJoin, project, scan, window } from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { nodesOf, outputsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");
const ranked = window(t, ["{t.a}"], { r: "rank() OVER (PARTITION BY {t.a} ORDER BY {t.b})" });

describe("terms", () => {
  test("are one, after minus before, and none where nothing changed", () => {
    expect(outputsOf(termsOf(ranked, "t"))).toEqual([{ weight: "given", columns: ["t.a", "t.b", "r"] }]);
    expect(termsOf(ranked, "t")[0]?.occurrences).toEqual([t.occurrence]);
    expect(termsOf(ranked, "u")).toEqual([]);
  });

  test("read whole partitions of changed rows, new and old", () => {
    const [term] = termsOf(ranked, "t");
    const cuts = nodesOf(term?.relation ?? t).filter((node) => node.kind === "restrict");
    expect(cuts.map((cut) => cut.input)).toEqual([
      { ...t, version: "new" },
      { ...t, version: "old" },
    ]);
    expect(cuts[0]?.pairs.map(([expression]) => expression.ref)).toEqual(["t.a"]);
    const signs = nodesOf(term?.relation ?? t).flatMap((node) =>
      node.kind === "project" ? [node.columns.at(-1)?.expression.sql] : [],
    );
    expect(signs).toEqual(["1", "-1"]);
  });
});

describe("old + Σ terms = new", () => {
  let world: World;
  beforeAll(async () => {
    world = await smallWorld();
  });

  test("for functions that give peers the same answer", async () => {
    const over = (call: string, by = "{t.a}") => `${call} OVER (PARTITION BY ${by} ORDER BY {t.b})`;
    await expectExact(world, {
      rank: ranked,
      "a running total": window(t, ["{t.a}"], { s: over("sum({t.b})") }),
      "a partition's total": window(t, ["{t.a}"], { s: "count(*) OVER (PARTITION BY {t.a})" }),
      "a frame of values": window(t, ["{t.a}"], {
        s: "sum({t.b}) OVER (PARTITION BY {t.a} ORDER BY {t.b} RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
      }),
      "a computed partition": window(t, ["{t.a} % 2"], { r: over("dense_rank()", "{t.a} % 2") }),
      "two partition columns": window(t, ["{t.a}", "{t.b}"], { n: "count(*) OVER (PARTITION BY {t.a}, {t.b})" }),
      "a constant partition": window(t, ["1"], { n: "count(*) OVER (PARTITION BY 1)" }),
      "no partition": window(t, [], { n: "count(*) OVER ()", r: "rank() OVER (ORDER BY {t.b})" }),
      "the first of each partition": filter(ranked, "{r} = 1"),
      "one above the other": window(ranked, ["{t.b}"], {
        n: "count(*) OVER (PARTITION BY {t.b})",
        m: "max({r}) OVER (PARTITION BY {t.b})",
      }),
      "over groups": window(aggregate(t, { k: "{t.a}", l: "{t.b}" }, { n: "count(*)" }), ["{k}"], {
        r: "rank() OVER (PARTITION BY {k} ORDER BY {n})",
      }),
      "over a join": window(join([t, u], "{t.a} = {u.a}"), ["{u.c}"], {
        r: "rank() OVER (PARTITION BY {u.c} ORDER BY {t.b})",
      }),
      "over an outer join": window(outerJoin("left", t, u, "{t.a} = {u.a}"), ["{u.c}"], {
        n: "count(*) OVER (PARTITION BY {u.c})",
      }),
      "below groups": aggregate(ranked, { k: "{r}" }, { n: "count(*)" }),
      "below groups of the partition": aggregate(ranked, { k: "{t.a}" }, { m: "max({r})" }),
      "below groups of another column": aggregate(ranked, { k: "{t.b}" }, { m: "max({r})" }),
      "below a projection that renames the partition": aggregate(
        project(ranked, { x: "{t.a}", y: "{r}" }),
        { k: "{x}" },
        {
          s: "sum({y})",
        },
      ),
    });
  });
});
