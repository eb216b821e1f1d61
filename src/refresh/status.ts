import { isoTime } from "../catalog/snapshots.js";
import { tableAt } from "../catalog/tables.js";
import { RefreshError } from "../errors.js";
import { walkAst } from "../sql/ast.js";
import { quoteLiteral, sameName } from "../sql/quote.js";
import type { Reason, ViewStatus } from "../types.js";
import type { StoredView } from "../view/state.js";
import { visibleSelect } from "../view/visible.js";
import { statementOf } from "./compute.js";
import { lagsOf } from "./lag.js";
import { physicalTable } from "./physical.js";
import { planViewRun, type RunContext } from "./plan-run.js";

/** Where each view stands against the lake as it is now. */
export async function statusOfViews(run: RunContext, views: readonly StoredView[]): Promise<ViewStatus[]> {
  const standings = await standingsOf(run, views);
  const result: ViewStatus[] = [];
  for (const [index, view] of views.entries()) {
    const standing = standings[index];
    if (standing === undefined) throw new TypeError("every view has a standing");
    result.push({
      ...standing,
      rows: view.built === null ? null : await countRows(run, view),
      tags: view.definition.tags ?? [],
      targetLagMs: view.definition.targetLagMs ?? null,
      refresh: view.definition.refresh,
      reasons: [...view.definition.reasons, ...(await addedColumns(run, view))],
    });
  }
  return result;
}

/** The part of a view's status that needs no look at its rows. */
export type Standing = Pick<ViewStatus, "view" | "state" | "horizon" | "asOf" | "lagMs" | "sources" | "strategy">;

/** Where views stand, told from the catalog alone. Each must come after what it reads. */
export async function standingsOf(run: RunContext, views: readonly StoredView[]): Promise<Standing[]> {
  const times = await horizonTimes(run);
  const standings: Omit<Standing, "lagMs">[] = [];
  const stale = new Set<string>();
  for (const view of views) {
    const standing = await standingOf(run, view, stale);
    if (standing.state !== "fresh") stale.add(view.name.toLowerCase());
    standings.push({ ...standing, asOf: times.get(view.name) ?? null });
  }
  const behind = views.filter((view) => stale.has(view.name.toLowerCase()));
  const lags = behind.length === 0 ? new Map<string, number | null>() : await lagsOf(run, behind);
  return standings.map((standing) => ({
    ...standing,
    lagMs: standing.state === "fresh" ? 0 : (lags.get(standing.view) ?? null),
  }));
}

/** When the snapshots were committed that views stand at. */
async function horizonTimes(run: RunContext): Promise<ReadonlyMap<string, string>> {
  const known = [...run.state.progress.values()].flatMap(({ view, instant }) =>
    instant === null ? [] : [`(${quoteLiteral(view)}, ${quoteLiteral(instant)})`],
  );
  if (known.length === 0) return new Map();
  const rows = await run.session.rows<{ view: string; at: string }>(
    `SELECT view, ${isoTime("CAST(instant AS TIMESTAMP WITH TIME ZONE)")} AS at FROM (VALUES ${known.join(", ")}) AS known(view, instant)`,
  );
  return new Map(rows.map(({ view, at }) => [view, at]));
}

async function standingOf(
  run: RunContext,
  view: StoredView,
  stale: ReadonlySet<string>,
): Promise<Omit<Standing, "asOf" | "lagMs">> {
  const { definition, built } = view;
  const progress = run.state.progress.get(view.name);
  const cursorOf = (source: string): bigint | null =>
    run.state.cursors.find((cursor) => cursor.view === view.name && cursor.source === source)?.snapshot ?? null;
  const planned = built === null ? null : await tryPlan(run, view);
  const sources = definition.sources.map((source) => {
    const state = planned?.sources.find((candidate) => candidate.defined.name === source.name)?.state;
    const upstream = source.kind === "view" && stale.has(source.table.toLowerCase());
    return {
      source: source.name,
      cursor: cursorOf(source.name),
      changed: upstream || state === undefined || state.kind !== "unchanged",
    };
  });
  let state: ViewStatus["state"];
  if (built === null) state = "pending";
  else if (built.fingerprint !== definition.fingerprint) state = "rebuild";
  else
    state =
      planned !== null && planned.strategy === null && !sources.some((source) => source.changed) ? "fresh" : "stale";
  return {
    view: view.name,
    state,
    horizon: progress?.horizon ?? null,
    sources,
    strategy: definition.plan === null || definition.refresh === "full" ? "recompute" : "incremental",
  };
}

/** Columns that sources got since the definition was applied and that its `*` would now give as well. */
async function addedColumns(run: RunContext, view: StoredView): Promise<Reason[]> {
  let star = false;
  walkAst(statementOf(view.definition), (node) => {
    if (node["class"] === "STAR") star = true;
    return !star;
  });
  if (!star) return [];
  const reasons: Reason[] = [];
  for (const source of view.definition.sources) {
    const table = source.kind === "table" ? await tableAt(run.session, run.engine, source, run.horizon) : undefined;
    const added =
      table?.columns.filter((column) => !source.columns.some((known) => sameName(known.name, column.name))) ?? [];
    if (added.length === 0) continue;
    const names = added.map((column) => column.name).join(", ");
    const text = `${source.name} got a new column (${names}) that * leaves out until the definition is applied again`;
    reasons.push({ code: "columns_added", text });
  }
  return reasons;
}

/** A view whose source is missing is stale, not an error of the status. */
async function tryPlan(run: RunContext, view: StoredView) {
  try {
    return await planViewRun(run, view);
  } catch (error) {
    if (error instanceof RefreshError) return null;
    throw error;
  }
}

async function countRows(run: RunContext, view: StoredView): Promise<bigint> {
  if (view.built === null) return 0n;
  const rows = visibleSelect(view.built.layout, physicalTable(run.tables, view.built.table));
  const row = await run.session.row<{ n: bigint }>(`SELECT count(*) AS n FROM (${rows})`);
  return row.n;
}
