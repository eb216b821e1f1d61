/** Whether the views that a view reads stand at the run's horizon. */
import { type ConflictError, RefreshError } from "../errors.js";
import { sameName } from "../sql/quote.js";
import type { StoredView } from "../view/state.js";
import { upstreamOf } from "./order.js";
import { overtaken, planViewRun, type RunContext } from "./plan-run.js";

/** The code of a view that can't be moved because one that it reads stands elsewhere. */
const UPSTREAM_ELSEWHERE = "upstream_not_at_horizon";

/**
 * A view over another view is only right at a horizon that both are brought to. Those that this run has moved, or has
 * found unchanged, stand there; any other is looked up.
 * @throws RefreshError `upstream_not_at_horizon`.
 */
export async function requireUpstream(run: RunContext, view: StoredView): Promise<void> {
  for (const upstream of upstreamViews(run, view)) {
    if (!(await standsAtHorizon(run, upstream))) throw elsewhere(run, view, upstream);
  }
}

/** True where the view's rows are those of the horizon, whenever they were written. */
async function standsAtHorizon(run: RunContext, view: StoredView): Promise<boolean> {
  const key = view.name.toLowerCase();
  if (run.moved.has(key) || run.moving.has(key) || run.standing.has(key)) return true;
  const horizon = horizonOf(run, view);
  if (horizon === null || horizon > run.horizon) return false;
  for (const upstream of upstreamViews(run, view)) {
    if (!(await standsAtHorizon(run, upstream))) return false;
  }
  if ((await strategyOf(run, view)) !== null) return false;
  run.standing.add(key);
  return true;
}

function upstreamViews(run: RunContext, view: StoredView): StoredView[] {
  const names = upstreamOf(view);
  return run.state.views.filter((candidate) => names.some((name) => sameName(name, candidate.name)));
}

function horizonOf(run: RunContext, view: StoredView): bigint | null {
  return view.built === null ? null : (run.state.progress.get(view.name)?.horizon ?? null);
}

/** A view that can't be refreshed at all, since a table is missing, does not stand at the horizon either. */
async function strategyOf(run: RunContext, view: StoredView) {
  try {
    return (await planViewRun(run, view)).strategy;
  } catch (error) {
    if (error instanceof RefreshError) return "none";
    throw error;
  }
}

function elsewhere(run: RunContext, view: StoredView, upstream: StoredView): RefreshError | ConflictError {
  const horizon = horizonOf(run, upstream);
  const isPast = horizon !== null && horizon > run.horizon;
  if (isPast && run.mayGoOn) return overtaken(run, view, upstream, horizon);
  const where =
    horizon === null
      ? "has not been built yet"
      : isPast
        ? `stands at snapshot ${horizon} already, past ${run.horizon}`
        : `stands at snapshot ${horizon} and has changes up to ${run.horizon} to take in`;
  const hint = isPast
    ? `Refresh ${view.name} to snapshot ${horizon} or a newer one; \`ducklake-ivm plan\` names one for all views.`
    : `Run \`ducklake-ivm refresh ${upstream.name} --to-snapshot ${run.horizon} --no-upstream\` first, or leave out --no-upstream.`;
  return new RefreshError(
    UPSTREAM_ELSEWHERE,
    `View ${view.name} can't be brought to snapshot ${run.horizon}: ${upstream.name}, which it reads, ${where}.`,
    { subject: { view: view.name, snapshot: run.horizon }, hint },
  );
}
