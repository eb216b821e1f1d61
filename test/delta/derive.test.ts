import { beforeAll, describe, expect, test } from "vitest";
import { derive } from "../../src/delta/derive.js";
import type { Relation } from "../../src/plan/relation.js";
import type { ViewPlan } from "../../src/view/plan-view.js";
import { constant, scan } from "../plan/build.js";
import * as definitions from "../plan/definitions.js";
import { World } from "../plan/world.js";
import { everyChange, TABLES } from "./data.js";
import { contextOf } from "./terms.js";

const t = scan("t", "a");

test("constant rows have no delta", () => {
  expect(derive(constant("SELECT 1 AS x", "x"), contextOf(["t"]))).toEqual([]);
});

test.each<[string, Relation]>([
  ["the delta of a table", { kind: "delta-scan", source: "t", occurrence: 1, alias: "t", columns: [], weight: "w" }],
  ["a cut by keys", { kind: "restrict", input: t, keys: t, pairs: [] }],
  ["a shared part", { kind: "shared", name: "s", input: t }],
])("%s is made by the rules and has no delta itself", (_, relation) => {
  expect(() => derive(relation, contextOf(["t"]))).toThrow(TypeError);
});

/** Definitions in which the rules stand above each other. */
const NESTED = {
  "groups of a left join of groups": `
    SELECT x.k, sum(y.n) FROM (SELECT a AS k, count(*) AS c FROM t GROUP BY a) AS x
    LEFT JOIN (SELECT a, count(*) AS n FROM u GROUP BY a HAVING count(*) > 1) AS y ON x.k = y.a GROUP BY x.k`,
  "an anti join over a full join": `
    SELECT b, c FROM t FULL JOIN u USING (a) WHERE NOT EXISTS (SELECT 1 FROM w WHERE w.d = b OR w.d = c)`,
  "ranks of groups of a join": `
    SELECT * FROM (SELECT t.a, u.c, count(*) AS n FROM t JOIN u ON t.a = u.a GROUP BY ALL)
    QUALIFY rank() OVER (PARTITION BY a ORDER BY n DESC) = 1`,
  "a union of a difference and a join, distinct": `
    (SELECT a FROM t EXCEPT ALL SELECT c FROM u) UNION SELECT t.b FROM t JOIN w ON t.a = w.a AND w.d > t.b`,
  "NOT IN over a union of groups": `
    SELECT a, b FROM t WHERE a NOT IN (SELECT max(c) FROM u GROUP BY a UNION ALL SELECT d FROM w WHERE d IS NOT NULL)`,
  "a CTE used on both sides of an outer join": `
    WITH x AS (SELECT a, sum(b) AS s FROM t GROUP BY a)
    SELECT p.a, q.s FROM x AS p LEFT JOIN x AS q ON p.s = q.a`,
  "a semi join over an intersection": `
    SELECT count(*), sum(b) FROM t SEMI JOIN (SELECT a FROM u INTERSECT SELECT a FROM w) AS x ON t.a = x.a`,
  "five tables, one of them three times": `
    SELECT t.b, count(*) FROM t JOIN u ON t.a = u.a JOIN t AS t2 ON t2.b = u.c LEFT JOIN t AS t3 ON t3.a = t2.a
    JOIN w ON w.a = t.a GROUP BY t.b`,
  "running totals over a right join": `
    SELECT c, sum(b) OVER (PARTITION BY c ORDER BY b) FROM t RIGHT JOIN u USING (a)`,
  "a union of everything, grouped twice": `
    SELECT n, count(*) FROM (SELECT a, count(*) AS n FROM (SELECT a FROM t UNION ALL SELECT c FROM u
    UNION ALL SELECT d FROM w WHERE d NOT IN (SELECT a FROM u WHERE a IS NOT NULL)) GROUP BY a) GROUP BY n`,
};

describe("old + Σ terms = new for definitions", () => {
  test("that nest the rules", async () => {
    const world = await World.create(TABLES);
    const plans: { name: string; query: string; plan: ViewPlan }[] = [];
    for (const [name, query] of Object.entries(NESTED)) plans.push({ name, query, plan: await world.planned(query) });
    await everyChange(async (change) => {
      await world.load(change);
      for (const { name, query, plan } of plans) {
        const errors = await world.definitionErrors(query, plan);
        if (errors.length > 0) throw new Error(`${name}: old + Σ terms differs from new (${errors.length} rows)`);
      }
    }, 1);
  });

  const { JOINS, SUBQUERIES, GROUPS, WINDOWS, SET_OPERATIONS, EXPRESSIONS, CONSTANTS, TIME, PIVOTS, LATERALS, LIMITS } =
    definitions;
  const parts = {
    JOINS,
    SUBQUERIES,
    GROUPS,
    WINDOWS,
    SET_OPERATIONS,
    EXPRESSIONS,
    CONSTANTS,
    TIME,
    PIVOTS,
    LATERALS,
    LIMITS,
  };

  let world: World;
  beforeAll(async () => {
    world = await World.create(definitions.TABLES);
    await world.run(
      ...definitions.rowsOf("old", 1),
      ...definitions.rowsOf("new", 1),
      ...definitions.rowsOf("new", 500),
    );
    for (const table of Object.keys(definitions.TABLES)) {
      await world.run(`DELETE FROM lake.new.${table} AS r WHERE hash(r) % 3 = 0`);
    }
    await world.measure();
  });

  test.each(Object.entries(parts))("of all forms: %s", async (_, queries) => {
    const wrong: string[] = [];
    for (const [name, query] of Object.entries<string>(queries)) {
      const { plan } = await world.plan(query);
      if (plan === null) continue;
      const errors = await world.deltaErrors(plan.relation, world.contextOf(plan));
      if (errors.length > 0) wrong.push(name);
    }
    expect(wrong).toEqual([]);
  });
});
