/** What `history` takes and gives. */
import type { ErrorResult, Reason } from "./common.js";
import type { CostResult } from "./explain.js";
import type { DeltaMethod, Strategy } from "./refresh.js";

/** Which records `history` gives. */
export interface HistoryOptions {
  /** One view, which may have been dropped; all where left out. */
  readonly view?: string;
  /** The newest so many records; all that the lake keeps where left out. */
  readonly limit?: number;
}

/** What one run did to one view, as the lake keeps it. Views that a run left as they were have no record. */
export interface RunRecord {
  readonly runId: string;
  readonly view: string;
  readonly status: "refreshed" | "failed";
  /** Null where it failed. */
  readonly strategy: Strategy | null;
  readonly reason: Reason | null;
  /** Where the view stood; null before its first build, and where a layout of old did not say. */
  readonly from: bigint | null;
  /** The run's horizon: where the view stands since, or would stand. */
  readonly to: bigint;
  /** As ISO 8601 in UTC. */
  readonly startedAt: string;
  readonly elapsedMs: number;
  readonly sources: readonly RunSourceRecord[];
  readonly rows: {
    /** Rows of the sources' deltas; null where the view was computed as a whole. */
    readonly changed: bigint | null;
    readonly inserted: bigint;
    readonly deleted: bigint;
  };
  readonly terms: { readonly total: number; readonly run: number; readonly skipped: number };
  /** The choice by cost that the run had; null where there was none. */
  readonly cost: CostResult | null;
  readonly error: ErrorResult | null;
}

/** How far one source was consumed by a run. */
export interface RunSourceRecord {
  readonly source: string;
  readonly from: bigint | null;
  readonly to: bigint;
  /** How its delta was read; null where it was not. */
  readonly delta: DeltaMethod | null;
  readonly rows: bigint;
}
