/** From the library's events to what a person is told of a command's progress. */
import type { IngestEvent, LogEvent, RefreshEvent, ReplayEvent, VerifyEvent, ViewStep } from "../types.js";
import type { Progress, ProgressState } from "./progress.js";

/** Listens to a refresh, a compaction, a verification or a replay. */
export function progressListener(
  progress: Progress,
  task: string,
): (event: RefreshEvent | LogEvent | VerifyEvent | ReplayEvent) => void {
  let state: ProgressState = { task, done: 0, of: 1, unit: "views", rows: 0n, step: "" };
  const show = (change: Partial<ProgressState>): void => {
    state = { ...state, ...change };
    progress.show(state);
  };
  return (event) => {
    switch (event.kind) {
      case "run_started":
        if (event.views.length > 0) show({ of: event.views.length, step: `snapshot ${event.horizon}` });
        break;
      case "view_started":
        show({ of: event.position.of, step: event.view });
        break;
      case "delta_read":
        show({ rows: state.rows + event.rows, step: stepText(event) });
        break;
      case "computing":
      case "writing":
      case "retrying":
        show({ step: stepText(event) });
        break;
      case "view_finished":
        finishView(event);
        break;
      case "log_started": {
        const isFirst = event.position.number === 1;
        const begin = isFirst ? { task: "compact", unit: "logs", done: 0, rows: 0n } : {};
        show({ ...begin, of: event.position.of, step: event.log });
        break;
      }
      case "log_step":
        show({ rows: state.rows + event.rows, step: `${event.log}: ${event.step}` });
        break;
      case "log_finished": {
        const { merges, folds, rewritten } = event.result;
        progress.tell(`log of ${event.log} compacted`, { log: event.log, merges, folds, rewritten });
        show({ done: state.done + 1 });
        break;
      }
      case "applying":
        show({ step: `${event.view}: applying ${event.took === "state" ? "the state" : "changes"} up to ${event.to}` });
        break;
      case "run_finished":
        break;
    }
  };

  function finishView({ view, result }: (RefreshEvent | VerifyEvent) & { readonly kind: "view_finished" }): void {
    if ("ok" in result) {
      const told = { view, snapshot: result.horizon, rows: result.rows, differences: result.differenceCount };
      progress.tell(`${view} ${verdict(result)}`, told);
      show({ rows: state.rows + result.rows, done: state.done + 1 });
      return;
    }
    const { status, strategy, rows, elapsedMs, error } = result;
    const counts = status === "refreshed" ? { inserted: rows.inserted, deleted: rows.deleted } : {};
    const told = { view, strategy: strategy ?? undefined, ...counts, elapsed_ms: Math.round(elapsedMs) };
    progress.tell(`${view} ${status}`, { ...told, error: error?.code });
    show({ done: state.done + 1 });
  }
}

function verdict({ ok, error }: { readonly ok: boolean; readonly error: object | null }): string {
  if (error !== null) return "could not be verified";
  return ok ? "is exact" : "differs";
}

function stepText(step: ViewStep): string {
  const { view } = step;
  switch (step.kind) {
    case "delta_read":
      return `${view}: read ${step.source}`;
    case "computing":
      return `${view}: computing ${step.terms.length === 0 ? step.strategy : step.terms.join(", ")}`;
    case "writing":
      return `${view}: writing`;
    case "retrying":
      return `${view}: again, another writer was faster`;
  }
}

/** Listens to `append` or `merge`, whose steps are one table's. */
export function ingestListener(progress: Progress, task: "append" | "merge"): (event: IngestEvent) => void {
  const steps = ["reading", "comparing", "writing"] as const;
  return (event) => {
    const rows = event.kind === "writing" ? event.rows.inserted + event.rows.updated + event.rows.deleted : 0n;
    const step = `${event.table}: ${event.kind}`;
    progress.show({ task, done: steps.indexOf(event.kind), of: steps.length, unit: "steps", rows, step });
  };
}
