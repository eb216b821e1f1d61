/** What `refresh` takes and gives. */
import type { CallOptions, ProgressOptions } from "./call.js";
import type { ErrorResult, Reason } from "./common.js";
import type { OpenLineageConfig } from "./lineage.js";
import type { RefreshEvent } from "./progress.js";

/** How a view was brought to the horizon: built for the first time, by the rules, or recomputed. */
export type Strategy = "initial" | "incremental" | "recompute";

/**
 * How a source's delta was read: from the files and positions that the catalog says were touched, from the lake's change
 * feed, as the difference of two reads, or from the source's log because the snapshot of the cursor was expired.
 */
export type DeltaMethod = "files" | "feed" | "difference" | "log";

/** How far a view consumed one source in a run. */
export interface SourceResult {
  readonly source: string;
  /** Cursor before the run; null at the first build. */
  readonly from: bigint | null;
  readonly to: bigint;
  readonly changed: boolean;
  /** How the source's delta was read, for changed sources of an incremental refresh. */
  readonly delta?: DeltaMethod;
  /** Why the difference of two reads was taken instead of the feed. */
  readonly deltaReason?: Reason;
}

/** What a refresh wrote to its view's change log: the changes of a window, or a base with the whole state. */
export interface LogResult {
  readonly kind: "segment" | "base";
  /** Null for a base. */
  readonly from: bigint | null;
  readonly to: bigint;
  /** 0 for a window without changes. */
  readonly files: number;
  readonly rows: bigint;
  readonly bytes: bigint;
}

/** The partitions of window functions that have changed rows; those of several windows are counted together. */
export interface PartitionCounts {
  /** Went on from their stored end. */
  readonly resumed: bigint;
  /** Were evaluated anew, from the view's own rows. */
  readonly reread: bigint;
}

/** What one run did to one view. */
export interface ViewResult {
  readonly view: string;
  /** `skipped` where an option left the view out of the run; `reason` says which. */
  readonly status: "refreshed" | "unchanged" | "failed" | "skipped";
  /** Null for views that were not refreshed. */
  readonly strategy: Strategy | null;
  readonly reason: Reason | null;
  /** The views that it reads itself. They come before it in the result, where they are in it. */
  readonly upstream: readonly string[];
  readonly sources: readonly SourceResult[];
  readonly terms: { readonly total: number; readonly run: number; readonly skipped: number };
  /** Set where window functions went by their stored rows. */
  readonly partitions?: PartitionCounts;
  readonly rows: { readonly inserted: bigint; readonly deleted: bigint };
  /** Set where change logs are kept and the view was refreshed. */
  readonly log?: LogResult | null;
  readonly elapsedMs: number;
  readonly error: ErrorResult | null;
}

/** What one run did. */
export interface RefreshResult {
  readonly runId: string;
  readonly horizon: bigint;
  readonly status: "refreshed" | "unchanged" | "failed";
  readonly elapsedMs: number;
  readonly views: readonly ViewResult[];
  /** What went wrong after the views were committed, such as a manifest that could not be published. */
  readonly warnings: readonly Reason[];
}

/** What `refresh` may be asked. */
export interface RefreshOptions extends CallOptions, ProgressOptions<RefreshEvent> {
  /** Views to refresh, with everything they read; all views where left out. */
  readonly views?: readonly string[];
  /**
   * With false only the named views are refreshed, and the views that they read must stand at the horizon already: so
   * several processes can do the parts of one run, each in its turn. Default true.
   */
  readonly upstream?: boolean;
  /** The horizon; the newest snapshot where left out. */
  readonly toSnapshot?: bigint;
  /** Find out what would be done and do nothing. */
  readonly dryRun?: boolean;
  /**
   * Recompute the asked views, whatever has changed, and write what differs from what they hold. Readers have the view
   * all the time.
   */
  readonly fullRefresh?: boolean;
  /** Begin no further view once one has failed; those that are left are `skipped`. */
  readonly failFast?: boolean;
  /**
   * How many views may be refreshed side by side, each on a connection of its own. Default 1; a lake in SQLite has one
   * writer or several readers, so there it is always 1.
   */
  readonly jobs?: number;
  /**
   * Leave out asked views that lag behind by less, in milliseconds, and are not read by one that is refreshed. For views
   * whose definition has a target lag, that counts instead.
   */
  readonly ifOlderThanMs?: number;
  /** Refuse to begin where a view has no incremental rule, except those with `refresh: full`. */
  readonly requireIncremental?: boolean;
  /** A file that gets metrics of all views in Prometheus' text format after the run; see `renderMetrics`. */
  readonly metrics?: string;
  /** Where events of lineage go. */
  readonly openLineage?: OpenLineageConfig;
}
