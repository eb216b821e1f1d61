/** Runs that another run has overtaken: a view of theirs stands past their horizon. */
import type { Patience } from "../engine/retry.js";
import type { RefreshResult, SourceResult, ViewResult } from "../types.js";

/** The code of a view that another run has brought past this run's horizon. */
export const OVERTAKEN = "overtaken";

/**
 * Where another run was faster with some view, a run whose snapshot nobody asked for goes on at a newer one: all of its
 * views are brought there, those that it has moved already once more. Views that the other run has done are found so.
 */
export async function refreshUntilLevel(run: () => Promise<RefreshResult>, patience: Patience): Promise<RefreshResult> {
  const startedAt = performance.now();
  let result = await run();
  while (isOvertaken(result) && patience.isLeft(performance.now() - startedAt)) {
    result = { ...together(result, await run()), elapsedMs: performance.now() - startedAt };
  }
  return result;
}

function isOvertaken(result: RefreshResult): boolean {
  return result.views.some(({ error }) => error?.code === OVERTAKEN);
}

/** What two passes have done, as one. */
function together(first: RefreshResult, second: RefreshResult): RefreshResult {
  const views = second.views.map((view) => {
    const before = first.views.find((candidate) => candidate.view === view.view);
    return before?.status === "refreshed" && view.status !== "failed" ? both(before, view) : view;
  });
  const changed = second.status === "unchanged" && views.some((view) => view.status === "refreshed");
  const status = changed ? "refreshed" : second.status;
  return { ...second, status, views, warnings: [...first.warnings, ...second.warnings] };
}

function both(before: ViewResult, after: ViewResult): ViewResult {
  const sources = after.sources.map((source): SourceResult => {
    const first = before.sources.find((candidate) => candidate.source === source.source);
    if (first === undefined) return source;
    return { ...first, ...source, from: first.from, changed: first.changed || source.changed };
  });
  const newer = after.status === "refreshed" ? after : before;
  const rows = {
    inserted: before.rows.inserted + after.rows.inserted,
    deleted: before.rows.deleted + after.rows.deleted,
  };
  return { ...newer, sources, rows, elapsedMs: before.elapsedMs + after.elapsedMs };
}
