import type { FloatSums, Reason, RefreshMode } from "../types.js";
import type { SourceRef } from "./bind.js";
import type { Layout } from "./layout.js";
import type { TypedColumn, ViewPlan } from "./plan-view.js";

/** A source as a definition knows it: the columns are those of the time of apply. */
export type DefinedSource = SourceRef & { readonly columns: readonly TypedColumn[] };

/** A definition as it is kept in the lake: bound, planned and laid out; plain JSON. */
export interface StoredDefinition {
  readonly name: string;
  /** As its author wrote it. */
  readonly sql: string;
  /** The bound statement as JSON text (DuckDB's tree, lossless). */
  readonly statement: string;
  /** Equal for definitions that give the same view. */
  readonly fingerprint: string;
  readonly sources: readonly DefinedSource[];
  readonly columns: readonly TypedColumn[];
  readonly primaryKey: readonly string[];
  readonly refresh: RefreshMode;
  /** Null where the view is recomputed; `reasons` says why. */
  readonly plan: ViewPlan | null;
  readonly reasons: readonly Reason[];
  readonly layout: Layout;
  /** Definitions of old have none of these four. */
  readonly floatSums?: FloatSums;
  /** True where plain views of the lake were written out in the statement. */
  readonly readsPlainViews?: boolean;
  readonly tags?: readonly string[];
  readonly targetLagMs?: number;
  /** True where the answer depends on the time, which is taken to be the horizon's. */
  readonly usesTime: boolean;
}
