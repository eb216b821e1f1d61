import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { quoteLiteral } from "../sql/quote.js";
import { readInlined, withInlinedDeletes } from "./inlined.js";
import { liveAt, within } from "./ranges.js";

/** A table and the window that is asked about. */
export interface SizeRequest {
  readonly tableId: bigint;
  readonly from: bigint;
  readonly to: bigint;
  /** True where the catalog itself may keep inserts or deletes of the window. */
  readonly inlined: boolean;
}

export interface TableSize {
  readonly rows: number;
  /** Rows that the window's snapshots inserted and deleted; an update is both. */
  readonly changed: number;
}

/** Rows in data files, without those that delete files take away: at the ends of a window, and that came within it. */
interface FileRows {
  readonly present: bigint;
  readonly before: bigint;
  readonly after: bigint;
  readonly inserted: bigint;
}

/**
 * How large tables and their changes are, from the catalog's numbers alone: no file is opened. Estimates: rows whose files
 * were merged since are not counted as changed, deletes that were flushed since count as older ones, and tables with an
 * empty window have the rows that were ever written to them.
 */
export async function tableSizes(
  session: Session,
  engine: Engine,
  requests: readonly SizeRequest[],
): Promise<TableSize[]> {
  if (requests.length === 0) return [];
  const rows = await fileRows(session, engine, requests);
  const sizes: TableSize[] = [];
  for (const [index, request] of requests.entries()) {
    const row = rows[index];
    if (row === undefined) throw new TypeError("one row for each table");
    if (request.from === request.to) {
      sizes.push({ rows: Number(row.present), changed: 0 });
      continue;
    }
    const inlined = request.inlined ? await inlinedChange(session, engine, request) : { came: 0, went: 0 };
    const [before, after] = [Number(row.before), Number(row.after)];
    const inserted = Math.max(Number(row.inserted), after - before);
    const deleted = Math.max(before + inserted - after, 0);
    sizes.push({ rows: after + inlined.came, changed: inserted + deleted + inlined.came + inlined.went });
  }
  return sizes;
}

/** How many rows were ever written to the tables of a schema that have these names; names are compared as they are. */
export async function rowsWritten(
  session: Session,
  engine: Engine,
  schema: string,
  tables: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await session.rows<{ name: string; rows: bigint }>(
    `SELECT t.table_name AS name, n.record_count AS rows
     FROM ${engine.metadataTable("ducklake_table_stats")} n
     JOIN ${engine.metadataTable("ducklake_table")} t ON t.table_id = n.table_id AND t.end_snapshot IS NULL
     JOIN ${engine.metadataTable("ducklake_schema")} s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL
     WHERE s.schema_name = ${quoteLiteral(schema)} AND t.table_name IN (${tables.map(quoteLiteral).join(", ")})`,
  );
  return new Map(rows.map(({ name, rows }) => [name, rows]));
}

function fileRows(session: Session, engine: Engine, requests: readonly SizeRequest[]): Promise<FileRows[]> {
  const windows = requests.map(({ tableId, from, to }, index) => `(${index}, ${tableId}, ${from}, ${to})`);
  const at = (rows: string, version: string): string => `sum(${rows}) FILTER (WHERE ${liveAt(version)})`;
  const number = (sum: string): string => `CAST(coalesce(${sum}, 0) AS BIGINT)`;
  return session.rows<FileRows>(`
    WITH wanted(position, id, since, upto) AS (VALUES ${windows.join(", ")}),
    files AS (
      SELECT position, ${at("record_count", "since")} AS before, ${at("record_count", "upto")} AS after,
             sum(record_count) FILTER (WHERE ${within("begin_snapshot", "since", "upto")}) AS inserted
      FROM wanted JOIN ${engine.metadataTable("ducklake_data_file")} ON table_id = id WHERE since <> upto GROUP BY position
    ), deletes AS (
      SELECT position, ${at("delete_count", "since")} AS before, ${at("delete_count", "upto")} AS after
      FROM wanted JOIN ${engine.metadataTable("ducklake_delete_file")} ON table_id = id WHERE since <> upto GROUP BY position
    )
    SELECT ${number("s.record_count")} AS present, ${number("files.inserted")} AS inserted,
           ${number("files.before")} - ${number("deletes.before")} AS before, ${number("files.after")} - ${number("deletes.after")} AS after
    FROM wanted LEFT JOIN ${engine.metadataTable("ducklake_table_stats")} s ON s.table_id = id
    LEFT JOIN files USING (position) LEFT JOIN deletes USING (position) ORDER BY position`);
}

async function inlinedChange(
  session: Session,
  engine: Engine,
  request: SizeRequest,
): Promise<{ came: number; went: number }> {
  const tables = await readInlined(session, engine, request);
  const { from, to, tableId } = request;
  const deleted = await withInlinedDeletes(engine, tableId, async (deletes) => {
    if (deletes === null) return 0n;
    const { n } = await session.row<{ n: bigint }>(
      `SELECT count(*) AS n FROM ${deletes} WHERE ${within("begin_snapshot", from, to)}`,
    );
    return n;
  });
  const sum = (rows: readonly bigint[]): number => Number(rows.reduce((total, count) => total + count, 0n));
  return { came: sum(tables.map(({ came }) => came)), went: sum([deleted, ...tables.map(({ went }) => went)]) };
}
