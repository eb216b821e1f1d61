import type { SourceDelta } from "../catalog/source-delta.js";
import { IvmError } from "../errors.js";
import { scansOf } from "../plan/relation.js";
import type { ErrorResult, SourceResult, ViewResult } from "../types.js";
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

export function failure(view: string, error: unknown, elapsedMs: number): ViewResult {
  return {
    view,
    status: "failed",
    strategy: null,
    reason: null,
    sources: [],
    terms: { total: 0, run: 0, skipped: 0 },
    rows: { inserted: 0n, deleted: 0n },
    elapsedMs,
    error: errorResult(error),
  };
}

export function unchanged(planned: PlannedView, total: number): ViewResult {
  return {
    view: planned.view.name,
    status: "unchanged",
    strategy: null,
    reason: null,
    sources: planned.sources.map((source) => sourceResult(source, null)),
    terms: { total, run: 0, skipped: total },
    rows: { inserted: 0n, deleted: 0n },
    elapsedMs: 0,
    error: null,
  };
}

export function dryResult(planned: PlannedView, total: number, moving: ReadonlySet<string>): ViewResult {
  const { plan } = planned.view.definition;
  const changed = (name: string): boolean =>
    planned.sources.some(
      ({ defined, state }) =>
        defined.name === name &&
        (state.kind !== "unchanged" || (defined.kind === "view" && moving.has(defined.table.toLowerCase()))),
    );
  const ran =
    planned.strategy === "incremental" && plan !== null
      ? scansOf(plan.relation).filter((scan) => changed(scan.source)).length
      : 0;
  return {
    ...unchanged(planned, total),
    status: "refreshed",
    strategy: planned.strategy,
    reason: planned.reason,
    terms: { total, run: ran, skipped: total - ran },
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
