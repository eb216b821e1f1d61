import { type Expression, outputOf, type Relation, type Shared } from "../plan/relation.js";
import type { DeltaContext, Term } from "./contract.js";
import { rowsOf } from "./difference.js";
import { restrictTo } from "./restrict.js";

/** The distinct values that key expressions take in the rows of a delta, and how to cut a relation down to them. */
export interface AffectedKeys {
  readonly relation: Shared;
  /** The rows of `input` (which has the columns of the node that the delta is of) with one of these keys. */
  restrict(input: Relation): Relation;
}

export function affectedKeys(
  input: Relation,
  terms: readonly Term[],
  expressions: readonly Expression[],
  context: DeltaContext,
): AffectedKeys {
  const keys = expressions.map((expression) => ({ id: context.ids.create("key"), expression }));
  const relation: Shared = {
    kind: "shared",
    name: context.ids.create("affected"),
    input: { kind: "aggregate", input: rowsOf(terms, outputOf(input)), keys, calls: [] },
  };
  const pairs = keys.map((key) => [key.expression, key.id] as const);
  // Without keys the aggregate would be one row even where nothing changed.
  const source = keys.length === 0 ? { ...relation, input: rowsOf(terms, outputOf(input)) } : relation;
  return { relation: source, restrict: (relationToCut) => restrictTo(relationToCut, source, pairs) };
}
