import { ChangeHistory } from "../catalog/change-history.js";
import { agesOf } from "../catalog/snapshots.js";
import { sameName } from "../sql/quote.js";
import type { StoredView } from "../view/state.js";
import type { RunContext } from "./plan-run.js";

/**
 * How long ago the oldest change was committed that views do not show yet, in milliseconds, by name. What counts are
 * the base tables below a view, also those below the views that it reads, since its horizon is a snapshot of them.
 * Where the lake no longer knows that change, the time goes from the view's horizon; null where that is not known
 * either.
 */
export async function lagsOf(
  run: RunContext,
  views: readonly StoredView[],
): Promise<ReadonlyMap<string, number | null>> {
  const { session, engine, state, present } = run;
  const built = views.flatMap((view) => {
    const horizon = state.progress.get(view.name)?.horizon ?? null;
    return horizon === null ? [] : [{ view, horizon }];
  });
  const [first] = built.map(({ horizon }) => horizon).sort((a, b) => (a < b ? -1 : 1));
  if (first === undefined) return new Map(views.map(({ name }) => [name, null]));
  const history = await ChangeHistory.read(session, first, present);
  const since = new Map(
    built.map(({ view, horizon }) => [view.name, { horizon, change: oldestChange(run, history, view, horizon) }]),
  );
  const wanted = [...since.values()].map(({ change, horizon }) => change ?? horizon);
  const ages = await agesOf(session, engine, [...new Set(wanted)]);
  return new Map(
    views.map(({ name }) => {
      const found = since.get(name);
      return [name, found === undefined ? null : (ages.get(found.change ?? found.horizon) ?? null)];
    }),
  );
}

/** The snapshot from which on the view is behind; undefined where the lake does not know it. */
function oldestChange(run: RunContext, history: ChangeHistory, view: StoredView, horizon: bigint): bigint | undefined {
  const next = horizon + 1n;
  if (!history.knows(next)) return undefined;
  return view.definition.usesTime ? next : history.firstChange(horizon, baseTables(run, view));
}

/** The ids of the base tables that a view's rows come from. */
function baseTables(run: RunContext, view: StoredView): Set<bigint> {
  const { cursors, views } = run.state;
  const ids = view.definition.sources.flatMap((source) => {
    if (source.kind === "view") {
      const upstream = views.find((candidate) => sameName(candidate.name, source.table));
      return upstream === undefined ? [] : [...baseTables(run, upstream)];
    }
    return cursors.filter((cursor) => cursor.view === view.name && cursor.source === source.name).map((c) => c.tableId);
  });
  return new Set(ids);
}
