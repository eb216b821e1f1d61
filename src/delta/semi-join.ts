import { atVersion, outputOf, type Relation, type SemiJoin } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { differenceTerm, occurrencesOf, rowsOf } from "./difference.js";

/**
 * Semi and anti join, any predicate:
 *
 *   Δ(L ⋉ R) = (ΔL ⋉ new R) ⊎ (A ⋉ new R) − (A ⋉ old R)   with A = old L ⋉ rows of ΔR
 *
 * The operator is linear in its left side. Where only the right side changes, a left row can change its answer only
 * if it matches a row that came or went; for the others new and old answer cancel.
 */
export function semiJoinDelta(join: SemiJoin, context: DeltaContext, derive: Derive): readonly Term[] {
  const newRight = atVersion(join.right, "new");
  const terms: Term[] = derive(join.left, context).map((term) => ({
    ...term,
    relation: { ...join, left: term.relation, right: newRight },
  }));
  const rightTerms = derive(join.right, context);
  if (rightTerms.length > 0) {
    const affected: Relation = {
      kind: "shared",
      name: context.ids.create("affected"),
      input: {
        kind: "semi-join",
        anti: false,
        left: atVersion(join.left, "old"),
        right: rowsOf(rightTerms, outputOf(join.right)),
        predicate: join.predicate,
      },
    };
    const after: Relation = { ...join, left: affected, right: newRight };
    const before: Relation = { ...join, left: affected, right: atVersion(join.right, "old") };
    terms.push(differenceTerm(after, before, occurrencesOf(rightTerms), context));
  }
  return terms;
}
