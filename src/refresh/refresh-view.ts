import { existingSnapshots } from "../catalog/snapshots.js";
import { hasLimit } from "../sql/ast.js";
import type { Reason, ViewResult } from "../types.js";
import { isLimited } from "../view/layout.js";
import type { StoredView } from "../view/state.js";
import { statementOf } from "./compute.js";
import { upstreamOf } from "./order.js";
import { instantsOf, type PlannedView, planViewRun, type RunContext } from "./plan-run.js";
import { dryResult, unchanged } from "./results.js";
import { requireUserView } from "./tampering.js";
import { requireUpstream } from "./upstream.js";
import { FULL_REFRESH, ViewWork } from "./view-work.js";

/** What a run does with a view besides bringing it up to date. */
export interface ViewOptions {
  readonly runId: string;
  readonly dryRun: boolean;
  /** Recompute it whatever has changed. */
  readonly full: boolean;
}

const ASKED_FOR: Reason = { code: FULL_REFRESH, text: "a full refresh was asked for" };

/** Refreshes one view; all its reading up to the commit is one transaction. */
export async function refreshView(run: RunContext, view: StoredView, options: ViewOptions): Promise<ViewResult> {
  if (run.engine.readsTogether) run.session.beginReading();
  try {
    const result = await planAndWork(run, view, options);
    await run.session.endReading();
    return result;
  } catch (error) {
    await run.session.endReading(false);
    // What was read went with the transaction that it was read in.
    run.shared.forget();
    throw error;
  }
}

async function planAndWork(run: RunContext, view: StoredView, options: ViewOptions): Promise<ViewResult> {
  const { runId, dryRun } = options;
  const startedAt = performance.now();
  await requireUpstream(run, view);
  const planned = asAsked(await planViewRun(run, view), options);
  const tampered = run.tampered.get(view.name.toLowerCase());
  requireUserView(tampered, run.engine.config.schema ?? "main", view.name);
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
    const restores = tampered?.userView === "gone";
    if (!dryRun && (restores || lacksLog(run, planned) || (await hasExpiredCursor(run, planned))))
      await new ViewWork(run, planned, runId, startedAt).moveCursors();
    run.standing.add(view.name.toLowerCase());
    return unchanged(planned);
  }
  if (dryRun) {
    run.moving.add(view.name.toLowerCase());
    return dryResult(planned, timeMoves, run.moving);
  }
  const work = new ViewWork(run, planned, runId, startedAt);
  return readsLimits(planned) ? run.engine.rules.readingLimits(run.session, () => work.run()) : work.run();
}

function asAsked(planned: PlannedView, { full }: ViewOptions): PlannedView {
  if (!full || planned.strategy === "initial" || planned.strategy === "recompute") return planned;
  return { ...planned, strategy: "recompute", reason: ASKED_FOR, upToDate: planned.strategy === null };
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

export async function hasExpiredCursor(run: RunContext, planned: PlannedView): Promise<boolean> {
  const cursors = planned.sources.flatMap((source) => (source.from === null ? [] : [source.from]));
  if (run.settles && cursors.some((cursor) => cursor < run.horizon)) return true;
  const wanted = cursors.filter((cursor) => !run.history.knows(cursor));
  const existing = await existingSnapshots(run.session, run.engine, wanted);
  return wanted.some((cursor) => !existing.has(cursor));
}
