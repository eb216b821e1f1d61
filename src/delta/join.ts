import { atVersion, type Join } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";

/**
 * Inner join of N inputs by the telescoping sum
 *
 *   Δ(R₁ ⋈ … ⋈ R_N) = Σᵢ new₁ ⋈ … ⋈ newᵢ₋₁ ⋈ Δᵢ ⋈ oldᵢ₊₁ ⋈ … ⋈ old_N
 *
 * Neighbouring summands share all but one factor, so everything between the first old state and the last new state
 * cancels: N terms, where inclusion and exclusion over new states needs 2^N − 1. An input whose sources did not
 * change has no Δᵢ, and its term does not exist.
 */
export function joinDelta(join: Join, context: DeltaContext, derive: Derive): readonly Term[] {
  return join.inputs.flatMap((input, index) =>
    derive(input, context).map((term) => ({
      ...term,
      relation: {
        ...join,
        inputs: join.inputs.map((other, position) => {
          if (position === index) return term.relation;
          return atVersion(other, position < index ? "new" : "old");
        }),
      },
    })),
  );
}
