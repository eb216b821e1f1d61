import { WEIGHT } from "../catalog/consolidate.js";
import type { Session } from "../engine/session.js";
import type { ColumnId } from "../plan/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import { countedDifference } from "../view/beside.js";
import type { CountedTable } from "../view/layout.js";
import { presentRows } from "./difference.js";
import { type EqualityOf, equalityFor, isPlain, NULL_IS_A_KEY } from "./equality.js";
import type { TakeColumn } from "./fold-states.js";
import { tableAltered } from "./stored-table.js";

/**
 * Aggregates of distinct values: copies of each value of each group are counted, and a value comes or goes for the
 * group where its count leaves or reaches zero. Only the values of changed rows are looked up.
 */
export interface CountInput {
  readonly session: Session;
  readonly view: string;
  readonly keys: readonly ColumnId[];
  /** The table with the changed rows, summed up. */
  readonly changedRows: string;
  /** True where the counted table has so many rows that it matters how they are read. */
  readonly isLarge: boolean;
}

/** The temporary table with the values of a counted table that came or went, with `weight` 1 or -1, or 0 for neither. */
export function changedValues(position: number): string {
  return `ivm_changed_values${position + 1}`;
}

/** Gives the condition and the value of a counted table in the changed rows. */
export function countedInputs(
  table: CountedTable,
  take: TakeColumn,
): { readonly value: string; readonly taken: string } {
  const value = take(table.argument, "argument");
  const filter = table.filter === null ? "" : ` AND ${take(table.filter, "filter")}`;
  return { value, taken: `${value} IS NOT NULL${filter}` };
}

/** Counts the values of changed rows into `changedValues` and into the difference of the counted table. */
export async function countValues(
  input: CountInput,
  position: number,
  table: CountedTable,
  present: string,
  inputs: { readonly value: string; readonly taken: string },
): Promise<void> {
  const { session, keys } = input;
  const ids = [...keys, table.id];
  const columns = [...keys.map(q), `${inputs.value} AS ${q(table.id)}`];
  const nameOf = (id: ColumnId): string => q(table.columns.find((column) => column.id === id)?.name ?? id);
  const equality = input.isLarge ? await equalityOf(input, table, inputs.taken) : NULL_IS_A_KEY;
  const match = ids.map((id) => `old.${nameOf(id)} ${equality(id)} changed.${q(id)}`).join(" AND ");
  const before = `coalesce(old.${nameOf(table.copies)}, 0)`;
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(changedValues(position))} AS
    SELECT *, CAST("after" > 0 AS BIGINT) - CAST("before" > 0 AS BIGINT) AS "weight" FROM (
      SELECT ${ids.map((id) => `changed.${q(id)}`).join(", ")}, ${before} AS "before", ${before} + changed."copies" AS "after"
      FROM (
        SELECT ${columns.join(", ")}, CAST(sum("weight") AS BIGINT) AS "copies" FROM temp.${q(input.changedRows)}
        WHERE ${inputs.taken} GROUP BY ${ids.map((_, index) => index + 1).join(", ")} HAVING sum("weight") <> 0
      ) AS changed LEFT JOIN (${presentRows(table, present)}) AS old ON ${match})`);
  await requireCounts(input, position);
  const rows = (copies: string, weight: string): string =>
    `SELECT ${ids.map((id) => `${q(id)} AS ${nameOf(id)}`).join(", ")}, ${q(copies)} AS ${nameOf(table.copies)}, ${weight} AS ${q(WEIGHT)}
     FROM temp.${q(changedValues(position))} WHERE ${q(copies)} > 0`;
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${q(countedDifference(position))} AS ${rows("before", "-1")} UNION ALL ${rows("after", "1")}`,
  );
}

/** The value itself is no NULL where it is taken. */
async function equalityOf(
  { session, changedRows, keys }: CountInput,
  table: CountedTable,
  taken: string,
): Promise<EqualityOf> {
  const columns = table.columns.map(({ id, type }) => ({ name: id, type }));
  const ofKeys = await equalityFor(
    session,
    changedRows,
    columns.filter(({ name }) => keys.includes(name)),
    taken,
  );
  const value = columns.find(({ name }) => name === table.id);
  return (name) => (name === value?.name && isPlain(value.type) ? "=" : ofKeys(name));
}

async function requireCounts({ session, view }: CountInput, position: number): Promise<void> {
  const { missing } = await session.row<{ missing: bigint }>(
    `SELECT count(*) AS missing FROM temp.${q(changedValues(position))} WHERE "after" < 0`,
  );
  if (missing > 0n) throw tableAltered(view, missing, 0n);
}
