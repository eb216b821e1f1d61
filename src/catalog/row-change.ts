import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { quoteLiteral } from "../sql/quote.js";
import type { FilesRequest } from "./file-parts.js";
import { liveAt, within } from "./ranges.js";
import { tableAtVersion } from "./tables.js";
import type { Touched } from "./touched-files.js";

/**
 * By how many rows a table grew within a window. The catalog's numbers of rows and of deletes say it for all files but
 * those whose rows came with several snapshots, which DuckLake counts, and those whose rows went with several, which hold
 * as many deletes as the catalog says. It does not go by the list of touched files: one that is missing there shows.
 */
export async function rowChange(
  session: Session,
  engine: Engine,
  request: FilesRequest,
  { unclear, counted, grown, inlinedDeletes }: Omit<Touched, "parts">,
): Promise<bigint> {
  const { tableId, from, to } = request;
  const apart = [...unclear, ...counted].map(({ id }) => id);
  const others = (file: string): string => (apart.length === 0 ? "" : ` AND ${file} NOT IN (${apart.join(", ")})`);
  const at = (rows: string, version: bigint): string => `coalesce(sum(${rows}) FILTER (WHERE ${liveAt(version)}), 0)`;
  const sum = (table: string, rows: string): string =>
    `(SELECT ${at(rows, to)} - ${at(rows, from)} FROM ${engine.metadataTable(table)}
      WHERE table_id = ${tableId} AND begin_snapshot <= ${to} AND (end_snapshot IS NULL OR end_snapshot > ${from})${others("data_file_id")})`;
  const inlined =
    inlinedDeletes === null
      ? "0"
      : `(SELECT count(*) FROM ${inlinedDeletes} WHERE ${within("begin_snapshot", from, to)}${others("file_id")})`;
  const { change } = await session.row<{ change: bigint }>(
    `SELECT CAST(${sum("ducklake_data_file", "record_count")} - ${sum("ducklake_delete_file", "delete_count")} - ${inlined} AS BIGINT) AS change`,
  );
  const known = counted.reduce((sum, { growth }) => sum + growth, change + grown);
  if (unclear.length === 0) return known;
  const paths = unclear.map(({ path }) => quoteLiteral(path)).join(", ");
  const count = (version: bigint): string =>
    `(SELECT count(*) FROM ${tableAtVersion(request.table, version)} WHERE filename IN (${paths}))`;
  const found = await session.row<{ change: bigint }>(`SELECT ${count(to)} - ${count(from)} AS change`);
  return known + found.change;
}
