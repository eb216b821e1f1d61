import { tableSizes } from "../catalog/table-sizes.js";
import {
  type CostChoice,
  type CostHistory,
  chooseByCost,
  type Measurement,
  NO_HISTORY,
  remember,
} from "../plan/cost.js";
import { sourceScansOf } from "../plan/recursion.js";
import type { CostResult, Reason } from "../types.js";
import type { PlannedView, RunContext } from "./plan-run.js";

/** What is stored of a view's refreshes; of no use for another definition. */
interface StoredCosts extends CostHistory {
  readonly fingerprint: string;
}

function costHistory({ view, progress }: PlannedView): CostHistory {
  if (progress.costs === null) return NO_HISTORY;
  const stored = JSON.parse(progress.costs) as StoredCosts;
  return stored.fingerprint === view.definition.fingerprint ? stored : NO_HISTORY;
}

/** The view's history with the refreshes that were just measured, to be stored. */
export function storedCosts(planned: PlannedView, measured: readonly Omit<Measurement, "refresh">[]): string | null {
  if (measured.length === 0) return planned.progress.costs;
  const history = measured.reduce(remember, costHistory(planned));
  const stored: StoredCosts = { ...history, fingerprint: planned.view.definition.fingerprint };
  return JSON.stringify(stored);
}

/** Estimates both strategies from the catalog and from earlier refreshes; null where there is no plan to go by. */
export async function estimateCosts(run: RunContext, planned: PlannedView): Promise<CostChoice | null> {
  const { plan } = planned.view.definition;
  if (plan === null) return null;
  const inLake = await tableSizes(
    run.session,
    run.engine,
    planned.sources.map(({ identity, from, to, state, logged }) => {
      if (state.kind !== "changed" || from === null || logged !== null) {
        return { tableId: identity.id, from: to, to, inlined: false };
      }
      return { tableId: identity.id, from, to, inlined: state.inlined };
    }),
  );
  // Of a window whose beginning was expired only the source's log knows the size.
  const sizes = inLake.map((size, index) => {
    const entries = planned.sources[index]?.logged?.read.entries;
    return entries === undefined ? size : { ...size, changed: sum(entries.map((entry) => Number(entry.rows))) };
  });
  const scans = sourceScansOf(plan).map((scan) =>
    planned.sources.findIndex((source) => source.defined.name === scan.source),
  );
  const work = {
    rows: sum(scans.map((index) => sizes[index]?.rows ?? 0)),
    changed: sum(sizes.map((size) => size.changed)),
    terms: scans.filter((index) => planned.sources[index]?.state.kind === "changed").length,
  };
  return chooseByCost(work, costHistory(planned));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Why a view that could be kept by rules is recomputed. */
export function costReason({ incremental, recompute, work, trial }: CostChoice): Reason {
  const about = `about ${Math.round(recompute.ms)} ms against ${Math.round(incremental.ms)} ms`;
  const rows = `${work.changed} changed rows of ${work.rows}`;
  return trial
    ? { code: "cost_trial", text: `a recompute is tried, to know what it takes: ${about} for ${rows}` }
    : { code: "cost", text: `a recompute is cheaper: ${about} for ${rows}` };
}

export function costResult({ strategy, trial, incremental, recompute, work }: CostChoice): CostResult {
  return { choice: strategy, trial, incremental, recompute, changedRows: work.changed, rows: work.rows };
}
