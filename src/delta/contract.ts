import type { ColumnId, ColumnIds, Relation } from "../plan/relation.js";

/**
 * One summand of a delta: a relation that gives the node's columns and a signed `weight`. The delta of a node is the
 * sum of its terms; a node whose sources did not change has none, and then nothing of it is read.
 *
 * Every rule holds to this: for each row, the weights of all terms together equal its copies in the node read at the
 * new versions minus its copies in the node read at the old versions. Terms need not be consolidated: a row may come
 * with +1 in one term and −1 in another.
 */
export interface Term {
  readonly relation: Relation;
  readonly weight: ColumnId;
  /** The occurrences of sources whose change this term carries. */
  readonly occurrences: readonly number[];
}

export interface DeltaContext {
  /** True where the source changed in its window. */
  changed(source: string): boolean;
  /** True where the time of the new state is another than that of the old one. */
  readonly timeMoves: boolean;
  readonly ids: ColumnIds;
  typeOf(id: ColumnId): string;
}

/** The delta of any node; given to the rules so that they can recurse. */
export type Derive = (relation: Relation, context: DeltaContext) => readonly Term[];
