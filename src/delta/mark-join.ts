import { type Expression, expression, type MarkJoin } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { preservedSideDelta } from "./preserved-side.js";

/**
 * EXISTS, IN, ANY and ALL as a value, any condition:
 *
 *   Δμ(L, R) = μ(ΔL, new R) ⊎ μ(A, new R) − μ(A, old R)   with A = the rows of old L that ΔR can concern
 *
 * As for a semi join, but a row that comes or goes concerns also the left rows for which the comparison with it is NULL:
 * it can turn their answer from false to NULL and back.
 */
export function markJoinDelta(join: MarkJoin, context: DeltaContext, derive: Derive): readonly Term[] {
  const { left, right } = join;
  const over = (left: MarkJoin["left"], right: MarkJoin["right"]): MarkJoin => ({ ...join, left, right });
  return preservedSideDelta({ left, right, concerns: canConcern(join), over }, context, derive);
}

function canConcern({ correlation, comparison }: MarkJoin): Expression {
  return comparison === null ? correlation : expression`${correlation} AND (${comparison} IS DISTINCT FROM false)`;
}
