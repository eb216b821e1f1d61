import { consolidatedSelect, WEIGHT } from "../catalog/consolidate.js";

import type { Session } from "../engine/session.js";
import { createFromRows } from "../engine/sparing.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { PhysicalColumn } from "../view/states.js";
import { decode } from "../view/visible.js";

/** The temporary table with the change of a view's physical rows: their columns, decoded, and the weight. */
export const DIFFERENCE = "ivm_difference";

/** The columns of a table that a view keeps: its physical table, or one beside it. */
export interface Stored {
  readonly columns: readonly PhysicalColumn[];
}

/** The column with the number that a row has in its table, where rows that were read may go. */
export const STORED_ROW = "_ivm_row";

/** The rows of such a table as values. @param others more columns. */
export function presentRows(stored: Stored, table: string, others: readonly string[] = []): string {
  const columns = stored.columns.map((column) => `${decode(column)} AS ${quoteIdentifier(column.name)}`);
  return `SELECT ${[...columns, ...others].join(", ")} FROM ${table}`;
}

/** Fills DIFFERENCE, or another table, with `after` minus `before`, two SELECTs of such rows as values. */
export async function fillDifference(
  session: Session,
  stored: Stored,
  after: string,
  before: string,
  target = DIFFERENCE,
): Promise<void> {
  const names = stored.columns.map((column) => column.name);
  const weight = quoteIdentifier(WEIGHT);
  const list = names.map(quoteIdentifier).join(", ");
  const rows = `SELECT ${list}, 1 AS ${weight} FROM (${after}) UNION ALL SELECT ${list}, -1 FROM (${before})`;
  await createFromRows(session, target, rows, (from) => consolidatedSelect(names, from));
}
