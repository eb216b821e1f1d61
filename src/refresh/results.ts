import type { SourceDelta } from "../catalog/source-delta.js";
import { IvmError } from "../errors.js";
import type { LogWriter } from "../log/writer.js";
import { planReadsClock, sourceScansOf } from "../plan/recursion.js";
import type { ErrorResult, LogResult, Reason, SourceResult, ViewResult } from "../types.js";
import type { ViewPlan } from "../view/plan-view.js";
import type { StoredView } from "../view/state.js";
import { upstreamOf } from "./order.js";
import type { PlannedSource, PlannedView } from "./plan-run.js";

export function errorResult(error: unknown): ErrorResult {
  if (error instanceof IvmError) {
    return { code: error.code, message: error.message, hint: error.hint ?? null, retryable: error.retryable };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: "internal_error",
    message,
    hint: "This is a fault of ducklake-ivm; please report it.",
    retryable: false,
  };
}

export function failure(view: string, upstream: readonly string[], error: unknown, elapsedMs: number): ViewResult {
  return {
    view,
    status: "failed",
    strategy: null,
    reason: null,
    upstream,
    sources: [],
    terms: NO_TERMS,
    rows: { inserted: 0n, deleted: 0n },
    elapsedMs,
    error: errorResult(error),
  };
}

/** A view that an option leaves out of the run. */
export function skipped(view: StoredView, reason: Reason): ViewResult {
  return {
    view: view.name,
    status: "skipped",
    strategy: null,
    reason,
    upstream: upstreamOf(view),
    sources: [],
    terms: NO_TERMS,
    rows: { inserted: 0n, deleted: 0n },
    elapsedMs: 0,
    error: null,
  };
}

/** How many terms a plan has and how many of them run: one for each place that reads a source, and one for the time. */
export function countTerms(
  plan: ViewPlan | null,
  changed: (source: string) => boolean,
  timeMoves: boolean,
): ViewResult["terms"] {
  if (plan === null) return NO_TERMS;
  const scans = sourceScansOf(plan);
  const clock = planReadsClock(plan) ? 1 : 0;
  const total = scans.length + clock;
  const run = scans.filter((scan) => changed(scan.source)).length + (timeMoves ? clock : 0);
  return { total, run, skipped: total - run };
}

export const NO_TERMS: ViewResult["terms"] = { total: 0, run: 0, skipped: 0 };

export function unchanged(planned: PlannedView): ViewResult {
  return {
    view: planned.view.name,
    status: "unchanged",
    strategy: null,
    reason: null,
    upstream: upstreamOf(planned.view),
    sources: planned.sources.map((source) => sourceResult(source, null)),
    terms: countTerms(planned.view.definition.plan, () => false, false),
    rows: { inserted: 0n, deleted: 0n },
    elapsedMs: 0,
    error: null,
  };
}

export function dryResult(planned: PlannedView, timeMoves: boolean, moving: ReadonlySet<string>): ViewResult {
  const { plan } = planned.view.definition;
  const changed = (name: string): boolean =>
    planned.sources.some(
      ({ defined, state }) =>
        defined.name === name &&
        (state.kind !== "unchanged" || (defined.kind === "view" && moving.has(defined.table.toLowerCase()))),
    );
  const incremental = planned.strategy === "incremental";
  return {
    ...unchanged(planned),
    status: "refreshed",
    strategy: planned.strategy,
    reason: planned.reason,
    terms: countTerms(plan, (source) => incremental && changed(source), incremental && timeMoves),
  };
}

export function sourceResult(source: PlannedSource, delta: SourceDelta | null): SourceResult {
  return {
    source: source.defined.name,
    from: source.from,
    to: source.to,
    changed: delta === null ? source.state.kind !== "unchanged" : delta.rows > 0n,
    ...(delta === null ? {} : { delta: delta.method }),
    ...(delta === null || delta.reason === null ? {} : { deltaReason: delta.reason }),
  };
}

/** What a refresh wrote to its view's change log. */
export function logResult({ written }: LogWriter): LogResult | null {
  const [first] = written;
  if (first === undefined) return null;
  return {
    kind: first.kind,
    from: first.from,
    to: first.to,
    files: written.filter((entry) => entry.file !== null).length,
    rows: written.reduce((sum, entry) => sum + entry.rows, 0n),
    bytes: written.reduce((sum, entry) => sum + entry.bytes, 0n),
  };
}
