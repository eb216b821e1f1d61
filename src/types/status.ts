/** What `status` gives. */
import type { Reason } from "./common.js";
import type { RefreshMode } from "./define.js";

/** `pending`: defined but not yet built; `stale`: a source changed; `rebuild`: a new definition waits for a refresh. */
export type ViewState = "pending" | "fresh" | "stale" | "rebuild";

/** Where a view stands against the lake. */
export interface ViewStatus {
  readonly view: string;
  readonly state: ViewState;
  /** The snapshot that the view stands at; null before the first refresh. */
  readonly horizon: bigint | null;
  /** When that snapshot was committed, as ISO 8601 in UTC. */
  readonly asOf: string | null;
  /**
   * Milliseconds since the oldest change was committed that the view does not show yet; 0 for a fresh view, null before
   * the first refresh.
   */
  readonly lagMs: number | null;
  readonly rows: bigint | null;
  readonly tags: readonly string[];
  /** How far it may be behind before a refresh with `ifOlderThanMs` takes it; null where its definition does not say. */
  readonly targetLagMs: number | null;
  readonly sources: readonly { readonly source: string; readonly cursor: bigint | null; readonly changed: boolean }[];
  readonly refresh: RefreshMode;
  readonly strategy: "incremental" | "recompute";
  readonly reasons: readonly Reason[];
}
