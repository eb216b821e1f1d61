import { LAYOUT_WITH_FAILURES } from "../view/migrations.js";
import type { StateTables } from "../view/state.js";

/**
 * The records of runs as a SELECT with the columns of the newest layout, whatever layout the lake has: `started` and
 * `finished` are times, `error` is JSON or NULL, `outcome` is the strategy or `failed`.
 */
export function recordedRuns(tables: StateTables, layout: number): string {
  const began = "finished_at - to_microseconds(CAST(elapsed_ms * 1000 AS BIGINT))";
  const [from, started, error] =
    layout < LAYOUT_WITH_FAILURES
      ? ["NULL", began, "NULL"]
      : ["from_horizon", `coalesce(started_at, ${began})`, "error"];
  return `SELECT run_id, view, strategy, reason, sources, terms, rows_inserted AS inserted, rows_deleted AS deleted,
      CAST(${from} AS BIGINT) AS "from", horizon AS "to", ${started} AS started, finished_at AS finished,
      elapsed_ms AS elapsed, CAST(${error} AS VARCHAR) AS error, coalesce(strategy, 'failed') AS outcome
    FROM ${tables.table("runs")}`;
}
