import { WEIGHT } from "../catalog/consolidate.js";
import type { Session } from "../engine/session.js";
import { RefreshError } from "../errors.js";
import type { ColumnId } from "../plan/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import { encode } from "../view/visible.js";
import { STORED_ROW, type Stored } from "./difference.js";
import { equalityFor, NULL_IS_A_KEY } from "./equality.js";

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
  /** A temporary table with all rows that may go, as values, and their STORED_ROW; undefined where they must be looked for. */
  readonly present: string | undefined;
  readonly isLarge: boolean;
}

/** Creates the table, or replaces what has its name, and fills it from a SELECT of its rows as values. */
export async function createTable(
  session: Session,
  stored: Omit<StoredTable, "keys" | "difference" | "victims" | "present" | "isLarge">,
  rows: string,
): Promise<void> {
  const columns = stored.columns.map((column) => `${q(column.name)} ${column.stored}`).join(", ");
  await session.run(`CREATE OR REPLACE TABLE ${stored.table} (${columns})`);
  await session.run(`INSERT INTO ${stored.table} SELECT ${stored.columns.map(encode).join(", ")} FROM (\n${rows}\n)`);
}

/** Finds the rows to delete by value, one for each copy that goes; gives how many there must be. */
export async function findVictims(session: Session, stored: StoredTable): Promise<bigint> {
  const weight = q(WEIGHT);
  const { table, difference, victims } = stored;
  const { expected } = await session.row<{ expected: bigint }>(
    `SELECT CAST(coalesce(-sum(${weight}), 0) AS BIGINT) AS expected FROM temp.${q(difference)} WHERE ${weight} < 0`,
  );
  if (expected === 0n) return expected;
  const row = stored.present === undefined ? "rowid" : q(STORED_ROW);
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(victims)} AS
    SELECT victim FROM (
      SELECT present.${row} AS victim, gone._ivm_copies AS copies, row_number() OVER (PARTITION BY gone._ivm_number) AS position
      FROM ${stored.present === undefined ? table : `temp.${q(stored.present)}`} AS present
      JOIN (SELECT *, -${weight} AS _ivm_copies, row_number() OVER () AS _ivm_number FROM temp.${q(difference)} WHERE ${weight} < 0) AS gone
        ON ${await sameRow(session, stored)}
    ) WHERE position <= copies`);
  const { found } = await session.row<{ found: bigint }>(
    `SELECT count(DISTINCT victim) AS found FROM temp.${q(victims)}`,
  );
  if (found !== expected) throw tableAltered(stored.view, expected, found);
  return expected;
}

/** The condition that a row of the table is one that goes. */
async function sameRow(session: Session, stored: StoredTable): Promise<string> {
  const columns = stored.columns.filter(({ id }) => stored.keys === undefined || stored.keys.includes(id));
  if (columns.length === 0) return "true";
  const { present, isLarge, difference } = stored;
  const equality =
    isLarge && present === undefined
      ? await equalityFor(session, difference, columns, `${q(WEIGHT)} < 0`)
      : NULL_IS_A_KEY;
  const pairs = columns.map((column) => {
    const name = q(column.name);
    const isValue = present !== undefined || column.stored === column.type;
    const value = isValue ? `present.${name}` : `CAST(present.${name} AS ${column.type})`;
    return `${value} ${equality(column.name)} gone.${name}`;
  });
  return pairs.join(" AND ");
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
