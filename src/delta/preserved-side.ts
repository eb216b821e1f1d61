import { atVersion, type Expression, outputOf, type Relation } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { differenceTerm, occurrencesOf, rowsOf } from "./difference.js";

/** An operator that answers for each row of its left side alone, from all of its right side. */
interface PreservedSide {
  readonly left: Relation;
  readonly right: Relation;
  /** True for left rows whose answer a right row that came or went can change. */
  readonly concerns: Expression;
  /** The operator over other inputs. */
  readonly over: (left: Relation, right: Relation) => Relation;
}

/**
 * Operators that are linear in a preserved side:
 *
 *   Δω(L, R) = ω(ΔL, new R) ⊎ ω(A, new R) − ω(A, old R)   with A = the rows of old L that ΔR can concern
 *
 * Where only the right side changes, new and old answer of all other left rows cancel.
 */
export function preservedSideDelta(operator: PreservedSide, context: DeltaContext, derive: Derive): readonly Term[] {
  const { left, right, over } = operator;
  const newRight = atVersion(right, "new");
  const terms: Term[] = derive(left, context).map((term) => ({ ...term, relation: over(term.relation, newRight) }));
  const rightTerms = derive(right, context);
  if (rightTerms.length === 0) return terms;
  const affected: Relation = {
    kind: "shared",
    name: context.ids.create("affected"),
    input: {
      kind: "semi-join",
      anti: false,
      left: atVersion(left, "old"),
      right: rowsOf(rightTerms, outputOf(right)),
      predicate: operator.concerns,
    },
  };
  const [after, before] = [over(affected, newRight), over(affected, atVersion(right, "old"))];
  return [...terms, differenceTerm(after, before, occurrencesOf(rightTerms), context)];
}
