import { type Engine, LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { ConflictError } from "../errors.js";
import { quoteLiteral } from "../sql/quote.js";
import type { StateTables } from "../view/state.js";

/** So many small files make reads of a table slow enough that merging them pays at once. */
const CROWDED_FILES = 64;
/** So many small files with rows that are gone keep the others from being merged. */
const CROWDED_DELETES = 32;
/** Commits to the lake after which the files are counted again, which takes as long as planning a small refresh. */
const COMMITS_BETWEEN = 16n;
/** Larger files are left alone, so that the cost of a merge does not grow with the table. */
const SMALL_BYTES = 8 * 1024 * 1024;
/** Files that have lost more than this share of their rows are written anew. */
const DELETED_SHARE = 0.25;

interface Crowd {
  readonly table: string;
  readonly files: bigint;
  readonly deletes: bigint;
}

/**
 * Every refresh leaves some small files in the tables of the state schema. This merges them before they slow the next
 * refreshes down, and looks for them once in so many commits. It is a commit of its own that moves no row: a refresh that is under way elsewhere either comes first,
 * and the merge waits for the next run, or runs again.
 */
export async function tidyStateTables(
  session: Session,
  engine: Engine,
  tables: StateTables,
  present: bigint,
): Promise<void> {
  if (tables.tidiedAt !== undefined && present < tables.tidiedAt + COMMITS_BETWEEN) return;
  tables.tidiedAt = present;
  for (const { table, files, deletes } of await crowdedTables(session, engine, tables)) {
    const target = `${quoteLiteral(LAKE_NAME)}, ${quoteLiteral(table)}, schema => ${quoteLiteral(tables.schema)}`;
    try {
      if (deletes >= CROWDED_DELETES) {
        await session.run(`CALL ducklake_rewrite_data_files(${target}, delete_threshold => ${DELETED_SHARE})`);
      }
      if (files >= CROWDED_FILES) {
        await session.run(`CALL ducklake_merge_adjacent_files(${target}, max_file_size => ${SMALL_BYTES})`);
      }
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

/** Told from the catalog alone; nothing of the tables is read. */
function crowdedTables(session: Session, engine: Engine, tables: StateTables): Promise<Crowd[]> {
  const metadata = (name: string): string => engine.metadataTable(name);
  return session.rows<Crowd>(`
    SELECT t.table_name AS "table", count(DISTINCT f.data_file_id) AS files, count(DISTINCT d.data_file_id) AS deletes
    FROM ${metadata("ducklake_schema")} s
    JOIN ${metadata("ducklake_table")} t ON t.schema_id = s.schema_id AND t.end_snapshot IS NULL
    JOIN ${metadata("ducklake_data_file")} f ON f.table_id = t.table_id AND f.end_snapshot IS NULL
    LEFT JOIN ${metadata("ducklake_delete_file")} d ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL
    WHERE s.schema_name = ${quoteLiteral(tables.schema)} AND s.end_snapshot IS NULL AND f.file_size_bytes < ${SMALL_BYTES}
    GROUP BY t.table_name HAVING count(DISTINCT f.data_file_id) >= ${CROWDED_FILES} OR count(DISTINCT d.data_file_id) >= ${CROWDED_DELETES}
    ORDER BY t.table_name`);
}
