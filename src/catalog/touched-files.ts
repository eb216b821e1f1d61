import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { quoteLiteral } from "../sql/quote.js";
import { DirectRead } from "./direct-read.js";
import {
  type DeletedRows,
  type FilesRequest,
  fileGrowth,
  fileParts,
  inlinedParts,
  NONE_DELETED,
  type Part,
  type TouchedFile,
} from "./file-parts.js";
import { readInlined, withInlinedDeletes } from "./inlined.js";
import { liveAt, within } from "./ranges.js";
import { tableAtEnds } from "./tables.js";

/** What a window touched of a table. */
export interface Touched {
  readonly parts: readonly Part[];
  /** Files whose rows came with several snapshots: the catalog's numbers do not say how many there were at each end. */
  readonly unclear: readonly { readonly id: bigint; readonly path: string }[];
  /** Files whose delete files hold deletes of several snapshots: by how many rows each grew is told from those files. */
  readonly counted: readonly { readonly id: bigint; readonly growth: bigint }[];
  /** By how many rows the catalog's own tables of rows grew within the window. */
  readonly grown: bigint;
  /** The catalog's own table of deletes; null where it has none of the window. */
  readonly inlinedDeletes: string | null;
}

/** Beyond these, finding rows by position costs more than reading the files. Files that only came are read whole. */
const MOST_FILES = 64;
const MOST_POSITIONS = 20_000;

/**
 * The rows that a window can have changed, found by the catalog's list of files and of deleted positions: rows of files
 * that came, at the end of the window, and rows of files that went and those deleted from others, at its beginning. Files
 * whose columns are the table's are read by themselves; all other rows are read by DuckLake at the two ends of the window.
 * Null where that is no use: too much was touched, or the catalog holds what this does not know.
 */
export async function readTouched(session: Session, engine: Engine, request: FilesRequest): Promise<Touched | null> {
  if (!request.inlined) return readParts(session, engine, request, null);
  return withInlinedDeletes(engine, request.tableId, (table) => readParts(session, engine, request, table));
}

/** @param inlinedDeletes the catalog's table of deletes: the data file, the row's position in it, and the snapshot. */
async function readParts(
  session: Session,
  engine: Engine,
  request: FilesRequest,
  inlinedDeletes: string | null,
): Promise<Touched | null> {
  const files = await touchedFiles(session, engine, request, inlinedDeletes);
  if (files === null) return null;
  const onlyCame = files.filter(({ begin, deletes }) => begin > request.from && deletes.length === 0);
  if (files.length - onlyCame.length > MOST_FILES) return null;
  const deleted = await deletedRows(session, request, files, inlinedDeletes);
  if ([...deleted.values()].reduce((sum, { inside }) => sum + inside, 0n) > MOST_POSITIONS) return null;
  if (!files.every((file) => holdsAllDeletes(file, deleted.get(file.id) ?? NONE_DELETED))) return null;
  const form = await tableAtEnds(session, engine, request.table, request.from, request.to);
  const direct = DirectRead.of(form.after?.columns ?? [], request.columns);
  const inCatalog = request.inlined ? await readInlined(session, engine, request) : [];
  return {
    parts: [...fileParts(request, direct, files, deleted), ...inCatalog.flatMap((rows) => inlinedParts(request, rows))],
    unclear: files.filter(({ newest }) => newest !== null),
    counted: files
      .filter(({ newest, deletes }) => newest === null && deletes.some(({ partial }) => partial))
      .map((file) => ({ id: file.id, growth: fileGrowth(request, file, deleted.get(file.id) ?? NONE_DELETED) })),
    grown: inCatalog.reduce((sum, { before, after }) => sum + after - before, 0n),
    inlinedDeletes,
  };
}

/** True where the delete files of a file hold as many positions as the catalog says. */
function holdsAllDeletes({ deletes }: TouchedFile, { held }: DeletedRows): boolean {
  return deletes.reduce((sum, { rows }) => sum + rows, 0n) === held;
}

/** True for a data file of the catalog whose rows, all or some, came or went within the window. */
export function touchedFile(from: bigint, to: bigint): string {
  return `begin_snapshot <= ${to} AND (begin_snapshot > ${from} OR (${within("end_snapshot", from, to)}) OR partial_max > ${from})`;
}

/** True for a delete file of the catalog with deletes of the window. */
export function touchedDeletes(from: bigint, to: bigint): string {
  return `begin_snapshot <= ${to} AND greatest(begin_snapshot, partial_max) > ${from}`;
}

/** The data files that the window added to, took from, or ended. */
async function touchedFiles(
  session: Session,
  engine: Engine,
  { tableId, from, to }: FilesRequest,
  inlinedDeletes: string | null,
): Promise<TouchedFile[] | null> {
  const [data, deletes] = [engine.metadataTable("ducklake_data_file"), engine.metadataTable("ducklake_delete_file")];
  const at = (alias: string): string => liveAt(to, alias);
  const path = (alias: string): string => `CASE WHEN NOT ${alias}.path_is_relative THEN ${alias}.path ELSE concat(
    CASE WHEN NOT t.path_is_relative THEN t.path ELSE concat(CASE WHEN s.path_is_relative THEN root.value END, s.path, t.path) END, ${alias}.path) END`;
  const rows = await session.rows<{
    id: bigint;
    path: string;
    rows: bigint;
    begin: bigint;
    end: bigint | null;
    newest: bigint | null;
    mapped: boolean;
    known: boolean;
    deletes: string | null;
    deletes_rows: bigint | null;
    deletes_begin: bigint | null;
    partial: boolean;
  }>(`
    WITH touched AS (
      SELECT data_file_id FROM ${data}
      WHERE table_id = ${tableId} AND ${touchedFile(from, to)}
      UNION SELECT data_file_id FROM ${deletes}
      WHERE table_id = ${tableId} AND ${touchedDeletes(from, to)}
      ${inlinedDeletes === null ? "" : `UNION SELECT file_id FROM ${inlinedDeletes} WHERE ${within("begin_snapshot", from, to)}`}
    )
    SELECT f.data_file_id AS id, ${path("f")} AS path, f.record_count AS rows, f.begin_snapshot AS begin, f.end_snapshot AS end,
           f.partial_max AS newest, f.mapping_id IS NOT NULL AS mapped,
           f.encryption_key IS NULL AND coalesce(f.file_format = 'parquet', false) AND coalesce(d.format = 'parquet', true) AS known,
           CASE WHEN d.data_file_id IS NOT NULL THEN ${path("d")} END AS deletes, d.delete_count AS deletes_rows, d.begin_snapshot AS deletes_begin,
           d.partial_max IS NOT NULL AS partial
    FROM touched JOIN ${data} f USING (data_file_id)
    JOIN ${engine.metadataTable("ducklake_table")} t ON t.table_id = f.table_id AND ${at("t")}
    JOIN ${engine.metadataTable("ducklake_schema")} s ON s.schema_id = t.schema_id AND ${at("s")}
    JOIN ${engine.metadataTable("ducklake_metadata")} root ON root.key = 'data_path' AND root.scope IS NULL
    LEFT JOIN ${deletes} d ON d.data_file_id = f.data_file_id AND d.begin_snapshot <= ${to}
    ORDER BY id`);
  if (rows.some((row) => !row.known)) return null;
  const files = new Map<bigint, TouchedFile & { deletes: TouchedFile["deletes"][number][] }>();
  for (const { deletes: deletePath, deletes_rows: held, deletes_begin: begin, partial, ...file } of rows) {
    const known = files.get(file.id) ?? { ...file, deletes: [] };
    files.set(file.id, known);
    if (deletePath !== null && begin !== null)
      known.deletes.push({ path: deletePath, rows: held ?? 0n, begin, partial });
  }
  return [...files.values()];
}

/** Reads the delete files of the touched files. A position counts from the first snapshot that deletes it. */
async function deletedRows(
  session: Session,
  { from, to }: FilesRequest,
  files: readonly TouchedFile[],
  inlinedDeletes: string | null,
): Promise<ReadonlyMap<bigint, DeletedRows>> {
  const selects = files.flatMap((file) =>
    file.deletes.map(({ path, begin, partial }) => {
      // A delete file that holds deletes of several snapshots says of each position which one it was.
      const at = partial ? "_ducklake_internal_snapshot_id" : String(begin);
      return `SELECT ${file.id} AS file, pos, ${at} AS deleted_at, 1 AS held FROM read_parquet(${quoteLiteral(path)})`;
    }),
  );
  if (inlinedDeletes !== null && files.length > 0) {
    const touched = files.map(({ id }) => String(id)).join(", ");
    selects.push(
      `SELECT file_id AS file, row_id AS pos, begin_snapshot AS deleted_at, 0 AS held FROM ${inlinedDeletes} WHERE file_id IN (${touched})`,
    );
  }
  if (selects.length === 0) return new Map();
  const rows = await session.rows<DeletedRows & { file: bigint }>(`
    WITH deletes AS (
      SELECT file, pos, min(deleted_at) AS deleted_at, sum(held) AS held FROM (${selects.join(" UNION ALL ")}) GROUP BY ALL
    ), counted AS (
      SELECT file, count(*) FILTER (WHERE deleted_at <= ${from}) AS before,
             count(*) FILTER (WHERE deleted_at > ${from} AND deleted_at <= ${to}) AS inside, CAST(sum(held) AS BIGINT) AS held
      FROM deletes GROUP BY file
    )
    SELECT file::BIGINT AS file, any_value(before) AS before, any_value(inside) AS inside, any_value(counted.held) AS held,
           coalesce(string_agg(pos, ', ' ORDER BY pos)
             FILTER (WHERE deleted_at > ${from} AND deleted_at <= ${to} AND inside <= ${MOST_POSITIONS}), '') AS positions
    FROM deletes JOIN counted USING (file) GROUP BY file`);
  return new Map(rows.map(({ file, ...row }) => [file, row]));
}
