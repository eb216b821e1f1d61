import type { Session } from "../engine/session.js";
import { quoteIdentifier as q } from "../sql/quote.js";

/** A column of a temporary table by which rows of another table are found. */
interface KeyColumn {
  readonly name: string;
  readonly type: string;
}

/** Gives the operator for a key column of the name. */
export type EqualityOf = (name: string) => "=" | "IS NOT DISTINCT FROM";

/** Types of which two values that are equal are the same, whichever operator compares them. */
const PLAIN_TYPE =
  /^(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(\d+, ?\d+\)|VARCHAR|BLOB|UUID|DATE|TIMESTAMP(_S|_MS|_NS)?)$/;

export function isPlain(type: string): boolean {
  return PLAIN_TYPE.test(type);
}

/** NULL is a key like any other. */
export const NULL_IS_A_KEY: EqualityOf = () => "IS NOT DISTINCT FROM";

/**
 * How the rows of a large table are found by the keys of a temporary table, or of those of its rows that `where` leaves.
 * Columns without a NULL there are compared with `=`, which says the same of them, and which alone lets DuckDB keep their
 * range in mind while it reads the other table: row groups outside of it are passed over.
 */
export async function equalityFor(
  session: Session,
  table: string,
  columns: readonly KeyColumn[],
  where = "true",
): Promise<EqualityOf> {
  const plain = columns.filter(({ type }) => isPlain(type));
  if (plain.length === 0) return NULL_IS_A_KEY;
  const counts = plain.map(({ name }, index) => `count(*) FILTER (WHERE ${q(name)} IS NULL) AS c${index}`);
  const nulls = await session.row<Readonly<Record<string, bigint>>>(
    `SELECT ${counts.join(", ")} FROM temp.${q(table)} WHERE ${where}`,
  );
  const without = new Set(plain.filter((_, index) => nulls[`c${index}`] === 0n).map(({ name }) => name));
  return (name) => (without.has(name) ? "=" : "IS NOT DISTINCT FROM");
}
