import { type AsofJoin, type Expression, expression, type Relation } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { preservedSideDelta } from "./preserved-side.js";
import { restrictTo } from "./restrict.js";

/**
 * ASOF join, inner or left:
 *
 *   Δ(L ⋈ₐ R) = (ΔL ⋈ₐ new R) ⊎ (A ⋈ₐ new R) − (A ⋈ₐ old R)   with A = the rows of old L that ΔR can concern
 *
 * The operator is linear in its left side: each left row finds its own partner. A right row that came or went can only
 * concern the left rows of its key on its side of the inequality, as the partner that they gain or lose. Only right
 * rows with the keys of the left rows at hand are read.
 */
export function asofJoinDelta(join: AsofJoin, context: DeltaContext, derive: Derive): readonly Term[] {
  const over = (left: Relation, right: Relation): Relation => {
    const read = left.kind === "shared" ? left : shared("changed", left, context);
    return { ...join, left: read, right: withKeysOf(join, read, right, context) };
  };
  return preservedSideDelta({ left: join.left, right: join.right, concerns: canConcern(join), over }, context, derive);
}

function shared(name: string, input: Relation, context: DeltaContext): Relation {
  return { kind: "shared", name: context.ids.create(name), input };
}

function canConcern(join: AsofJoin): Expression {
  return join.keys.reduce(
    (rest, pair) => expression`${rest} AND ${pair.left} = ${pair.right}`,
    expression`${join.order.left} ${join.operator} ${join.order.right}`,
  );
}

function withKeysOf(join: AsofJoin, left: Relation, right: Relation, context: DeltaContext): Relation {
  if (join.keys.length === 0) return right;
  const keys = join.keys.map((pair) => ({ id: context.ids.create("key"), expression: pair.left }));
  const distinct = shared("keys", { kind: "aggregate", input: left, keys, calls: [] }, context);
  const pairs = join.keys.map((pair, index) => [pair.right, keys[index]?.id ?? ""] as const);
  return restrictTo(right, distinct, pairs);
}
