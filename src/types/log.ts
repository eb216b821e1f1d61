/** What change logs are asked, and what keeps them in order. */
import type { CallOptions, ProgressOptions } from "./call.js";
import type { LogEvent } from "./progress.js";

/** Which rows of a change log are asked for. */
export interface LogOptions extends CallOptions {
  /** Changes after this snapshot. */
  readonly since?: bigint;
  /** Changes up to this snapshot; up to the log's end where left out. */
  readonly until?: bigint;
  /** The state at this snapshot; at the log's end where left out. */
  readonly at?: bigint;
  /** A registered consumer: its next changes. */
  readonly consumer?: string;
  /** Only rows with one of these keys, or parts of keys; values as text are cast to the column's type. */
  readonly keys?: readonly Readonly<Record<string, string | number | bigint | boolean | null>>[];
}

/** What `compact` may be asked. */
export interface CompactOptions extends CallOptions, ProgressOptions<LogEvent> {
  /** The views whose logs are compacted; all where left out. */
  readonly views?: readonly string[];
}

/** What `compact` did to one log. */
export interface CompactedLog {
  readonly log: string;
  readonly merges: number;
  readonly folds: number;
  /** Live files, rows and bytes after it. */
  readonly files: number;
  readonly rows: bigint;
  readonly bytes: bigint;
  /** Rows that were written anew. */
  readonly rewritten: bigint;
}

/** What `compact` did to all logs. */
export interface CompactResult {
  readonly runId: string;
  readonly logs: readonly CompactedLog[];
  readonly swept: SweepResult;
}

/** What `sweep` may be asked. */
export interface SweepOptions extends CallOptions {
  /** Find out what would be removed and remove nothing. */
  readonly dryRun?: boolean;
}

/** What `sweep` removed, or would remove. */
export interface SweepResult {
  /** Names below the log root. */
  readonly files: readonly string[];
  readonly bytes: bigint;
}

/** How far a consumer is behind its view's log. */
export interface ConsumerStatus {
  readonly name: string;
  readonly view: string;
  /** Null before it has taken the state. */
  readonly position: bigint | null;
  /** The snapshot that the log has come to. */
  readonly end: bigint;
  /** Windows that it has not consumed; null where it must take the state. */
  readonly windows: number | null;
  readonly rows: bigint | null;
  /** Milliseconds since its first unconsumed window was registered; null where there is none. */
  readonly lagMs: number | null;
  /** True where compaction leaves its position alone. */
  readonly held: boolean;
  /** True where it must take the whole state. */
  readonly reset: boolean;
}
