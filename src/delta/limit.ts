import { atVersion, type Limit } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { differenceTerm, occurrencesOf } from "./difference.js";

/**
 * ORDER BY … LIMIT below other operators: the rows kept now minus the rows kept before. One row that comes can push
 * out any other, so both are evaluated whole. (Over the groups at the top of a view the limit is applied by the
 * user-facing view instead, see view/layout.ts.)
 */
export function limitDelta(limit: Limit, context: DeltaContext, derive: Derive): readonly Term[] {
  const terms = derive(limit.input, context);
  if (terms.length === 0) return [];
  return [differenceTerm(atVersion(limit, "new"), atVersion(limit, "old"), occurrencesOf(terms), context)];
}
