import { atVersion, type Expression, expression, type MarkJoin, outputOf, type Relation } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { differenceTerm, occurrencesOf, rowsOf } from "./difference.js";

/**
 * EXISTS, IN, ANY and ALL as a value, any condition:
 *
 *   Δμ(L, R) = μ(ΔL, new R) ⊎ μ(A, new R) − μ(A, old R)   with A = the rows of old L that ΔR can concern
 *
 * As for a semi join, but a row that comes or goes concerns also the left rows for which the comparison with it is NULL:
 * it can turn their answer from false to NULL and back.
 */
export function markJoinDelta(join: MarkJoin, context: DeltaContext, derive: Derive): readonly Term[] {
  const newRight = atVersion(join.right, "new");
  const terms: Term[] = derive(join.left, context).map((term) => ({
    ...term,
    relation: { ...join, left: term.relation, right: newRight },
  }));
  const rightTerms = derive(join.right, context);
  if (rightTerms.length > 0) {
    const concerned: Relation = {
      kind: "semi-join",
      anti: false,
      left: atVersion(join.left, "old"),
      right: rowsOf(rightTerms, outputOf(join.right)),
      predicate: canConcern(join),
    };
    const left: Relation = { kind: "shared", name: context.ids.create("affected"), input: concerned };
    const after: Relation = { ...join, left, right: newRight };
    const before: Relation = { ...join, left, right: atVersion(join.right, "old") };
    terms.push(differenceTerm(after, before, occurrencesOf(rightTerms), context));
  }
  return terms;
}

function canConcern({ correlation, comparison }: MarkJoin): Expression {
  return comparison === null ? correlation : expression`${correlation} AND (${comparison} IS DISTINCT FROM false)`;
}
