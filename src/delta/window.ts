import { atVersion, type Window } from "../plan/relation.js";
import { affectedKeys } from "./affected-keys.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { differenceTerm, occurrencesOf } from "./difference.js";

/**
 * Window functions: Δω(R) = ω(new R ⋉ P) − ω(old R ⋉ P) with P = the partitions of the rows of ΔR. A partition
 * without a changed row gives the same rows before and after.
 */
export function windowDelta(window: Window, context: DeltaContext, derive: Derive): readonly Term[] {
  const terms = derive(window.input, context);
  if (terms.length === 0) return [];
  const keys = affectedKeys(window.input, terms, window.partition, context);
  const after = { ...window, input: keys.restrict(atVersion(window.input, "new")) };
  const before = { ...window, input: keys.restrict(atVersion(window.input, "old")) };
  return [differenceTerm(after, before, occurrencesOf(terms), context)];
}
