import { PLAN_TOO_LARGE } from "../delta/size.js";
import { IvmError } from "../errors.js";
import { MANY_ROWS } from "../plan/lower-correlated.js";
import type { Reason } from "../types.js";
import { CANDIDATES_EXHAUSTED } from "./candidates.js";
import { GivenUp } from "./cost-watch.js";
import { RECURSION_LOST } from "./recursion.js";
import { TABLE_ALTERED } from "./stored-table.js";

export const TOO_LARGE: Reason = {
  code: PLAN_TOO_LARGE,
  text: "what changed goes through so many joins of joins that its delta would be a statement of absurd length",
};

/** Failures of an incremental refresh that a recompute does not have; null for all others. */
export function incrementalFailure(error: unknown): Reason | null {
  if (error instanceof GivenUp) return { code: "cost_exceeded", text: error.message };
  if (!(error instanceof IvmError)) return null;
  if (error.code === TABLE_ALTERED) {
    return { code: TABLE_ALTERED, text: "something else has written to the view's physical table" };
  }
  // The sum of a change can leave a range that the sums before and after it are in.
  if (error.code === "engine_error" && /^(Out of Range|Conversion) Error/.test(error.message)) {
    return { code: "out_of_range", text: "the change of a sum is out of its type's range" };
  }
  if (error.code === PLAN_TOO_LARGE) return TOO_LARGE;
  if (error.code === RECURSION_LOST) {
    return { code: RECURSION_LOST, text: "rows went that a recursion may have gone through" };
  }
  if (error.code === CANDIDATES_EXHAUSTED) {
    return {
      code: CANDIDATES_EXHAUSTED,
      text: "the rows that are kept beyond the LIMIT are used up and are read anew",
    };
  }
  // A subquery may only have one row for the rows that ask for it, and the rule looks at others as well.
  if (error.code === "engine_error" && error.message.includes(MANY_ROWS)) {
    return { code: "scalar_subquery", text: MANY_ROWS };
  }
  return null;
}
