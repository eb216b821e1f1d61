import type { Strategy, VerifyResult, ViewResult } from "../types.js";
import type { AppliedChange } from "./months.js";

/** One view in one step: what the refresh did, and how long it and a full recompute took. */
export interface ViewTiming {
  readonly view: string;
  readonly status: ViewResult["status"];
  readonly strategy: Strategy | null;
  readonly rows: ViewResult["rows"];
  readonly terms: ViewResult["terms"];
  readonly refreshMs: number;
  /** Null where nothing was recomputed. */
  readonly recomputeMs: number | null;
  readonly error: ViewResult["error"];
}

/** Changes to the lake, the refresh after them, and a full recompute to compare with. */
export interface Step {
  readonly name: string;
  /** 1 to 12 where the step loads a month. */
  readonly month: number | null;
  /** What is worth seeing in it; null where there is nothing new to say. */
  readonly note: string | null;
  readonly changes: readonly AppliedChange[];
  readonly horizon: bigint;
  readonly status: ViewResult["status"];
  /** The whole run, with all that it does besides the views' own work. */
  readonly refreshMs: number;
  readonly recomputeMs: number | null;
  readonly views: readonly ViewTiming[];
}

export interface DemoResult {
  /** True where every refresh went through and every view is exact. */
  readonly ok: boolean;
  readonly steps: readonly Step[];
  readonly verified: readonly VerifyResult[];
  readonly totals: Totals;
  /** The folder with the lake, where it was kept. */
  readonly kept: string | null;
  readonly elapsedMs: number;
}

/** Sums over the months after the first: at the first there is nothing to increment on, and both ways do the same. */
export interface Totals {
  readonly months: number;
  readonly refreshMs: number;
  readonly recomputeMs: number;
  readonly views: readonly { readonly view: string; readonly refreshMs: number; readonly recomputeMs: number }[];
}

export function totalsOf(steps: readonly Step[]): Totals {
  const months = steps.filter((step) => step.month !== null && step.month > 1);
  const names = [...new Set(months.flatMap((step) => step.views.map(({ view }) => view)))];
  const views = names.map((view) => ({
    view,
    ...sums(months.flatMap((step) => step.views.filter((timing) => timing.view === view))),
  }));
  return { months: months.length, ...sums(months), views };
}

function sums(timings: readonly Pick<ViewTiming, "refreshMs" | "recomputeMs">[]) {
  return {
    refreshMs: tenths(timings.reduce((sum, timing) => sum + timing.refreshMs, 0)),
    recomputeMs: tenths(timings.reduce((sum, timing) => sum + (timing.recomputeMs ?? 0), 0)),
  };
}

/** Milliseconds with one decimal, which is more than a measurement deserves. */
export function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
