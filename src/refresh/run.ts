import { randomUUID } from "node:crypto";
import { notifier } from "../engine/notify.js";
import { retryConflicts } from "../engine/retry.js";
import type { Session } from "../engine/session.js";
import { sparingMemory } from "../engine/sparing.js";
import { IvmError } from "../errors.js";
import { finishLogs } from "../log/finish.js";
import { sourceOfLog } from "../log/names.js";
import { readLogs } from "../log/registry.js";
import type { LogRoot } from "../log/root.js";
import type { Reason, RefreshOptions, RefreshResult, ViewResult } from "../types.js";
import type { StoredView } from "../view/state.js";
import { chooseViews } from "./choose.js";
import { planViewRun, type RunContext } from "./plan-run.js";
import { recordFailures } from "./record-failures.js";
import { recordSources } from "./record-sources.js";
import { redefineOutdated } from "./redefine.js";
import { hasExpiredCursor } from "./refresh-view.js";
import { type Start, ViewRuns } from "./run-views.js";
import { restoredWarning } from "./tampering.js";
import { tidyStateTables } from "./upkeep.js";

/** Brings the chosen views, each after what it reads, to the run's horizon. @param sessions one for each job. */
export async function runRefresh(
  begin: Start,
  sessions: readonly [Session, ...Session[]],
  options: RefreshOptions,
): Promise<RefreshResult> {
  const startedAt = performance.now();
  const runId = randomUUID();
  const notify = notifier(options);
  let broken: RunContext["broken"] = new Map();
  const start: Start = async (session) => ({ ...(await begin(session)), notify, broken });
  let run = await start(sessions[0]);
  let chosen = await chooseViews(run, options);
  if (options.dryRun !== true) {
    const redefined = await redefineOutdated(run, chosen.views);
    broken = redefined.broken;
    if (redefined.changed || broken.size > 0) {
      run = await start(sessions[0]);
      chosen = await chooseViews(run, options);
    }
  }
  const { views, asked, skipped } = chosen;
  if (run.logs?.sources === true && options.dryRun !== true) {
    run = await recorded(start, run, views, run.logs, runId);
  }
  const { horizon } = run;
  notify({ kind: "run_started", runId, horizon, views: views.map((view) => view.name) });
  const work = new ViewRuns(run, start, sessions, { ...options, runId, asked });
  const results = [...(await work.all(views)), ...skipped];
  const status = statusOf(results);
  const schema = run.engine.config.schema ?? "main";
  const restored = results
    .filter(({ view, status }) => status !== "failed" && run.tampered.get(view.toLowerCase())?.userView === "gone")
    .map(({ view }) => restoredWarning(schema, view));
  const warnings: Reason[] =
    options.dryRun === true ? [] : [...restored, ...(await finish(run, runId, views, results))];
  const result = { runId, horizon, status, elapsedMs: performance.now() - startedAt, views: results, warnings };
  notify({ kind: "run_finished", result });
  return result;
}

/** What is done once all views are: the record of failures, upkeep, and the logs' manifests. Gives what went wrong. */
async function finish(
  run: RunContext,
  runId: string,
  views: readonly StoredView[],
  results: readonly ViewResult[],
): Promise<Reason[]> {
  const changed = statusOf(results) !== "unchanged";
  const unrecorded = await recordFailures(run, runId, results);
  if (changed) await tidyStateTables(run.session, run.engine, run.tables, run.present);
  if (run.logs === undefined) return unrecorded;
  const logs = [
    ...views.map((view) => view.name),
    ...[...run.logStates.keys()].filter((log) => sourceOfLog(log) !== undefined),
  ];
  return [...unrecorded, ...(await finishLogs(run.session, run.logs, runId, logs, { changed, notify: run.notify }))];
}

/** Records what changed in base tables, and takes note of it. */
async function recorded(
  start: Start,
  run: RunContext,
  views: readonly StoredView[],
  root: LogRoot,
  runId: string,
): Promise<RunContext> {
  const record = async (attempt: number): Promise<RunContext> => {
    const { horizon, instant } = run;
    const present = attempt === 1 ? run : { ...(await start(run.session)), horizon, instant };
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

function statusOf(results: readonly ViewResult[]): RefreshResult["status"] {
  if (results.some((result) => result.status === "failed")) return "failed";
  return results.some((result) => result.status === "refreshed") ? "refreshed" : "unchanged";
}
