import { randomUUID } from "node:crypto";
import { existingSnapshots } from "../catalog/snapshots.js";
import { notifier } from "../engine/notify.js";
import { retryConflicts } from "../engine/retry.js";
import { sparingMemory } from "../engine/sparing.js";
import { ConflictError, IvmError, RefreshError } from "../errors.js";
import { finishLogs } from "../log/finish.js";
import { sourceOfLog } from "../log/names.js";
import { readLogs } from "../log/registry.js";
import type { LogRoot } from "../log/root.js";
import { hasLimit } from "../sql/ast.js";
import type { RefreshOptions, RefreshResult, ViewResult } from "../types.js";
import { isLimited } from "../view/layout.js";
import type { StoredView } from "../view/state.js";
import { statementOf } from "./compute.js";
import { selectAlone, selectViews, upstreamOf } from "./order.js";
import { instantsOf, type PlannedView, planViewRun, type RunContext } from "./plan-run.js";
import { recordFailures, UPSTREAM_FAILED } from "./record-failures.js";
import { recordSources } from "./record-sources.js";
import { dryResult, errorResult, failure, unchanged } from "./results.js";
import { tidyStateTables } from "./upkeep.js";
import { requireUpstream } from "./upstream.js";
import { ViewWork } from "./view-work.js";

/** Brings the selected views, in order, to the run's horizon. */
export async function runRefresh(begin: () => Promise<RunContext>, options: RefreshOptions): Promise<RefreshResult> {
  const startedAt = performance.now();
  const runId = randomUUID();
  const notify = notifier(options);
  const start = async (): Promise<RunContext> => ({ ...(await begin()), notify });
  let run = await start();
  if (run.logs?.sources === true && options.dryRun !== true) {
    run = await recorded(start, run, run.logs, runId, options);
  }
  const { horizon } = run;
  const views = selectedViews(run, options);
  const results: ViewResult[] = [];
  const failed = new Set<string>();
  notify({ kind: "run_started", runId, horizon, views: views.map((view) => view.name) });
  for (const [index, selected] of views.entries()) {
    const { name } = selected;
    const began = performance.now();
    const position = { number: index + 1, of: views.length };
    notify({ kind: "view_started", view: name, position });
    const once = async (attempt: number): Promise<ViewResult> => {
      // After a conflict the state is read anew: another run may have done the work already.
      if (attempt > 1) run = { ...(await start()), horizon, moved: run.moved, shared: run.shared, moving: run.moving };
      const view = selectViews(run.state.views, [name]).at(-1);
      if (view === undefined) throw new ConflictError("view_dropped", `View ${name} was dropped in the meantime.`);
      const upstream = upstreamOf(view).find((upstreamName) => failed.has(upstreamName.toLowerCase()));
      if (upstream !== undefined) throw upstreamFailed(view, upstream);
      const result = await sparingMemory(run.session, () => refreshView(run, view, runId, options.dryRun === true));
      return { ...result, elapsedMs: performance.now() - began };
    };
    const reattach = () => run.engine.reattach(run.session);
    const retrying = (error: ConflictError): void =>
      notify({ kind: "retrying", view: name, error: errorResult(error) });
    let result: ViewResult;
    try {
      result = await retryConflicts(once, reattach, run.session, retrying);
    } catch (error) {
      run.session.checkSignal();
      failed.add(name.toLowerCase());
      result = failure(name, upstreamOf(selected), error, performance.now() - began);
    }
    results.push(result);
    notify({ kind: "view_finished", view: name, position, result });
  }
  await run.shared.drop(run.session);
  const status = statusOf(results);
  if (status !== "unchanged" && options.dryRun !== true) await tidyStateTables(run.session, run.engine, run.tables);
  const unrecorded = options.dryRun === true ? [] : await recordFailures(run, runId, results);
  const logWarnings =
    run.logs === undefined || options.dryRun === true
      ? []
      : await finishLogs(
          run.session,
          run.logs,
          runId,
          [
            ...views.map((view) => view.name),
            ...[...run.logStates.keys()].filter((log) => sourceOfLog(log) !== undefined),
          ],
          { changed: status !== "unchanged", notify },
        );
  const warnings = [...unrecorded, ...logWarnings];
  const result = { runId, horizon, status, elapsedMs: performance.now() - startedAt, views: results, warnings };
  notify({ kind: "run_finished", result });
  return result;
}

function selectedViews(run: RunContext, options: RefreshOptions): StoredView[] {
  const select = options.upstream === false ? selectAlone : selectViews;
  return select(run.state.views, options.views);
}

/** Records what changed in base tables, and takes note of it. */
async function recorded(
  start: () => Promise<RunContext>,
  run: RunContext,
  root: LogRoot,
  runId: string,
  options: RefreshOptions,
): Promise<RunContext> {
  const record = async (attempt: number): Promise<RunContext> => {
    const { horizon } = run;
    const present = attempt === 1 ? run : { ...(await start()), horizon };
    const views = selectedViews(present, options);
    await recordSources(present, root, runId, () => anyMoves(present, views));
    return { ...present, logStates: await readLogs(present.session, present.tables) };
  };
  const sparing = (attempt: number): Promise<RunContext> => sparingMemory(run.session, () => record(attempt));
  return retryConflicts(sparing, () => run.engine.reattach(run.session), run.session);
}

/** True where a view gets new cursors in this run, whether or not a base table has changed. */
async function anyMoves(run: RunContext, views: readonly StoredView[]): Promise<boolean> {
  for (const view of views) {
    try {
      const planned = await planViewRun(run, view);
      if (planned.strategy !== null || (await hasExpiredCursor(run, planned))) return true;
    } catch (error) {
      run.session.checkSignal();
      // Its refresh will say what is wrong with it.
      if (!(error instanceof IvmError)) throw error;
    }
  }
  return false;
}

function upstreamFailed(view: StoredView, upstream: string): RefreshError {
  return new RefreshError(
    UPSTREAM_FAILED,
    `View ${view.name} was left alone because ${upstream}, which it reads, failed.`,
    {
      subject: { view: view.name },
      hint: `Correct ${upstream} first.`,
    },
  );
}

function statusOf(results: readonly ViewResult[]): RefreshResult["status"] {
  if (results.some((result) => result.status === "failed")) return "failed";
  return results.some((result) => result.status === "refreshed") ? "refreshed" : "unchanged";
}

/** Refreshes one view; all its reading up to the commit is one transaction. */
async function refreshView(run: RunContext, view: StoredView, runId: string, dryRun: boolean): Promise<ViewResult> {
  if (run.engine.readsTogether) await run.session.beginReading();
  try {
    const result = await planAndWork(run, view, runId, dryRun);
    await run.session.endReading();
    return result;
  } catch (error) {
    await run.session.endReading(false);
    // What was read went with the transaction that it was read in.
    run.shared.forget();
    throw error;
  }
}

async function planAndWork(run: RunContext, view: StoredView, runId: string, dryRun: boolean): Promise<ViewResult> {
  const startedAt = performance.now();
  await requireUpstream(run, view);
  const planned = await planViewRun(run, view);
  const instants = instantsOf(run, planned.progress);
  const timeMoves = instants.old !== instants.new;
  const followed = dryRun && upstreamOf(view).some((name) => run.moving.has(name.toLowerCase()));
  if (planned.strategy === null && followed) {
    const strategy = view.definition.plan === null || view.definition.refresh === "full" ? "recompute" : "incremental";
    run.moving.add(view.name.toLowerCase());
    return dryResult({ ...planned, strategy, reason: view.definition.reasons[0] ?? null }, timeMoves, run.moving);
  }
  if (planned.strategy === null) {
    // A cursor whose snapshot was expired would cost a recompute at the next change; while nothing changed it can move.
    if (!dryRun && (lacksLog(run, planned) || (await hasExpiredCursor(run, planned))))
      await new ViewWork(run, planned, runId, startedAt).moveCursors();
    run.standing.add(view.name.toLowerCase());
    return unchanged(planned);
  }
  if (dryRun) {
    run.moving.add(view.name.toLowerCase());
    return dryResult(planned, timeMoves, run.moving);
  }
  const work = new ViewWork(run, planned, runId, startedAt);
  return readsLimits(planned) ? run.engine.readingLimits(run.session, () => work.run()) : work.run();
}

function readsLimits(planned: PlannedView): boolean {
  return (
    hasLimit(statementOf(planned.view.definition)) ||
    planned.sources.some((source) => source.layout !== null && isLimited(source.layout))
  );
}

/** True where the view stands elsewhere than its change log, or has none yet. */
function lacksLog(run: RunContext, { view, progress }: PlannedView): boolean {
  return run.logs !== undefined && view.built !== null && run.logStates.get(view.name)?.end !== progress.horizon;
}

async function hasExpiredCursor(run: RunContext, planned: PlannedView): Promise<boolean> {
  const cursors = planned.sources.flatMap((source) => (source.from === null ? [] : [source.from]));
  if (run.settles && cursors.some((cursor) => cursor < run.horizon)) return true;
  const wanted = cursors.filter((cursor) => !run.history.knows(cursor));
  const existing = await existingSnapshots(run.session, run.engine, wanted);
  return wanted.some((cursor) => !existing.has(cursor));
}
