/** Rows and deletes of few rows, which the catalog keeps itself until they are flushed. */
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { IvmError } from "../errors.js";
import { liveAt, within } from "./ranges.js";

interface InlinedWindow {
  readonly tableId: bigint;
  readonly from: bigint;
  readonly to: bigint;
}

/** Rows in a table of the catalog's own. */
export interface InlinedRows {
  readonly name: string;
  /** How many there were at the ends of a window. */
  readonly before: bigint;
  readonly after: bigint;
  /** How many came and went within it. */
  readonly came: bigint;
  readonly went: bigint;
}

/** The catalog's own tables with rows that came or went within a window. */
export async function readInlined(
  session: Session,
  engine: Engine,
  { tableId, from, to }: InlinedWindow,
): Promise<InlinedRows[]> {
  const tables = await session.rows<{ name: string }>(
    `SELECT table_name AS name FROM ${engine.metadataTable("ducklake_inlined_data_tables")} WHERE table_id = ${tableId}`,
  );
  const count = (which: string): string => `count(*) FILTER (WHERE ${which})`;
  const found: InlinedRows[] = [];
  for (const { name } of tables) {
    const rows = await session.row<Omit<InlinedRows, "name">>(
      `SELECT ${count(liveAt(from))} AS before, ${count(liveAt(to))} AS after,
              ${count(within("begin_snapshot", from, to))} AS came, ${count(within("end_snapshot", from, to))} AS went
       FROM ${engine.metadataTable(name)}`,
    );
    if (rows.came > 0n || rows.went > 0n) found.push({ name, ...rows });
  }
  return found;
}

/**
 * Runs work with the catalog's table of deletes of a table: the data file, the row's position in it, and the snapshot.
 * The catalog makes it when there is a delete to keep; until then the work is run with null.
 */
export async function withInlinedDeletes<Result>(
  engine: Engine,
  tableId: bigint,
  work: (table: string | null) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(engine.metadataTable(`ducklake_inlined_delete_${tableId}`));
  } catch (error) {
    if (!(error instanceof IvmError) || !/^(Catalog|Binder) Error/.test(error.message)) throw error;
    return work(null);
  }
}
