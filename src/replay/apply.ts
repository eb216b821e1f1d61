import { LakeError } from "../errors.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { MirrorColumn, Target } from "./target.js";

/** A mirror in its target, and the rows that are to be applied to it, as the target's SQL names them. */
export interface MirrorWork {
  readonly target: Target;
  /** For messages. */
  readonly shown: string;
  readonly path: string;
  readonly columns: readonly MirrorColumn[];
  readonly key: readonly MirrorColumn[];
  readonly staged: string;
}

export interface AppliedRows {
  readonly inserted: bigint;
  readonly deleted: bigint;
}

/** The keys whose rows are replaced. */
const TOUCHED = "ducklake_ivm_touched";

/**
 * Applies consolidated changes: every row of a key that occurs in them goes, and their new rows come.
 * @param weight the column of `staged` with the signed number of copies.
 * @throws LakeError `replay_differs` where the mirror did not hold the rows that the changes begin with.
 */
export async function applyChanges(work: MirrorWork, weight: string): Promise<AppliedRows> {
  const { target, staged } = work;
  const signed = quoteIdentifier(weight);
  const [expected] = await target.rows<AppliedRows>(`
    SELECT CAST(coalesce(sum(CASE WHEN ${signed} > 0 THEN ${signed} END), 0) AS bigint) AS inserted,
           CAST(coalesce(-sum(CASE WHEN ${signed} < 0 THEN ${signed} END), 0) AS bigint) AS deleted FROM ${staged}`);
  const touched = await target.keep(TOUCHED, `SELECT DISTINCT ${keysOf(work.key)} FROM ${staged}`);
  const deleted = await deleteTouched(work, touched);
  const inserted = await insertRows(work, `FROM ${staged} WHERE ${signed} > 0`);
  if (deleted === expected?.deleted && inserted === expected.inserted) return { inserted, deleted };
  throw new LakeError(
    "replay_differs",
    `${work.shown} does not hold what it did: ${expected?.deleted} of its rows were to be replaced or deleted, and ${deleted} were found.`,
    {
      subject: { table: work.shown },
      hint: "Something else wrote to it. With --reset the next replay brings it to the view's whole state.",
    },
  );
}

/** Makes the mirror hold the staged rows, whatever it holds: only keys whose rows differ are written. */
export async function applyState(work: MirrorWork): Promise<AppliedRows> {
  const { target, staged, path, key, columns } = work;
  const side = (rows: string, value: (column: MirrorColumn) => string): string => {
    const keys = key.map((column, index) => `${value(column)} AS key${index}`);
    const values = columns.map((column, index) => `${column.compare(value(column))} AS value${index}`);
    return `SELECT ${[...keys, ...values].join(", ")} FROM ${rows}`;
  };
  const wanted = side(staged, (column) => column.read(quoteIdentifier(column.name)));
  const present = side(path, (column) => quoteIdentifier(column.name));
  const keys = key.map((column, index) => `key${index} AS ${quoteIdentifier(column.name)}`);
  const touched = await target.keep(
    TOUCHED,
    `SELECT DISTINCT ${keys.join(", ")} FROM (
       (${wanted} EXCEPT ALL ${present}) UNION ALL (${present} EXCEPT ALL ${wanted})) AS differing`,
  );
  const deleted = await deleteTouched(work, touched);
  let inserted = 0n;
  for (const nulls of await keyForms(work, touched)) {
    const match = matchOf(key, (column) => column.read(`staged.${quoteIdentifier(column.name)}`), nulls);
    inserted += await insertRows(
      work,
      `FROM ${staged} AS staged WHERE EXISTS (SELECT 1 FROM ${touched} AS touched WHERE ${match})`,
    );
  }
  return { inserted, deleted };
}

/** Fills a mirror that has just been made. */
export async function fill(work: MirrorWork): Promise<AppliedRows> {
  return { inserted: await insertRows(work, `FROM ${work.staged}`), deleted: 0n };
}

function insertRows({ target, path, columns }: MirrorWork, from: string): Promise<bigint> {
  const names = columns.map(({ name }) => quoteIdentifier(name)).join(", ");
  const values = columns.map((column) => column.read(quoteIdentifier(column.name))).join(", ");
  return target.change(`INSERT INTO ${path} (${names}) SELECT ${values} ${from}`);
}

async function deleteTouched(work: MirrorWork, touched: string): Promise<bigint> {
  let deleted = 0n;
  for (const nulls of await keyForms(work, touched)) {
    const match = matchOf(work.key, (column) => `mirror.${quoteIdentifier(column.name)}`, nulls);
    deleted += await work.target.change(
      `DELETE FROM ${work.path} AS mirror USING ${touched} AS touched WHERE ${match}`,
    );
  }
  return deleted;
}

/** Keys without a NULL are matched by a condition that can use a hash or an index; the others, if any, by another. */
async function keyForms({ target, key }: MirrorWork, touched: string): Promise<readonly boolean[]> {
  const anyNull = key.map(({ name }) => `${quoteIdentifier(name)} IS NULL`).join(" OR ");
  const [row] = await target.rows<{ n: bigint }>(`SELECT count(*) AS n FROM ${touched} WHERE ${anyNull}`);
  return (row?.n ?? 0n) > 0n ? [false, true] : [false];
}

function matchOf(key: readonly MirrorColumn[], side: (column: MirrorColumn) => string, nulls: boolean): string {
  const touched = (column: MirrorColumn): string => `touched.${quoteIdentifier(column.name)}`;
  if (!nulls) return key.map((column) => `${side(column)} = ${touched(column)}`).join(" AND ");
  const anyNull = key.map((column) => `${touched(column)} IS NULL`).join(" OR ");
  return [`(${anyNull})`, ...key.map((column) => `${side(column)} IS NOT DISTINCT FROM ${touched(column)}`)].join(
    " AND ",
  );
}

function keysOf(key: readonly MirrorColumn[]): string {
  return key
    .map((column) => `${column.read(quoteIdentifier(column.name))} AS ${quoteIdentifier(column.name)}`)
    .join(", ");
}
