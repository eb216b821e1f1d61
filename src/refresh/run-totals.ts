import { isoTime } from "../catalog/snapshots.js";
import type { Session } from "../engine/session.js";
import { quoteLiteral } from "../sql/quote.js";
import type { RunBucket, RunRecord, RunSummary, RunsOverview, RunTotals } from "../types.js";
import type { StateTables } from "../view/state.js";
import { type StoredRun, storedColumns, toRecord } from "./history.js";
import { recordedRuns } from "./runs-table.js";

const RECENT_RUNS = 30;

/** Sums over the records of runs, which are made in the lake: only the answers are read, however many records there are. */
export class RunTotalsReader {
  private readonly runs: string;

  constructor(
    private readonly session: Session,
    tables: StateTables,
    layout: number,
  ) {
    this.runs = `(${recordedRuns(tables, layout)}) AS runs`;
  }

  async byView(): Promise<ReadonlyMap<string, RunTotals>> {
    const count = (outcome: string): string =>
      `count(*) FILTER (WHERE outcome = ${quoteLiteral(outcome)}) AS ${outcome}`;
    const rows = await this.session.rows<
      Record<"initial" | "incremental" | "recompute" | "failed" | "inserted" | "deleted", bigint> &
        Record<"refreshedAt" | "failedAt", string | null> & { view: string; elapsedMs: number; fullMs: number | null }
    >(`
      SELECT view, ${["initial", "incremental", "recompute", "failed"].map(count).join(", ")},
        CAST(sum(inserted) AS BIGINT) AS inserted, CAST(sum(deleted) AS BIGINT) AS deleted, sum(elapsed) AS "elapsedMs",
        arg_max(elapsed, started) FILTER (WHERE outcome = 'recompute') AS "fullMs",
        ${isoTime("max(finished) FILTER (WHERE outcome <> 'failed')")} AS "refreshedAt",
        ${isoTime("max(finished) FILTER (WHERE outcome = 'failed')")} AS "failedAt"
      FROM ${this.runs} GROUP BY view`);
    return new Map(
      rows.map(({ view, inserted, deleted, ...totals }) => [view, { ...totals, rows: { inserted, deleted } }]),
    );
  }

  /** The newest records of each view, newest first. */
  async recent(limit: number): Promise<ReadonlyMap<string, readonly RunRecord[]>> {
    const rows = await this.session.rows<StoredRun>(`
      SELECT ${storedColumns()} FROM ${this.runs}
      QUALIFY row_number() OVER (PARTITION BY view ORDER BY started DESC, "to" DESC) <= ${limit}
      ORDER BY runs.started DESC, "to" DESC, view`);
    const records = new Map<string, RunRecord[]>();
    for (const record of rows.map(toRecord)) {
      const known = records.get(record.view);
      if (known === undefined) records.set(record.view, [record]);
      else known.push(record);
    }
    return records;
  }

  async overview(bucketCount: number): Promise<RunsOverview> {
    const span = await this.session.row<{
      count: bigint;
      first: bigint | null;
      last: bigint | null;
      from: string | null;
      to: string | null;
    }>(`
      SELECT count(DISTINCT run_id) AS count, epoch_ms(min(started)) AS first, epoch_ms(max(started)) AS last,
        ${isoTime("min(started)")} AS "from", ${isoTime("max(started)")} AS "to"
      FROM ${this.runs}`);
    const { count, first, last, from, to } = span;
    if (first === null || last === null) {
      return { count, from: null, to: null, bucketMs: 0, bucketCount, buckets: [], recent: [] };
    }
    const bucketMs = Math.max(Math.ceil((Number(last - first) + 1) / bucketCount), 1);
    const buckets = await this.buckets(first, bucketMs);
    return { count, from, to, bucketMs, bucketCount, buckets, recent: await this.summaries() };
  }

  private async buckets(first: bigint, bucketMs: number): Promise<RunBucket[]> {
    const rows = await this.session.rows<
      Omit<RunBucket, "bucket" | "refreshes"> & { bucket: bigint; refreshes: bigint }
    >(`
      SELECT (epoch_ms(started) - ${first}) // ${bucketMs} AS bucket, view, outcome, count(*) AS refreshes, sum(elapsed) AS "elapsedMs"
      FROM ${this.runs} GROUP BY ALL ORDER BY bucket, view, outcome`);
    return rows.map((row) => ({ ...row, bucket: Number(row.bucket), refreshes: Number(row.refreshes) }));
  }

  private async summaries(): Promise<RunSummary[]> {
    const rows = await this.session.rows<
      Record<"refreshed" | "recomputed" | "failed" | "horizon" | "inserted" | "deleted", bigint> &
        Pick<RunSummary, "runId" | "startedAt" | "elapsedMs">
    >(`
      SELECT run_id AS "runId", ${isoTime("min(started)")} AS "startedAt",
        epoch_ms(max(finished)) - epoch_ms(min(started)) AS "elapsedMs", max("to") AS horizon,
        count(*) FILTER (WHERE outcome <> 'failed') AS refreshed, count(*) FILTER (WHERE outcome IN ('initial', 'recompute')) AS recomputed,
        count(*) FILTER (WHERE outcome = 'failed') AS failed,
        CAST(sum(inserted) AS BIGINT) AS inserted, CAST(sum(deleted) AS BIGINT) AS deleted
      FROM ${this.runs} GROUP BY run_id ORDER BY min(started) DESC LIMIT ${RECENT_RUNS}`);
    return rows.map(({ runId, startedAt, elapsedMs, horizon, refreshed, recomputed, failed, inserted, deleted }) => ({
      runId,
      startedAt,
      elapsedMs: Number(elapsedMs),
      horizon,
      views: { refreshed: Number(refreshed), recomputed: Number(recomputed), failed: Number(failed) },
      rows: { inserted, deleted },
    }));
  }
}
