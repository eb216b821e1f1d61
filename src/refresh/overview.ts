import { type KeptSnapshots, keptSnapshots, timesOf } from "../catalog/kept-snapshots.js";
import { lagOf, listConsumers } from "../log/consumers.js";
import { logOverview } from "../log/overview.js";
import type {
  ConsumerStatus,
  Overview,
  OverviewOptions,
  RetainedCursor,
  RunsOverview,
  RunTotals,
  ViewOverview,
  ViewStatus,
} from "../types.js";
import type { StoredView } from "../view/state.js";
import { adviceOf } from "./explain-advice.js";
import { describePlan } from "./explain-plan.js";
import { graphOf } from "./graph.js";
import type { RunContext } from "./plan-run.js";
import { retentionOf } from "./retention.js";
import { RunTotalsReader } from "./run-totals.js";
import { statusOfViews } from "./status.js";

const BUCKETS = 72;
const RECENT = 40;
const NO_TOTALS: RunTotals = {
  initial: 0n,
  incremental: 0n,
  recompute: 0n,
  failed: 0n,
  rows: { inserted: 0n, deleted: 0n },
  elapsedMs: 0,
  fullMs: null,
  refreshedAt: null,
  failedAt: null,
};

/** Everything that a report tells of a lake. @param views each after what it reads. */
export async function overviewOf(
  run: RunContext,
  views: readonly StoredView[],
  options: OverviewOptions,
): Promise<Overview> {
  const { buckets = BUCKETS, recent = RECENT } = options;
  const kept = await keptSnapshots(run.session, run.engine);
  const statuses = await statusOfViews(run, views);
  const reader = run.state.layout === 0 ? undefined : new RunTotalsReader(run.session, run.tables, run.state.layout);
  const totals = (await reader?.byView()) ?? new Map<string, RunTotals>();
  const records = (await reader?.recent(recent)) ?? new Map();
  return {
    takenAt: kept.now,
    snapshot: run.present,
    snapshotAt: kept.newestAt,
    graph: await graphOf(run, views, statuses),
    views: views.map((view, index) => ({
      ...definedAs(view, statusAt(statuses, index)),
      totals: totals.get(view.name) ?? NO_TOTALS,
      recent: records.get(view.name) ?? [],
    })),
    runs: (await reader?.overview(buckets)) ?? noRuns(buckets),
    logs: [...run.logStates.values()].map(logOverview),
    consumers: await consumersOf(run),
    retention: { ...(await retentionOf(run)), ...(await edgeOf(run, kept)) },
  };
}

function statusAt(statuses: readonly ViewStatus[], index: number): ViewStatus {
  const status = statuses[index];
  if (status === undefined) throw new TypeError("every view has a status");
  return status;
}

function definedAs({ definition }: StoredView, status: ViewStatus): Omit<ViewOverview, "totals" | "recent"> {
  const { sql, columns, primaryKey, plan, layout } = definition;
  const tree = plan === null ? null : describePlan(plan, layout);
  return { ...status, sql, columns, primaryKey, plan: tree, advice: adviceOf(status.reasons, tree) };
}

function noRuns(bucketCount: number): RunsOverview {
  return { count: 0n, from: null, to: null, bucketMs: 0, bucketCount, buckets: [], recent: [] };
}

async function consumersOf(run: RunContext): Promise<ConsumerStatus[]> {
  const { logs, logStates, session } = run;
  if (logs === undefined || logStates.size === 0) return [];
  const now = new Date();
  return (await listConsumers(session, logs)).flatMap((consumer) => {
    const state = logStates.get(consumer.log);
    return state === undefined ? [] : [lagOf(consumer, state, logs.maxLag, now)];
  });
}

/** Where each view's oldest cursor stands between the oldest snapshot and now. */
async function edgeOf(
  run: RunContext,
  kept: KeptSnapshots,
): Promise<Pick<Overview["retention"], "oldestAt" | "expireOlderThan" | "cursors">> {
  const { session, engine, state } = run;
  const oldest = new Map<string, RetainedCursor>();
  for (const { view, source, snapshot } of state.cursors) {
    const known = oldest.get(view);
    if (known === undefined || snapshot < known.snapshot) oldest.set(view, { view, source, snapshot, at: null });
  }
  const cursors = [...oldest.values()];
  const times = await timesOf(session, engine, [...new Set(cursors.map(({ snapshot }) => snapshot))]);
  return {
    oldestAt: kept.oldestAt,
    expireOlderThan: kept.expireOlderThan,
    cursors: cursors.map((cursor) => ({ ...cursor, at: times.get(cursor.snapshot) ?? null })),
  };
}
