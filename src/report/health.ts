/** How well each view is, and what it costs: what the whole page goes by. */
import type { RunRecord, ViewOverview } from "../types.js";

/** `failed`: its newest run failed; the others as `ViewState`. */
export type Health = "failed" | "pending" | "rebuild" | "stale" | "fresh";

export function healthOf(view: ViewOverview): Health {
  return view.recent[0]?.status === "failed" ? "failed" : view.state;
}

export const HEALTH_WORDS: Readonly<Record<Health, string>> = {
  failed: "failed",
  pending: "never built",
  rebuild: "new definition",
  stale: "behind",
  fresh: "up to date",
};

/** What a view's refreshes took by the rules, and what a computation of the whole view took or would take. */
export interface ViewCost {
  /** The median of the newest refreshes by the rules; null where there were none. */
  readonly incrementalMs: number | null;
  readonly fullMs: number | null;
  /** True where `fullMs` was measured, false where it is the estimate that the newest run went by. */
  readonly measured: boolean;
}

export function costOf(view: ViewOverview): ViewCost {
  const incremental = view.recent.filter((run) => run.strategy === "incremental").map((run) => run.elapsedMs);
  const estimate = view.recent.find((run) => run.cost !== null)?.cost?.recompute ?? null;
  const { fullMs } = view.totals;
  const measured = fullMs !== null;
  return { incrementalMs: median(incremental), fullMs: measured ? fullMs : (estimate?.ms ?? null), measured };
}

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

export type Outcome = "initial" | "incremental" | "recompute" | "failed";

export function outcomeOf(run: RunRecord): Outcome {
  return run.status === "failed" || run.strategy === null ? "failed" : run.strategy;
}

export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  incremental: "incremental",
  recompute: "recomputed",
  initial: "first build",
  failed: "failed",
};
