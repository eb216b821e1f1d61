import { rowsWritten } from "../catalog/table-sizes.js";
import type { CostChoice } from "../plan/cost.js";
import { besideTables } from "../view/beside.js";
import { physicalTable } from "./physical.js";
import type { PlannedView, RunContext } from "./plan-run.js";

/**
 * With fewer rows a table is read in no time, and DuckLake takes longer to look which of its files are in a range. Tests set
 * it, so that random histories of small tables go the way of large ones.
 */
export const LARGE = { rows: 200_000 };

/** What has so many rows that it matters how it is read. */
export interface Large {
  /** Those of the view's tables, as they stand in FROM. */
  readonly tables: ReadonlySet<string>;
  /** True for the view's sources, all together. */
  readonly sources: boolean;
}

export const NOTHING_LARGE: Large = { tables: new Set(), sources: false };

/** Told from the catalog; where there is no estimate of the sources, nothing is. A view of small sources is taken for small. */
export async function findLarge(
  { session, engine, tables }: RunContext,
  { view: { built } }: PlannedView,
  choice: CostChoice | null,
): Promise<Large> {
  if (built === null || choice === null || choice.work.rows < LARGE.rows) return NOTHING_LARGE;
  const names = [built.table, ...besideTables(built.layout, built.table).map(({ name }) => name)];
  const rows = await rowsWritten(session, engine, tables.schema, names);
  const large = names.filter((name) => (rows.get(name) ?? 0n) >= LARGE.rows);
  return { tables: new Set(large.map((name) => physicalTable(tables, name))), sources: true };
}
