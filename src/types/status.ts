/** What `status` gives. */
import type { Reason } from "./common.js";
import type { RefreshMode } from "./define.js";

export interface ViewStatus {
  readonly view: string;
  /** `pending`: defined but not yet built; `stale`: a source changed; `rebuild`: a new definition waits for a refresh. */
  readonly state: "pending" | "fresh" | "stale" | "rebuild";
  /** The snapshot that the view stands at; null before the first refresh. */
  readonly horizon: bigint | null;
  readonly rows: bigint | null;
  readonly sources: readonly { readonly source: string; readonly cursor: bigint | null; readonly changed: boolean }[];
  readonly refresh: RefreshMode;
  readonly strategy: "incremental" | "recompute";
  readonly reasons: readonly Reason[];
}
