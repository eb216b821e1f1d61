/** What `explain` gives. */
import type { Reason } from "./common.js";
import type { RunRecord } from "./history.js";

/** What a refresh is expected to take, in milliseconds. */
export interface CostEstimate {
  readonly ms: number;
  /** `measured`: refreshes of about this size were timed before; `rows`: told from row counts. */
  readonly basis: "measured" | "rows";
}

/** The choice between the rules and a recompute that a refresh would make now. */
export interface CostResult {
  readonly choice: "incremental" | "recompute";
  /** True where the dearer way is tried, to find out what it takes by now. */
  readonly trial: boolean;
  readonly incremental: CostEstimate;
  readonly recompute: CostEstimate;
  /** Changed rows of all sources, and rows of all tables that the definition reads, as the catalog tells them. */
  readonly changedRows: number;
  readonly rows: number;
}

/** A state of a source that a term reads besides the delta. */
export interface ExplainRead {
  readonly source: string;
  readonly alias: string;
  /** Before the window or after it. */
  readonly state: "old" | "new";
  /** The expressions whose values must be among the changed keys; empty where nothing cuts the table down by itself. */
  readonly keys: readonly string[];
}

/** One summand of a view's change. */
export interface ExplainTerm {
  /** The occurrence of a source that this term takes the delta of. */
  readonly source: string;
  readonly alias: string;
  readonly status: "ran" | "skipped";
  readonly reason: string;
  /** What the term reads besides the delta, and how far keys are pushed into it. */
  readonly reads: readonly ExplainRead[];
  readonly sql: string | null;
}

/** An operator of a plan, with the rule that keeps it and its inputs. */
export interface ExplainNode {
  readonly operator: string;
  readonly detail: string;
  readonly strategy: string;
  /** Why no better strategy is taken, where there is one for such operators. */
  readonly why?: string;
  readonly children: readonly ExplainNode[];
}

/** A part of a view that is recomputed, or kept by a rule that reads all its rows. */
export interface ExplainAdvice {
  /** That of the reason, or of the kind of the part. */
  readonly code: string;
  /** `the view`, or the operator of the plan. */
  readonly part: string;
  readonly why: string;
  /** How to write it so that a rule keeps it; null where no way is known. */
  readonly rewrite: string | null;
  /** The page of the documentation that tells more. */
  readonly page: string | null;
}

/** What refreshes of one strategy took. */
export interface MeasuredRuns {
  readonly runs: number;
  readonly medianMs: number;
  readonly slowestMs: number;
  /** Rows that the last of them inserted and deleted. */
  readonly lastRows: { readonly inserted: bigint; readonly deleted: bigint };
}

/** What the view's newest refreshes took, up to a hundred of them. */
export interface ExplainHistory {
  /** Null where there were none. */
  readonly incremental: MeasuredRuns | null;
  readonly recompute: MeasuredRuns | null;
  /** The last run that moved the view, with how its sources were read and how many terms ran; null before the first. */
  readonly last: RunRecord | null;
}

/** How a view is kept, and what a refresh would do now. */
export interface ExplainResult {
  readonly view: string;
  readonly strategy: "incremental" | "recompute";
  readonly reasons: readonly Reason[];
  readonly horizon: bigint | null;
  /** What to write differently: one entry for each part that is recomputed or reads all its rows. */
  readonly advice: readonly ExplainAdvice[];
  readonly history: ExplainHistory;
  readonly plan: ExplainNode | null;
  readonly terms: readonly ExplainTerm[];
  /** What is read for groups whose stored state can't be folded; empty where every state can. */
  readonly rereads: readonly ExplainRead[];
  /** Null where there is nothing to do or nothing to choose. */
  readonly cost: CostResult | null;
  readonly recomputeSql: string;
}
