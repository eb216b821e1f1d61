import type { SemiJoin } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { preservedSideDelta } from "./preserved-side.js";

/**
 * Semi and anti join, any predicate:
 *
 *   Δ(L ⋉ R) = (ΔL ⋉ new R) ⊎ (A ⋉ new R) − (A ⋉ old R)   with A = old L ⋉ rows of ΔR
 *
 * A left row can change its answer only if it matches a row that came or went.
 */
export function semiJoinDelta(join: SemiJoin, context: DeltaContext, derive: Derive): readonly Term[] {
  const { left, right, predicate } = join;
  const over = (left: SemiJoin["left"], right: SemiJoin["right"]): SemiJoin => ({ ...join, left, right });
  return preservedSideDelta({ left, right, concerns: predicate, over }, context, derive);
}
