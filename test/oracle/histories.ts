/** Many seeds in a row: what the tests and the fuzzer share. */

import { LARGE } from "../../src/refresh/large-tables.js";
import { check, type Failure, type Outcome } from "./check.js";

export interface Totals {
  passed: number;
  /** Histories that plain DuckDB refuses, by reason. */
  readonly discarded: Map<string, number>;
  readonly failures: Failure[];
  /** Refreshes of one view, by strategy and reason. */
  readonly strategies: Map<string, number>;
  /** Deltas of one source, by how they were read. */
  readonly deltas: Map<string, number>;
  /** Refreshes that changed rows of a view after it was built: the ones that test anything. */
  changes: number;
  /** Partitions of window functions that went on from their stored end, and that were evaluated anew. */
  resumed: number;
  reread: number;
}

export interface SeedsOptions {
  readonly first: number;
  readonly runs: number;
  readonly shrinkMs: number;
  /** True to take all tables for large ones, which are read in another way. */
  readonly large?: boolean;
  /** Stop at so many failures. */
  readonly maxFailures?: number;
  readonly onProgress?: (seed: number, outcome: Outcome, totals: Totals) => void;
}

export async function checkSeeds(options: SeedsOptions): Promise<Totals> {
  const { rows } = LARGE;
  if (options.large === true) LARGE.rows = 0;
  try {
    return await runSeeds(options);
  } finally {
    LARGE.rows = rows;
  }
}

async function runSeeds(options: SeedsOptions): Promise<Totals> {
  const totals: Totals = {
    passed: 0,
    discarded: new Map(),
    failures: [],
    strategies: new Map(),
    deltas: new Map(),
    changes: 0,
    resumed: 0,
    reread: 0,
  };
  const seeds = Array.from({ length: options.runs }, (_, index) => options.first + index);
  const next = seeds.values();
  // DuckDB works on threads of its own, so two histories at once use two cores.
  const worker = async () => {
    for (const seed of next) {
      if (totals.failures.length >= (options.maxFailures ?? Number.POSITIVE_INFINITY)) return;
      const outcome = await check(seed, options);
      add(totals, outcome);
      options.onProgress?.(seed, outcome, totals);
    }
  };
  await Promise.all([worker(), worker()]);
  return totals;
}

function add(totals: Totals, outcome: Outcome): void {
  if (outcome.kind === "failed") totals.failures.push(outcome.failure);
  if (outcome.kind === "discarded") count(totals.discarded, outcome.objection.kind);
  if (outcome.kind !== "passed") return;
  totals.passed++;
  for (const refresh of outcome.record.refreshes) {
    for (const view of refresh.views) {
      const reason = view.reason === null ? "" : ` (${view.reason.code})`;
      count(totals.strategies, `${view.strategy ?? view.status}${reason}`);
      totals.resumed += Number(view.partitions?.resumed ?? 0n);
      totals.reread += Number(view.partitions?.reread ?? 0n);
      const changed = view.rows.inserted + view.rows.deleted > 0n;
      if (changed && view.strategy !== "initial") totals.changes++;
      for (const source of view.sources) {
        if (source.delta === undefined) continue;
        const why = source.deltaReason === undefined ? "" : ` (${source.deltaReason.code})`;
        count(totals.deltas, `${source.delta}${why}`);
      }
    }
  }
}

function count(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

export function printTotals(totals: Totals): string {
  const print = (map: ReadonlyMap<string, number>) =>
    [...map]
      .sort((a, b) => b[1] - a[1])
      .map(([key, number]) => `${key} ${number}`)
      .join(", ") || "none";
  return [
    `passed ${totals.passed}, failed ${totals.failures.length}, discarded ${print(totals.discarded)}`,
    `refreshes of views: ${print(totals.strategies)}; ${totals.changes} of them changed rows`,
    `source deltas: ${print(totals.deltas)}`,
    `partitions of window functions: ${totals.resumed} resumed, ${totals.reread} evaluated anew`,
  ].join("\n");
}
