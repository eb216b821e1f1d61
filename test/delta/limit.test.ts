import { beforeAll, expect, test } from "vitest";
import type { Limit, Relation } from "../../src/plan/relation.js";
import { aggregate, filter, join, leaves, project, scan, sql } from "../plan/build.js";
import type { World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { outputsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");

function limited(input: Relation, order: readonly string[], limit: string | null, offset: string | null = null): Limit {
  const orders = order.map((text) => {
    const [, expression = text, direction = "ASC"] = /^(.*?)( DESC.*)?$/.exec(text) ?? [];
    return { expression: sql(expression), direction: direction.trim() };
  });
  return { kind: "limit", input, orders, limit, offset };
}

test("the term is the rows kept now minus the rows kept before, both evaluated whole", () => {
  const relation = limited(join([t, u], "{t.a} = {u.a}"), ["{t.b}"], "3");
  expect(outputsOf(termsOf(relation, "u"))).toEqual([{ weight: "given", columns: ["t.a", "t.b", "u.a", "u.c"] }]);
  expect(termsOf(relation, "u").map((term) => leaves(term.relation))).toEqual([["new t", "new u", "old t", "old u"]]);
  expect(termsOf(relation)).toEqual([]);
});

let world: World;
beforeAll(async () => {
  world = await smallWorld();
});

test("old + Σ terms = new, where the order is total", async () => {
  const total = ["{t.a}", "{t.b}"];
  await expectExact(world, {
    "the first rows": limited(t, total, "3"),
    "the last rows": limited(t, ["{t.a} DESC NULLS FIRST", "{t.b} DESC"], "2"),
    "rows behind an offset": limited(t, total, "2", "2"),
    "an offset alone": limited(t, total, null, "3"),
    "no rows": limited(t, total, "0"),
    "of groups": limited(aggregate(t, { k: "{t.a}" }, { n: "count(*)" }), ["{n} DESC", "{k}"], "2"),
    "below groups": aggregate(limited(t, total, "4"), { k: "{t.a}" }, { n: "count(*)" }),
    "below a join": join([limited(t, total, "3"), u], "{t.a} = {u.a}"),
    "below groups of a projection of a filter": aggregate(
      project(filter(limited(t, total, "4"), "{t.b} > 0"), { x: "{t.a}" }),
      { k: "{x}" },
      { n: "count(*)" },
    ),
  });
});
