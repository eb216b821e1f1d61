import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { countsAt, type TableName } from "./tables.js";

/** A table and the window that is asked about. */
export interface SizeRequest {
  readonly table: TableName;
  readonly tableId: bigint;
  readonly from: bigint;
  readonly to: bigint;
}

export interface TableSize {
  readonly rows: number;
  /** Rows that the window's snapshots inserted and deleted; an update is both. */
  readonly changed: number;
}

/**
 * How large tables and their changes are, without reading rows: from the row counts at both ends of the windows and the
 * catalog's list of the files that came between. Estimates: updates that are still inlined in the catalog, or whose
 * files were merged since, are not counted, and tables with an empty window have the rows that they have now.
 */
export async function tableSizes(
  session: Session,
  engine: Engine,
  requests: readonly SizeRequest[],
): Promise<TableSize[]> {
  if (requests.length === 0) return [];
  const windows = requests.map(({ tableId, from, to }, index) => `(${index}, ${tableId}, ${from}, ${to})`);
  const rows = await session.rows<{ inserted: bigint; present: bigint }>(`
    SELECT CAST(coalesce(sum(d.record_count), 0) AS BIGINT) AS inserted, CAST(coalesce(any_value(s.record_count), 0) AS BIGINT) AS present
    FROM (VALUES ${windows.join(", ")}) AS wanted(position, id, since, upto)
    LEFT JOIN ${engine.metadataTable("ducklake_table_stats")} s ON s.table_id = id
    LEFT JOIN ${engine.metadataTable("ducklake_data_file")} d ON d.table_id = id AND d.begin_snapshot > since AND d.begin_snapshot <= upto
    GROUP BY position ORDER BY position`);
  const sizes: TableSize[] = [];
  for (const [index, { table, from, to }] of requests.entries()) {
    const row = rows[index];
    if (row === undefined) throw new TypeError("one row for each table");
    if (from === to) {
      sizes.push({ rows: Number(row.present), changed: 0 });
      continue;
    }
    const counts = await countsAt(session, table, from, to);
    const [before, after] = [Number(counts.before), Number(counts.after)];
    const inserted = Math.max(Number(row.inserted), after - before);
    sizes.push({ rows: after, changed: inserted + Math.max(before + inserted - after, 0) });
  }
  return sizes;
}
