import type { Session } from "../engine/session.js";
import type { ExplainHistory, MeasuredRuns } from "../types.js";
import type { StateTables } from "../view/state.js";
import { type StoredRun, storedColumns, toRecord } from "./history.js";
import { recordedRuns } from "./runs-table.js";

/** As many of the newest runs are looked at. */
const NEWEST = 100;

/** What the newest refreshes of a view took, by strategy. */
export async function measuredRuns(
  session: Session,
  tables: StateTables,
  layout: number,
  view: string,
): Promise<ExplainHistory> {
  if (layout === 0) return { incremental: null, recompute: null, last: null };
  const newest = `SELECT * FROM (${recordedRuns(tables, layout)}) WHERE view = $1 AND outcome <> 'failed' ORDER BY started DESC, "to" DESC LIMIT ${NEWEST}`;
  const measured = await session.rows<
    Omit<MeasuredRuns, "lastRows"> & { strategy: string; inserted: bigint; deleted: bigint }
  >(
    `SELECT strategy, CAST(count(*) AS INTEGER) AS runs, median(elapsed) AS "medianMs", max(elapsed) AS "slowestMs",
       arg_max(inserted, (started, "to")) AS inserted, arg_max(deleted, (started, "to")) AS deleted
     FROM (${newest}) GROUP BY strategy`,
    [view],
  );
  const of = (strategy: string): MeasuredRuns | null => {
    const found = measured.find((runs) => runs.strategy === strategy);
    if (found === undefined) return null;
    const { runs, medianMs, slowestMs, inserted, deleted } = found;
    return { runs, medianMs, slowestMs, lastRows: { inserted, deleted } };
  };
  const [last] = await session.rows<StoredRun>(
    `SELECT ${storedColumns()} FROM (${newest}) AS runs ORDER BY runs.started DESC, "to" DESC LIMIT 1`,
    [view],
  );
  return {
    incremental: of("incremental"),
    recompute: of("recompute"),
    last: last === undefined ? null : toRecord(last),
  };
}
