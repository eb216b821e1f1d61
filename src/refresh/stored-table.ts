import { WEIGHT } from "../catalog/consolidate.js";
import type { Session } from "../engine/session.js";
import { RefreshError } from "../errors.js";
import type { ColumnId } from "../plan/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import { encode } from "../view/visible.js";
import type { Stored } from "./difference.js";

/** A table that a view keeps, and the change that is to be written to it. */
export interface StoredTable extends Stored {
  readonly view: string;
  /** As it stands in FROM. */
  readonly table: string;
  /** The columns by which a row is found; all where undefined, since rows may be there more than once. */
  readonly keys: readonly ColumnId[] | undefined;
  /** The temporary tables with the difference, and with the rows that go. */
  readonly difference: string;
  readonly victims: string;
}

/** Creates the table, or replaces what has its name, and fills it from a SELECT of its rows as values. */
export async function createTable(
  session: Session,
  stored: Omit<StoredTable, "keys" | "difference" | "victims">,
  rows: string,
): Promise<void> {
  const columns = stored.columns.map((column) => `${q(column.name)} ${column.stored}`).join(", ");
  await session.run(`CREATE OR REPLACE TABLE ${stored.table} (${columns})`);
  await session.run(`INSERT INTO ${stored.table} SELECT ${stored.columns.map(encode).join(", ")} FROM (\n${rows}\n)`);
}

/** Finds the rows to delete by value, one for each copy that goes; gives how many there must be. */
export async function findVictims(session: Session, stored: StoredTable): Promise<bigint> {
  const weight = q(WEIGHT);
  const { keys, table, difference, victims } = stored;
  const match = stored.columns
    .filter((column) => keys === undefined || keys.includes(column.id))
    .map(
      (column) =>
        `${column.stored === column.type ? `present.${q(column.name)}` : `CAST(present.${q(column.name)} AS ${column.type})`} IS NOT DISTINCT FROM gone.${q(column.name)}`,
    );
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(victims)} AS
    SELECT victim FROM (
      SELECT present.rowid AS victim, gone._ivm_copies AS copies, row_number() OVER (PARTITION BY gone._ivm_number) AS position
      FROM ${table} AS present
      JOIN (SELECT *, -${weight} AS _ivm_copies, row_number() OVER () AS _ivm_number FROM temp.${q(difference)} WHERE ${weight} < 0) AS gone
        ON ${match.length === 0 ? "true" : match.join(" AND ")}
    ) WHERE position <= copies`);
  const row = await session.row<{ found: bigint; expected: bigint | null }>(`
    SELECT (SELECT count(DISTINCT victim) FROM temp.${q(victims)}) AS found,
           (SELECT CAST(-sum(${weight}) AS BIGINT) FROM temp.${q(difference)} WHERE ${weight} < 0) AS expected`);
  const expected = row.expected ?? 0n;
  if (row.found !== expected) throw tableAltered(stored.view, expected, row.found);
  return expected;
}

/** Writes the difference: deletes the victims, of which there must be `expected`, and inserts what comes. */
export async function applyDifference(session: Session, stored: StoredTable, expected: bigint): Promise<void> {
  const { table, difference, victims } = stored;
  if (expected > 0n) {
    const deleted = await session.change(`DELETE FROM ${table} WHERE rowid IN (SELECT victim FROM temp.${q(victims)})`);
    if (deleted !== expected) throw tableAltered(stored.view, expected, deleted);
  }
  await session.run(
    `INSERT INTO ${table} SELECT ${stored.columns.map(encode).join(", ")}
     FROM (SELECT *, unnest(range(${q(WEIGHT)})) FROM temp.${q(difference)} WHERE ${q(WEIGHT)} > 0)`,
  );
}

export const TABLE_ALTERED = "physical_table_altered";

export function tableAltered(view: string, expected: bigint, found: bigint): RefreshError {
  return new RefreshError(
    TABLE_ALTERED,
    `View ${view}: ${expected} rows had to go from its tables, but ${found} were found. Something else has written to them.`,
    {
      subject: { view },
      hint: "Only ducklake-ivm may write to the tables of its state schema; the next refresh rebuilds the view by difference.",
    },
  );
}
