/** What `retention` and `maintain` take and give. */
import type { CallOptions } from "./call.js";
import type { Reason } from "./common.js";
import type { CompactedLog } from "./log.js";

/** A snapshot of the lake that something reads from the next time. */
export interface SnapshotNeed {
  /** A view's cursor on a source; or where the log of a base table goes on. */
  readonly kind: "view" | "log";
  readonly name: string;
  /** The source that the cursor is on; null for a log. */
  readonly source: string | null;
  readonly snapshot: bigint;
  /** False where the snapshot was expired already: a view is then rebuilt by difference at its next change. */
  readonly exists: boolean;
}

/** How far back the lake goes, and what needs it to. */
export interface RetentionResult {
  /** Snapshots that the lake keeps. */
  readonly snapshots: bigint;
  readonly oldest: bigint;
  readonly newest: bigint;
  /** The oldest kept snapshot that anything needs; null where nothing does. */
  readonly needed: { readonly snapshot: bigint; readonly ageMs: number } | null;
  /** Everything that needs a snapshot, the oldest first. */
  readonly needs: readonly SnapshotNeed[];
  /** Consumers of change logs: they need windows of their log, which compaction keeps, and no snapshot of the lake. */
  readonly consumers: readonly {
    readonly name: string;
    readonly view: string;
    readonly position: bigint | null;
    readonly held: boolean;
  }[];
  /** The lake's own setting `expire_older_than`, which every CHECKPOINT obeys, in milliseconds; null where it has none. */
  readonly expireOlderThanMs: number | null;
  /** How long until that setting reaches the needed snapshot; negative where it has. Null where nothing will expire it. */
  readonly lastsMs: number | null;
  /** `snapshot_lost`: a needed snapshot is gone; `snapshot_expires`: one will soon be. */
  readonly warnings: readonly Reason[];
}

/** What `maintain` may be asked. */
export interface MaintainOptions extends CallOptions {
  /**
   * Expire snapshots older than this, in milliseconds, that nothing needs; as the lake's own `expire_older_than` says
   * where left out, and none where that is not set.
   */
  readonly expireOlderThanMs?: number;
  /**
   * For other readers of the lake, in milliseconds: no snapshot younger than this is expired, and no file is deleted
   * that has not been out of use for so long. Default one hour.
   */
  readonly graceMs?: number;
  /**
   * Look for data files that the lake knows nothing of, as killed writers leave them, and delete those older than this,
   * in milliseconds. It must be longer than any writer's longest transaction, whose files are unknown until it commits.
   * Not looked for where left out.
   */
  readonly orphansOlderThanMs?: number;
  /** Expire and delete as well. Otherwise that part is only told. Default false. */
  readonly deletes?: boolean;
}

/** One step of the maintenance. */
export interface MaintainStep {
  readonly step: "flush" | "settle" | "expire" | "merge" | "rewrite" | "clean_up" | "orphans" | "logs";
  /** `told`: what it would do; `skipped`: another writer was in its way, or it had no reason to run. */
  readonly status: "done" | "told" | "skipped";
  /** Tables for flush, merge and rewrite; views for settle; snapshots for expire; files for clean_up and orphans; logs for logs. */
  readonly count: number;
  readonly text: string;
}

/** What `maintain` did, or would do in a dry run. */
export interface MaintainResult {
  /** In the order in which they were done. */
  readonly steps: readonly MaintainStep[];
  /** Ids that were expired, or would be. */
  readonly expired: readonly bigint[];
  readonly logs: readonly CompactedLog[];
  /** As it is after the steps. */
  readonly retention: RetentionResult;
}
