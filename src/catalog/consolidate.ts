import type { Session } from "../engine/session.js";
import { createFromRows } from "../engine/sparing.js";
import { quoteIdentifier } from "../sql/quote.js";

/** The weight column of every delta that is kept in a temporary table. */
export const WEIGHT = "_ivm_weight";

interface Consolidation {
  /** The rows' weight column, and the one of the result. */
  readonly weight?: { readonly from: string; readonly to: string };
  /** Columns whose values are the same only where their text is: see `exactColumns`. */
  readonly exact?: readonly string[];
}

/** Rows with a weight, summed by the named columns; what cancels out is left out. */
export function consolidatedSelect(names: readonly string[], rows: string, options: Consolidation = {}): string {
  const columns = names.map(quoteIdentifier);
  const { weight = { from: WEIGHT, to: WEIGHT }, exact = [] } = options;
  const [from, to] = [quoteIdentifier(weight.from), quoteIdentifier(weight.to)];
  const keys = [
    ...columns.map((_, index) => String(index + 1)),
    ...exact.map((name) => `CAST(${quoteIdentifier(name)} AS VARCHAR)`),
  ];
  const groups = keys.length === 0 ? "" : `GROUP BY ${keys.join(", ")}`;
  const total = `CAST(sum(${from}) AS BIGINT) AS ${to}`;
  return `SELECT ${[...columns, total].join(", ")} FROM (${rows}) ${groups} HAVING sum(${from}) <> 0`;
}

/**
 * The columns that have values which are equal and yet not the same: DuckDB takes 0.0 for -0.0 and a month for 30 days.
 * A change from the one to the other is one for whoever asks for the sign or the days, so a source's delta keeps it.
 */
async function exactColumns(session: Session, names: readonly string[], rows: string): Promise<string[]> {
  if (names.length === 0) return [];
  const types = await session.typesOf(`SELECT ${names.map(quoteIdentifier).join(", ")} FROM (${rows})`);
  return names.filter((_, index) => LOOSELY_EQUAL.test(String(types[index])));
}

/** Names of the types, alone and inside of others. */
const LOOSELY_EQUAL = /\b(FLOAT|DOUBLE|INTERVAL|VARIANT)\b/;

/**
 * Fills a temporary table with rows whose weights are summed, kept apart where they are equal and not the same.
 * @param weight the rows' weight column, and the one of the table.
 */
export async function createConsolidated(
  session: Session,
  target: string,
  names: readonly string[],
  rows: string,
  weight?: Consolidation["weight"],
): Promise<void> {
  const exact = await exactColumns(session, names, rows);
  const options = { exact, ...(weight === undefined ? {} : { weight }) };
  await createFromRows(session, target, rows, (from) => consolidatedSelect(names, from, options));
}

/** `consolidatedSelect` that keeps apart what is equal and not the same. */
export async function exactlyConsolidated(session: Session, names: readonly string[], rows: string): Promise<string> {
  return consolidatedSelect(names, rows, { exact: await exactColumns(session, names, rows) });
}
