/** What `overview` takes and gives: all that a report tells. */

import type { CallOptions } from "./call.js";
import type { ExplainAdvice, ExplainNode } from "./explain.js";
import type { LakeGraph } from "./graph.js";
import type { RunRecord } from "./history.js";
import type { ConsumerStatus } from "./log.js";
import type { RetentionResult } from "./maintain.js";
import type { Strategy } from "./refresh.js";
import type { ViewStatus } from "./status.js";

/** What an overview may be asked. */
export interface OverviewOptions extends CallOptions {
  /** How many parts of equal length the time of all recorded runs is told in. Default 72. */
  readonly buckets?: number;
  /** How many of its newest runs are told of each view. Default 40. */
  readonly recent?: number;
}

/** Everything that a report tells of a lake, at one moment. Runs are summed up in the lake, however many there were. */
export interface Overview {
  /** When it was made, by this machine's clock, as ISO 8601 in UTC. */
  readonly takenAt: string;
  /** The lake's newest snapshot, and when it was committed. */
  readonly snapshot: bigint;
  readonly snapshotAt: string;
  readonly graph: LakeGraph;
  /** Each after what it reads. */
  readonly views: readonly ViewOverview[];
  readonly runs: RunsOverview;
  /** Empty where the project keeps no change logs. */
  readonly logs: readonly LogOverview[];
  readonly consumers: readonly ConsumerStatus[];
  readonly retention: RetentionOverview;
}

/** All that a report tells of one view. */
export interface ViewOverview extends ViewStatus {
  /** The definition as its author wrote it. */
  readonly sql: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly primaryKey: readonly string[];
  /** Null where the query has no plan, and `reasons` say why. */
  readonly plan: ExplainNode | null;
  /** Why parts of it are recomputed or read all their rows, and how to write them instead. */
  readonly advice: readonly ExplainAdvice[];
  readonly totals: RunTotals;
  /** The newest runs that changed the view or failed, newest first. */
  readonly recent: readonly RunRecord[];
}

/** Sums over all runs of a view that the lake keeps. */
export interface RunTotals {
  readonly initial: bigint;
  readonly incremental: bigint;
  readonly recompute: bigint;
  readonly failed: bigint;
  readonly rows: { readonly inserted: bigint; readonly deleted: bigint };
  readonly elapsedMs: number;
  /** What the newest recompute took; null where there was none. A first build says little: its tables were others. */
  readonly fullMs: number | null;
  /** When the newest refresh ended that did not fail, and the newest that did, as ISO 8601 in UTC. */
  readonly refreshedAt: string | null;
  readonly failedAt: string | null;
}

/** All runs that the lake remembers. */
export interface RunsOverview {
  /** Runs that changed a view or failed. */
  readonly count: bigint;
  /** Between which times they began; null where there are none. */
  readonly from: string | null;
  readonly to: string | null;
  /** The length of a part of that time, in milliseconds. */
  readonly bucketMs: number;
  readonly bucketCount: number;
  /** Parts of that time in which a view was refreshed. */
  readonly buckets: readonly RunBucket[];
  /** The newest runs, newest first. */
  readonly recent: readonly RunSummary[];
}

/** The refreshes of one view with one outcome, in one part of the time. */
export interface RunBucket {
  /** Which part of the time, from 0. */
  readonly bucket: number;
  readonly view: string;
  readonly outcome: Strategy | "failed";
  readonly refreshes: number;
  readonly elapsedMs: number;
}

/** One run in short. */
export interface RunSummary {
  readonly runId: string;
  readonly startedAt: string;
  /** From its first view to the end of its last. */
  readonly elapsedMs: number;
  readonly horizon: bigint;
  readonly views: { readonly refreshed: number; readonly recomputed: number; readonly failed: number };
  readonly rows: { readonly inserted: bigint; readonly deleted: bigint };
}

/** How a change log is laid out in files. */
export interface LogOverview {
  /** The view whose changes it has; null for the log of a base table. */
  readonly view: string | null;
  /** The base table whose changes it has; null for the log of a view. */
  readonly table: string | null;
  /** The snapshot that it has come to. */
  readonly end: bigint;
  readonly files: number;
  readonly rows: bigint;
  readonly bytes: bigint;
  readonly bases: readonly LogBase[];
  /** The newest windows, in order. */
  readonly segments: readonly LogSegment[];
  /** Windows that are older than those. */
  readonly olderSegments: number;
}

/** A base of a change log: the whole state at a snapshot. */
export interface LogBase {
  readonly at: bigint;
  readonly files: number;
  readonly rows: bigint;
  readonly bytes: bigint;
}

/** The changes of one window in a change log. */
export interface LogSegment {
  readonly from: bigint;
  readonly to: bigint;
  /** How often its windows were merged. */
  readonly level: number;
  readonly rows: bigint;
  readonly bytes: bigint;
}

/** How far back the lake goes, what needs it to, and where the views stand in that. */
export interface RetentionOverview extends RetentionResult {
  /** When the oldest snapshot was committed that the lake keeps. */
  readonly oldestAt: string;
  /** The lake's own option for how long snapshots are kept; null where it is not set. */
  readonly expireOlderThan: string | null;
  readonly cursors: readonly RetainedCursor[];
}

/** The oldest snapshot that a view needs for its next incremental refresh. */
export interface RetainedCursor {
  readonly view: string;
  readonly source: string;
  readonly snapshot: bigint;
  /** When it was committed; null where it was expired. */
  readonly at: string | null;
}
