/** What `replay` takes and gives. */
import type { CallOptions, ProgressOptions } from "./call.js";
import type { Reason } from "./common.js";
import type { ReplayEvent } from "./progress.js";

/** What `replay` is asked. */
export interface ReplayOptions extends CallOptions, ProgressOptions<ReplayEvent> {
  /** The registered consumer whose windows are replayed. */
  readonly consumer: string;
  /** The consumer's view; for callers who want to be sure. */
  readonly view?: string;
  /**
   * The database with the mirror: `duckdb:FILE`, `ducklake:CATALOG` or `postgres:…` as DuckDB attaches them. Where
   * `table` is left out it ends in a dot and the table's name.
   */
  readonly into: string;
  /** The mirror, as in SQL: `sales`, `reporting."daily sales"`. It is created where it does not exist. */
  readonly table?: string;
  /** Make the table hold the view's whole state, whatever it holds and whoever wrote it. */
  readonly reset?: boolean;
}

/** What `replay` did to the mirror. */
export interface ReplayResult {
  readonly view: string;
  readonly consumer: string;
  /** The mirror, as `schema.table`. */
  readonly target: { readonly kind: "duckdb" | "ducklake" | "postgres"; readonly table: string };
  readonly status: "applied" | "unchanged";
  /** What was applied; null where the mirror stood at the log's end already. */
  readonly took: "changes" | "state" | null;
  /** Why the whole state was taken. */
  readonly reason: Reason | null;
  readonly created: boolean;
  /** Where the mirror stood; null where the whole state was taken. */
  readonly from: bigint | null;
  /** Where it stands now. */
  readonly to: bigint;
  readonly rows: { readonly inserted: bigint; readonly deleted: bigint };
  /** Whether the consumer's cursor followed; the mirror's own position is what counts. */
  readonly consumerMoved: boolean;
  readonly elapsedMs: number;
}
