/** What `why` takes and gives. */
import type { CallOptions } from "./call.js";

/** Which rows of a view are asked for. */
export interface WhyOptions extends CallOptions {
  /** Values of columns of the view; text is cast to the column's type. NULL finds NULL. */
  readonly key: Readonly<Record<string, string | number | bigint | boolean | null>>;
  /** As many rows, source rows and changes are listed, of each source. Default 20. */
  readonly limit?: number;
}

/** Values as text, by column; null for NULL. */
export type TextRow = Readonly<Record<string, string | null>>;

/** A source row that came or went, in which snapshot, and by which run the view took that over. */
export interface WhyChange {
  readonly snapshot: bigint;
  /** The snapshot's commit time, as ISO 8601 in UTC. */
  readonly at: string;
  readonly change: "inserted" | "deleted";
  readonly row: TextRow;
  /** The run that brought the change into the view; null where the lake has no record of it. */
  readonly run: { readonly runId: string; readonly startedAt: string; readonly strategy: string | null } | null;
}

/** What one place at which the view reads a source has to do with the asked rows. */
export interface WhySource {
  readonly source: string;
  readonly alias: string;
  readonly kind: "table" | "view";
  /** The snapshot of the source that the view has consumed. */
  readonly snapshot: bigint;
  /**
   * `rows`: the listed rows made the asked ones; `candidates`: rows may be among them that did not, since a condition on
   * computed values is left out; `none`: rows can't be traced to this source, `note` says why.
   */
  readonly traced: "rows" | "candidates" | "none";
  readonly note: string | null;
  /** The distinct source rows behind the asked ones; up to `limit` of them are listed. */
  readonly rowCount: bigint;
  readonly rows: readonly TextRow[];
  /** What happened to such rows, newest first, in the newest fifty of the source's kept snapshots that changed it. */
  readonly changes: readonly WhyChange[];
}

/** Rows of a view, and what is behind them in each place at which the view reads a source. */
export interface WhyResult {
  readonly view: string;
  readonly horizon: bigint | null;
  /** The asked rows of the view. */
  readonly rowCount: bigint;
  readonly rows: readonly TextRow[];
  readonly sources: readonly WhySource[];
  /** Why nothing can be traced, for a view that is recomputed as a whole. */
  readonly note: string | null;
}
