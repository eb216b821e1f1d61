import { expect, test } from "vitest";
import type { Relation } from "../../src/plan/relation.js";
import { joinOrder } from "../../src/render/join-order.js";
import { join, leaves, scan, sql } from "../plan/build.js";

const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => scan(name, "x", "y")) as [
  Relation,
  ...Relation[],
] as Relation[];
const delta: Relation = {
  kind: "delta-scan",
  source: "e",
  occurrence: 9,
  alias: "e",
  columns: [{ id: "e.x", name: "x" }],
  weight: "weight",
};
const cut: Relation = { kind: "restrict", input: scan("f", "x"), keys: scan("k", "x"), pairs: [[sql("{f.x}"), "k.x"]] };

function order(inputs: readonly (Relation | undefined)[], ...predicates: readonly string[]): string[] {
  const present = inputs.filter((input) => input !== undefined);
  return joinOrder(join(present, ...predicates)).map((input) => leaves(input)[0] ?? "");
}

test.each<[string, readonly string[], readonly string[]]>([
  [
    "from the delta outward along predicates",
    order([a, b, c, delta], "{a.x} = {b.x}", "{b.y} = {c.x}", "{c.y} = {e.x}"),
    ["Δ e", "new c", "new b", "new a"],
  ],
  [
    "from what is cut by keys where nothing is a delta",
    order([a, b, cut], "{a.x} = {b.x}", "{b.y} = {f.x}"),
    ["new f", "new b", "new a"],
  ],
  [
    "as written where nothing says better",
    order([a, b, c], "{a.x} = {b.x}", "{b.y} = {c.x}"),
    ["new a", "new b", "new c"],
  ],
  [
    "first the input that more predicates tie",
    order([a, b, c], "{a.x} = {b.x}", "{a.x} = {c.x}", "{a.y} = {c.y}"),
    ["new a", "new c", "new b"],
  ],
  [
    "last what no predicate ties",
    order([delta, d, a, b], "{e.x} = {b.x}", "{b.y} = {a.x}"),
    ["Δ e", "new b", "new a", "new d"],
  ],
  [
    "not by a predicate that needs a third input",
    order([a, b, c], "{a.x} + {b.x} = {c.x}", "{a.y} = {b.y}"),
    ["new a", "new b", "new c"],
  ],
])("inputs are joined %s", (_, found, expected) => {
  expect(found).toEqual(expected);
});
