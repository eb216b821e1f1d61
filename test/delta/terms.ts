/** Terms of relations made by hand, for tests without a database. */

import type { DeltaContext, Term } from "../../src/delta/contract.js";
import { derive } from "../../src/delta/derive.js";
import { ColumnIds, inputsOf, outputOf, type Relation } from "../../src/plan/relation.js";
import { leaves } from "../plan/build.js";

/** `changed` names sources, and `now()` where the time moves. */
export function contextOf(changed: readonly string[], typeOf: (id: string) => string = () => "INTEGER"): DeltaContext {
  const timeMoves = changed.includes("now()");
  return { changed: (source) => changed.includes(source), timeMoves, ids: new ColumnIds(1000), typeOf };
}

export function termsOf(relation: Relation, ...changed: readonly string[]): readonly Term[] {
  return derive(relation, contextOf(changed));
}

/** What each term reads, from left to right. */
export function readsOf(terms: readonly Term[]): string[][] {
  return terms.map((term) => leaves(term.relation));
}

/** All nodes of a relation, shared parts once for each place at which they stand. */
export function nodesOf(relation: Relation): Relation[] {
  return [relation, ...inputsOf(relation).flatMap(nodesOf)];
}

/** Every term gives the node's columns and its weight. */
export function outputsOf(terms: readonly Term[]): { readonly weight: string; readonly columns: readonly string[] }[] {
  return terms.map(({ relation, weight }) => {
    const columns = outputOf(relation);
    return { weight: columns.includes(weight) ? "given" : "missing", columns: columns.filter((id) => id !== weight) };
  });
}
