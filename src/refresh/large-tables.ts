import { rowsWritten } from "../catalog/table-sizes.js";
import type { CostChoice } from "../plan/cost.js";
import { besideTables } from "../view/beside.js";
import { physicalTable } from "./physical.js";
import type { PlannedView, RunContext } from "./plan-run.js";

/** With fewer rows a table is read in no time, and DuckLake takes longer to look which of its files are in a range. */
const LARGE_TABLE = 200_000;

/**
 * Those of a view's tables that have so many rows that it matters how they are read, as they stand in FROM. Not asked for
 * where the view's sources have fewer, or where there is no estimate of them.
 */
export async function largeTables(
  { session, engine, tables }: RunContext,
  { view: { built } }: PlannedView,
  choice: CostChoice | null,
): Promise<ReadonlySet<string>> {
  if (built === null || choice === null || choice.work.rows < LARGE_TABLE) return new Set();
  const names = [built.table, ...besideTables(built.layout, built.table).map(({ name }) => name)];
  const rows = await rowsWritten(session, engine, tables.schema, names);
  return new Set(
    names.filter((name) => (rows.get(name) ?? 0n) >= LARGE_TABLE).map((name) => physicalTable(tables, name)),
  );
}
