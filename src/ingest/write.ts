/** The differences become one DELETE and one INSERT. */
import type { Session } from "../engine/session.js";
import { InternalError } from "../errors.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";
import { MATCHES, VICTIMS } from "./compare.js";
import type { Conversion } from "./convert.js";
import { INPUT } from "./input.js";
import { type Target, type TargetColumn, targetName, targetPath } from "./target.js";

const q = quoteIdentifier;

export async function createTable(session: Session, target: Target, columns: readonly TargetColumn[]): Promise<void> {
  const list = columns.map(({ name, type, nullable }) => `${q(name)} ${type}${nullable ? "" : " NOT NULL"}`);
  await session.run(`CREATE TABLE ${targetPath(target)} (${list.join(", ")})`);
}

/** Adds every row of the input. */
export async function insertAll(session: Session, target: Target, conversions: readonly Conversion[]): Promise<void> {
  await insert(session, target, conversions, "true");
}

/**
 * An update is a delete and an insert: several statements that delete from one file in one transaction leave a change
 * feed that can't be believed, and one that only deletes and one that only inserts do not.
 */
export async function writeChanges(
  session: Session,
  target: Target,
  conversions: readonly Conversion[],
  key: readonly string[],
): Promise<void> {
  await deleteVictims(session, target, key);
  const written = `rowid IN (SELECT _ivm_row FROM ${MATCHES} WHERE NOT matched OR differs)`;
  await insert(session, target, conversions, written);
}

async function insert(
  session: Session,
  target: Target,
  conversions: readonly Conversion[],
  where: string,
): Promise<void> {
  const columns = conversions.map((part) => q(part.target.name)).join(", ");
  const values = conversions.map((part) => part.expression).join(", ");
  await session.run(`INSERT INTO ${targetPath(target)} (${columns}) SELECT ${values} FROM ${INPUT} WHERE ${where}`);
}

async function deleteVictims(session: Session, target: Target, key: readonly string[]): Promise<void> {
  const nullKey = key.map((name) => `${q(name)} IS NULL`).join(" OR ");
  const { expected, nulls } = await session.row<{ expected: bigint | null; nulls: bigint }>(
    `SELECT CAST(sum(_ivm_copies) AS BIGINT) AS expected, count(*) FILTER (WHERE ${nullKey}) AS nulls FROM ${VICTIMS}`,
  );
  if (expected === null) return;
  // Plain equality lets the keys' range skip files.
  const equals = nulls === 0n ? "=" : "IS NOT DISTINCT FROM";
  const path = targetPath(target);
  const sameKey = key
    .map((name) => `_ivm_victim.${q(name)} ${equals} ${quotePath([target.table, name])}`)
    .join(" AND ");
  const deleted = await session.change(
    `DELETE FROM ${path} WHERE EXISTS (SELECT 1 FROM ${VICTIMS} AS _ivm_victim WHERE ${sameKey})`,
  );
  if (deleted === expected) return;
  throw new InternalError(
    "ingest_mismatch",
    `${targetName(target)}: ${expected} rows had to be deleted, but ${deleted} were found. Nothing was written.`,
    { subject: { table: targetName(target) } },
  );
}
