import { type Aggregate, atVersion } from "../plan/relation.js";
import { affectedKeys } from "./affected-keys.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { differenceTerm, occurrencesOf } from "./difference.js";

/**
 * GROUP BY and DISTINCT below other operators:
 *
 *   Δγ(R) = γ(new R ⋉ K) − γ(old R ⋉ K)   with K = the grouping keys of the rows of ΔR
 *
 * Only groups that some changed row belongs to can differ. (At the top of a view the groups' state is stored and the
 * delta is folded into it instead, see view/.)
 */
export function aggregateDelta(aggregate: Aggregate, context: DeltaContext, derive: Derive): readonly Term[] {
  const terms = derive(aggregate.input, context);
  if (terms.length === 0) return [];
  const keys = affectedKeys(
    aggregate.input,
    terms,
    aggregate.keys.map((key) => key.expression),
    context,
  );
  const after = { ...aggregate, input: keys.restrict(atVersion(aggregate.input, "new")) };
  const before = { ...aggregate, input: keys.restrict(atVersion(aggregate.input, "old")) };
  return [differenceTerm(after, before, occurrencesOf(terms), context)];
}
