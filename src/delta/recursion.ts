import { type Recursion, traceIteration } from "../plan/recursion.js";
import { type ColumnId, keepColumns, type Relation } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";

/** The change of what the anchor, or one round of the step over the stored rows, gives. */
export interface RoundChange {
  readonly terms: readonly Term[];
  /** The columns of R. */
  readonly output: readonly ColumnId[];
  /** The columns of the row that a row was made of; none for the anchor. */
  readonly from: readonly ColumnId[];
}

/**
 * Recursion with UNION, linear in its own rows: R is the least set with R = A ∪ S(R), where S takes each row for itself.
 *
 *   ΔR₀ = (ΔA ∪ ΔS(R)) ∖ R        ΔRᵢ₊₁ = S_new(ΔRᵢ) ∖ (R ∪ ΔR₀ ∪ … ∪ ΔRᵢ)        ΔR = ΔR₀ ∪ ΔR₁ ∪ …
 *
 * This gives ΔA and ΔS(R), the change of the anchor and of one step over the stored rows, which do not change
 * meanwhile. They may only be followed where nothing goes: where no row of A goes, and no row of R makes fewer of
 * what it made before. For then every row of R is still reached in the way that it was. So the rows that a step makes
 * are told apart by the rows of R that they were made of: a row that one way leads to no longer and another one now
 * does could be reached only from itself, and would stay for ever.
 */
export function firstRound(recursion: Recursion, context: DeltaContext, derive: Derive): readonly RoundChange[] {
  const { anchor, step, iteration } = recursion;
  const traced = traceIteration(step.relation, { iteration, create: (name) => context.ids.create(name) });
  if (traced === undefined) throw new TypeError(`the recursion ${recursion.name} is not linear`);
  return [
    { terms: derive(anchor.relation, context), output: anchor.output, from: [] },
    { terms: derive(traced.relation, context), output: step.output, from: traced.from },
  ];
}

/** The step's rows under the ids of the anchor's, so that both have one set of columns. */
export function stepRows({ anchor, step }: Recursion): Relation {
  return {
    kind: "union-all",
    columns: anchor.output,
    branches: [{ input: step.relation, columns: step.output }],
  };
}

/** The anchor's rows, and no other columns. */
export function anchorRows({ anchor }: Recursion): Relation {
  return { kind: "project", input: anchor.relation, columns: keepColumns(anchor.output) };
}
