/** Events of calls that tell how far they are, each a union that `kind` tells apart. */
import type { ErrorResult } from "./common.js";
import type { IngestResult } from "./ingest.js";
import type { CompactedLog } from "./log.js";
import type { DeltaMethod, RefreshResult, Strategy, ViewResult } from "./refresh.js";
import type { VerifyResult } from "./verify.js";

/**
 * What `refresh` tells, in this order: `run_started`; for each view `view_started`, its steps and `view_finished`; where
 * change logs are due, those of `LogEvent`; `run_finished`. The last is missing only where the call throws.
 */
export type RefreshEvent =
  | {
      readonly kind: "run_started";
      readonly runId: string;
      readonly horizon: bigint;
      /** In the order in which they are refreshed. */
      readonly views: readonly string[];
    }
  | { readonly kind: "view_started"; readonly view: string; readonly position: Position }
  | ViewStep
  | {
      readonly kind: "view_finished";
      readonly view: string;
      readonly position: Position;
      readonly result: ViewResult;
    }
  | LogEvent
  | { readonly kind: "run_finished"; readonly result: RefreshResult };

/** How far one call is: `number` counts from 1. */
export interface Position {
  readonly number: number;
  readonly of: number;
}

/** A step in the refresh of one view. A view that is unchanged has none. */
export type ViewStep =
  /** The window of a source was read; `rows` have a weight each. */
  | {
      readonly kind: "delta_read";
      readonly view: string;
      readonly source: string;
      readonly method: DeltaMethod;
      readonly rows: bigint;
    }
  /** The view's change is being computed; `terms` are the aliases of the sources whose terms run, none in a recompute. */
  | {
      readonly kind: "computing";
      readonly view: string;
      readonly strategy: Strategy;
      readonly terms: readonly string[];
    }
  /** The change is known and is being written. */
  | { readonly kind: "writing"; readonly view: string; readonly strategy: Strategy }
  /** Another writer was faster: the view begins again. */
  | { readonly kind: "retrying"; readonly view: string; readonly error: ErrorResult };

/** What `compact` tells of each log, and `refresh` of those that it compacts after its views. */
export type LogEvent =
  | { readonly kind: "log_started"; readonly log: string; readonly position: Position }
  /** One merge or fold was committed; `rows` were written anew. */
  | { readonly kind: "log_step"; readonly log: string; readonly step: "merge" | "fold"; readonly rows: bigint }
  | {
      readonly kind: "log_finished";
      readonly log: string;
      readonly position: Position;
      readonly result: CompactedLog;
    };

/** What `verify` tells of each view. */
export type VerifyEvent =
  | { readonly kind: "view_started"; readonly view: string; readonly position: Position }
  | {
      readonly kind: "view_finished";
      readonly view: string;
      readonly position: Position;
      readonly result: VerifyResult;
    };

/** What `append` and `merge` tell, in this order; from `reading` on again where another writer was faster. */
export type IngestEvent =
  | { readonly kind: "reading"; readonly table: string }
  /** The input was read and is compared with the table, or its rows are counted. */
  | { readonly kind: "comparing"; readonly table: string }
  | { readonly kind: "writing"; readonly table: string; readonly rows: Omit<IngestResult["rows"], "unchanged"> };

/** What `replay` tells: which rows are being applied. Nothing where the mirror stands at the log's end. */
export interface ReplayEvent {
  readonly kind: "applying";
  readonly view: string;
  readonly took: "changes" | "state";
  /** Null for a state. */
  readonly from: bigint | null;
  readonly to: bigint;
}
