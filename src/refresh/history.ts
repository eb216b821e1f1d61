import { isoTime } from "../catalog/snapshots.js";
import type { Session } from "../engine/session.js";
import { sameName } from "../sql/quote.js";
import type {
  CostResult,
  ErrorResult,
  HistoryOptions,
  Reason,
  RunRecord,
  RunSourceRecord,
  Strategy,
} from "../types.js";
import type { StateTables } from "../view/state.js";
import { viewUnknown } from "./order.js";
import { NO_TERMS } from "./results.js";
import { recordedRuns } from "./runs-table.js";

export interface StoredRun {
  readonly run_id: string;
  readonly view: string;
  readonly strategy: Strategy | null;
  readonly reason: string | null;
  readonly sources: string | null;
  readonly terms: string | null;
  readonly inserted: bigint;
  readonly deleted: bigint;
  readonly from: bigint | null;
  readonly to: bigint;
  readonly started: string;
  readonly elapsed: number;
  readonly error: string | null;
}

/**
 * What runs did to views, newest first.
 * @throws ConfigError `view_unknown` for a view that the lake neither has nor remembers.
 */
export async function readHistory(
  session: Session,
  tables: StateTables,
  options: HistoryOptions,
): Promise<RunRecord[]> {
  const state = await tables.read(session);
  const known = state.views.find((view) => options.view !== undefined && sameName(view.name, options.view));
  const name = known?.name ?? options.view;
  const runs = state.layout === 0 ? [] : await storedRuns(session, tables, state.layout, name, options.limit);
  if (runs.length === 0 && name !== undefined && known === undefined) throw viewUnknown(state.views, name);
  return runs.map(toRecord);
}

function storedRuns(
  session: Session,
  tables: StateTables,
  layout: number,
  view: string | undefined,
  limit: number | undefined,
): Promise<StoredRun[]> {
  return session.rows<StoredRun>(
    `SELECT ${storedColumns()} FROM (${recordedRuns(tables, layout)}) AS runs
     ${view === undefined ? "" : "WHERE lower(view) = lower($1)"}
     ORDER BY runs.started DESC, "to" DESC, view
     ${limit === undefined ? "" : `LIMIT ${limit}`}`,
    view === undefined ? [] : [view],
  );
}

/** What `toRecord` takes, of a SELECT of recorded runs. */
export function storedColumns(): string {
  return `run_id, view, strategy, reason, sources, terms, inserted, deleted, "from", "to", ${isoTime("runs.started")} AS started, elapsed, error`;
}

export function toRecord(run: StoredRun): RunRecord {
  const sources = readSources(run.sources);
  const { cost = null, ...terms } = readTerms(run.terms);
  return {
    runId: run.run_id,
    view: run.view,
    status: run.error === null ? "refreshed" : "failed",
    strategy: run.strategy,
    reason: readReason(run.reason),
    from: run.from,
    to: run.to,
    startedAt: run.started,
    elapsedMs: run.elapsed,
    sources,
    rows: {
      changed: run.strategy === "incremental" ? sources.reduce((sum, { rows }) => sum + rows, 0n) : null,
      inserted: run.inserted,
      deleted: run.deleted,
    },
    terms,
    cost,
    error: run.error === null ? null : (JSON.parse(run.error) as ErrorResult),
  };
}

/** Snapshots and counts are stored as text, since they can exceed 2^53. */
function readSources(json: string | null): RunSourceRecord[] {
  const stored = JSON.parse(json ?? "[]") as (Record<"source" | "to", string> &
    Record<"from" | "deltaRows", string | null> & { readonly delta: RunSourceRecord["delta"] })[];
  return stored.map(({ source, from, to, delta, deltaRows }) => ({
    source,
    from: from === null ? null : BigInt(from),
    to: BigInt(to),
    delta,
    rows: BigInt(deltaRows ?? 0),
  }));
}

function readTerms(json: string | null): RunRecord["terms"] & { readonly cost?: CostResult | null } {
  return json === null ? NO_TERMS : (JSON.parse(json) as RunRecord["terms"] & { readonly cost?: CostResult | null });
}

/** A reason is stored as its code and its text with a colon between. */
function readReason(stored: string | null): Reason | null {
  if (stored === null) return null;
  const colon = stored.indexOf(": ");
  return colon < 0 ? { code: stored, text: stored } : { code: stored.slice(0, colon), text: stored.slice(colon + 2) };
}
