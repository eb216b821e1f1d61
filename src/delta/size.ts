import { RefreshError } from "../errors.js";
import { inputsOf, type Relation } from "../plan/relation.js";
import type { Term } from "./contract.js";

/** The code of the error for deltas that would be statements of absurd length. */
export const PLAN_TOO_LARGE = "plan_too_large";

/**
 * Operators that all terms of one delta may have together, each counted as often as it stands in the statement. Joins
 * of N inputs, each a join of N others, multiply by N² a level: the delta of a query that is a page long can have a
 * hundred million. Those of the TPC-DS queries have some hundreds.
 */
const MOST_OPERATORS = 10_000;

const sizes = new WeakMap<Relation, number>();

/** Operators of a relation as it is written out; parts that are shared are counted wherever they are named. */
function sizeOf(relation: Relation): number {
  const known = sizes.get(relation);
  if (known !== undefined) return known;
  const size = inputsOf(relation).reduce((sum, input) => sum + sizeOf(input), 1);
  sizes.set(relation, size);
  return size;
}

/** @throws RefreshError `plan_too_large`. */
export function requireModest(terms: readonly Term[]): readonly Term[] {
  const size = terms.reduce((sum, term) => sum + sizeOf(term.relation), 0);
  if (size <= MOST_OPERATORS) return terms;
  throw new RefreshError(PLAN_TOO_LARGE, `The delta would take a statement of more than ${MOST_OPERATORS} operators.`, {
    hint: "Make the common table expressions that the definition reads several times views of their own.",
  });
}
