import { IvmError } from "../errors.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";
import { OUT_OF_MEMORY } from "./errors.js";
import type { Session } from "./session.js";

/**
 * Runs work; where the memory limit does not let it finish, it runs a second time with rows kept in temporary tables
 * between its steps. Those reach the disk, which a Parquet reader's buffers do not: beside the hash table of the same
 * statement they are what breaks the limit. The session goes on in that way, since the next work is likely as large.
 */
export async function sparingMemory<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (session.sparing || !(error instanceof IvmError) || error.code !== OUT_OF_MEMORY) throw error;
    session.sparing = true;
    return work();
  }
}

/** Creates or replaces a temporary table with what `make` gives over `rows`, a SELECT. */
export async function createFromRows(
  session: Session,
  name: string,
  rows: string,
  make: (rows: string) => string,
): Promise<void> {
  const create = (table: string, select: string): Promise<void> =>
    session.run(`CREATE OR REPLACE TEMP TABLE ${quoteIdentifier(table)} AS ${select}`);
  if (!session.sparing) return create(name, make(rows));
  const kept = `${name}_rows`;
  await create(kept, rows);
  await create(name, make(`SELECT * FROM ${quotePath(["temp", kept])}`));
  await session.run(`DROP TABLE ${quotePath(["temp", kept])}`);
}
