import { beforeAll, expect, test } from "vitest";
import { derive } from "../../src/delta/derive.js";
import { aggregate, antiJoin, filter, join, leaves, project, scan, timeFilter } from "../plan/build.js";
import { INSTANTS, type World } from "../plan/world.js";
import { expectExact, smallWorld } from "./data.js";
import { contextOf, nodesOf, outputsOf, readsOf, termsOf } from "./terms.js";

const t = scan("t", "a", "b");
const u = scan("u", "a", "c");

/** Days from the old to the new time: 29. */
const recent = (days: number): string => `TIMESTAMPTZ '${INSTANTS.new}' - {now#0} < to_days({t.a} * ${days})`;

test("changed rows are tested at the new time", () => {
  const [term, ...others] = termsOf(timeFilter(t, recent(10)), "t");
  expect(others).toEqual([]);
  expect(term?.relation).toMatchObject({ kind: "time-filter", version: "new", input: { kind: "delta-scan" } });
});

test("while the time stands still an unchanged table has no terms, and when it moves the old rows are tested at both times", () => {
  const relation = timeFilter(t, recent(10));
  expect(termsOf(relation)).toEqual([]);
  const terms = termsOf(relation, "now()");
  expect(outputsOf(terms)).toEqual([{ weight: "given", columns: ["t.a", "t.b"] }]);
  expect(terms[0]?.occurrences).toEqual([]);
  expect(readsOf(terms)).toEqual([["old t", "old t"]]);
  const versions = nodesOf(terms[0]?.relation ?? t).flatMap((node) =>
    node.kind === "time-filter" ? [node.version] : [],
  );
  expect(versions).toEqual(["new", "old", "old", "new"]);
});

test("rows that are dear to make are made once", () => {
  const groups = aggregate(t, { "t.a": "{t.a}" }, { n: "count(*)" });
  const [term] = derive(timeFilter(project(groups, { "t.a": "{t.a}" }), recent(10)), contextOf(["now()"]));
  const shared = nodesOf(term?.relation ?? t).filter((node) => node.kind === "shared");
  expect(shared).toHaveLength(2);
  expect(shared[0]).toEqual(shared[1]);
  expect(leaves(shared[0] ?? t)).toEqual(["old t"]);
});

let world: World;
beforeAll(async () => {
  world = await smallWorld();
});

test("old + Σ terms = new", async () => {
  const filtered = timeFilter(t, recent(15));
  await expectExact(world, {
    "rows that enter": filtered,
    "rows that leave": timeFilter(t, `NOT (${recent(15)})`),
    "rows for which the answer becomes NULL": timeFilter(t, `CASE WHEN ${recent(15)} THEN {t.b} > 1 END`),
    "one above another": timeFilter(timeFilter(t, `{t.b} > 0 AND ${recent(15)}`), `NOT (${recent(10)})`),
    "a join": join([filtered, u], "{t.a} = {u.a}"),
    "above a join": timeFilter(join([t, u], "{t.a} = {u.a}"), recent(15)),
    "an anti join": antiJoin(u, filtered, "{t.a} = {u.a}"),
    groups: aggregate(filtered, { k: "{t.b}" }, { n: "count(*)", s: "sum({t.a})" }),
    "above groups": timeFilter(aggregate(t, { "t.a": "{t.a}" }, { n: "count(*)" }), recent(15)),
    "below a filter": filter(filtered, "{t.b} > 1"),
  });
});
