import {
  atVersion,
  expression,
  type Relation,
  readsDirectly,
  type TimeFilter,
  type Version,
} from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";
import { differenceTerm } from "./difference.js";

/**
 * A filter whose predicate p reads the time, pinned to t before the window and to t' after it:
 *
 *   Δσ(R) = σ[p(t')](ΔR) ⊎ σ[p(t') ∧ ¬p(t)](old R) − σ[p(t) ∧ ¬p(t')](old R)
 *
 * Changed rows are tested at the new time; of the rows that were there before, those enter or leave for which the
 * predicate's answer moved with the time.
 */
export function timeFilterDelta(filter: TimeFilter, context: DeltaContext, derive: Derive): readonly Term[] {
  const changed = derive(filter.input, context).map((term) => ({
    ...term,
    relation: { ...filter, version: "new", input: term.relation } as const,
  }));
  return context.timeMoves ? [...changed, movedRows(filter, context)] : changed;
}

function movedRows(filter: TimeFilter, context: DeltaContext): Term {
  const before = readOnce(atVersion(filter.input, "old"), context);
  const holds = (version: Version, input: Relation): Relation => ({ ...filter, version, input });
  const fails = (version: Version, input: Relation): Relation => ({
    ...filter,
    version,
    input,
    predicate: expression`${filter.predicate} IS DISTINCT FROM true`,
  });
  const entering = holds("new", fails("old", before));
  const leaving = holds("old", fails("new", before));
  return differenceTerm(entering, leaving, [], context);
}

/** Rows that are read as they are stay two reads, since each can skip the files that its own predicate excludes. */
function readOnce(relation: Relation, context: DeltaContext): Relation {
  if (readsDirectly(relation)) return relation;
  return { kind: "shared", name: context.ids.create("before"), input: relation };
}
