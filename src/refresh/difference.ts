import { WEIGHT } from "../catalog/source-delta.js";

import type { Session } from "../engine/session.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { Layout } from "../view/layout.js";
import { decode } from "../view/visible.js";

/** The temporary table with the change of a view's physical rows: their columns, decoded, and the weight. */
export const DIFFERENCE = "ivm_difference";

/** The physical rows as values. */
export function presentRows(layout: Layout, table: string): string {
  const columns = layout.columns.map((column) => `${decode(column)} AS ${quoteIdentifier(column.name)}`);
  return `SELECT ${columns.join(", ")} FROM ${table}`;
}

/** Fills DIFFERENCE with `after` minus `before`, two SELECTs of physical rows as values. */
export async function fillDifference(session: Session, layout: Layout, after: string, before: string): Promise<void> {
  const columns = layout.columns.map((column) => quoteIdentifier(column.name));
  const weight = quoteIdentifier(WEIGHT);
  const list = columns.join(", ");
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${quoteIdentifier(DIFFERENCE)} AS
    SELECT ${list}, CAST(sum(${weight}) AS BIGINT) AS ${weight}
    FROM (SELECT ${list}, 1 AS ${weight} FROM (${after}) UNION ALL SELECT ${list}, -1 FROM (${before}))
    GROUP BY ${columns.map((_, index) => index + 1).join(", ")} HAVING sum(${weight}) <> 0`);
}
