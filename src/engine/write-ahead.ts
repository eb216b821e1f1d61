import { ConflictError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../sql/quote.js";
import { catalogFile } from "./catalog-copy.js";
import type { Session } from "./session.js";

const CATALOG = "ivm_catalog_file";

/**
 * Puts the SQLite file of a lake's catalog into the mode in which readers and a writer do not wait for each other, for
 * good. Without it a COMMIT that has to wait for a reader for too long fails, and DuckDB 1.5.5 leaves its lock behind:
 * nobody reads the catalog before that process has ended.
 * @param attachment the database as which the lake's catalog is attached already.
 * @throws ConflictError where another process keeps the file locked.
 */
export async function writeAhead(session: Session, catalog: string, attachment: string): Promise<void> {
  const { mode } = await session.row<{ mode: string }>(
    `SELECT journal_mode AS mode FROM sqlite_query(${quoteLiteral(attachment)}, 'PRAGMA journal_mode')`,
  );
  const file = catalogFile(catalog);
  if (mode === "wal" || file === undefined) return;
  // The mode can't be changed in a transaction, and the attachment of the lake has one open.
  await session.run(`ATTACH ${quoteLiteral(file)} AS ${quoteIdentifier(CATALOG)} (TYPE sqlite, JOURNAL_MODE 'WAL')`);
  try {
    await session.rows(`SELECT 1 FROM ${quotePath([CATALOG, "ducklake_metadata"])} LIMIT 1`);
  } catch (error) {
    // Some file systems have no room for it.
    if (error instanceof ConflictError) throw error;
  } finally {
    await session.run(`DETACH ${quoteIdentifier(CATALOG)}`);
  }
}
