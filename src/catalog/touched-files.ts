import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { IvmError } from "../errors.js";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import { type TableName, tableAtVersion } from "./tables.js";

export interface FilesRequest {
  readonly table: TableName;
  readonly tableId: bigint;
  readonly from: bigint;
  readonly to: bigint;
  readonly columns: readonly string[];
  /** True where the catalog itself may keep inserts or deletes of the window. */
  readonly inlined: boolean;
}

/** Rows of one version of a table that may be part of its change. */
export interface Part {
  /** 1 for rows at the end of the window, -1 for rows at its beginning. */
  readonly sign: 1 | -1;
  /** SELECT of the request's columns. */
  readonly select: string;
  /** How many rows that must give; null where the catalog does not tell. */
  readonly expected: bigint | null;
}

/** Beyond these, finding rows by position costs more than reading the files. */
const MOST_FILES = 64;
const MOST_POSITIONS = 20_000;

interface TouchedFile {
  readonly id: bigint;
  readonly path: string;
  readonly rows: bigint;
  readonly begin: bigint;
  readonly end: bigint | null;
  /** The newest snapshot that a row of the file came with, where that is not the file's own. */
  readonly newest: bigint | null;
  readonly deletes: readonly { readonly path: string; readonly begin: bigint; readonly partial: boolean }[];
}

/** Positions of a file's rows that were deleted: how many up to the window's start, and which ones inside it. */
interface DeletedRows {
  readonly before: bigint;
  readonly inside: bigint;
  readonly positions: string;
}

/**
 * The rows that a window can have changed, found by the catalog's list of files and of deleted positions: rows of files
 * that came, at the end of the window, and rows of files that went and those deleted from others, at its beginning. All
 * rows are read by DuckLake itself at the two ends of the window, so that what they give is right by its own account;
 * the catalog only says where to look. Null where that is no use: too much was touched, or the catalog holds what this
 * does not know.
 */
export async function touchedParts(
  session: Session,
  engine: Engine,
  request: FilesRequest,
): Promise<readonly Part[] | null> {
  // The catalog makes its table of deletes when there is one to keep; until then only rows that it keeps itself went.
  const inlinedDeletes = engine.metadataTable(`ducklake_inlined_delete_${request.tableId}`);
  for (const table of request.inlined ? [inlinedDeletes, null] : [null]) {
    try {
      return await readParts(session, engine, request, table);
    } catch (error) {
      if (!(error instanceof IvmError) || !/^(Catalog|Binder) Error/.test(error.message)) throw error;
    }
  }
  return null;
}

/** @param inlinedDeletes the catalog's table of deletes: the data file, the row's position in it, and the snapshot. */
async function readParts(
  session: Session,
  engine: Engine,
  request: FilesRequest,
  inlinedDeletes: string | null,
): Promise<readonly Part[] | null> {
  const files = await touchedFiles(session, engine, request, inlinedDeletes);
  if (files === null || files.length > MOST_FILES) return null;
  const deleted = await deletedRows(session, request, files, inlinedDeletes);
  if ([...deleted.values()].reduce((sum, { inside }) => sum + inside, 0n) > MOST_POSITIONS) return null;
  const inCatalog = request.inlined ? await catalogParts(session, engine, request) : [];
  return [...fileParts(request, files, deleted), ...inCatalog];
}

/** The data files that the window added to, took from, or ended. */
async function touchedFiles(
  session: Session,
  engine: Engine,
  { tableId, from, to }: FilesRequest,
  inlinedDeletes: string | null,
): Promise<TouchedFile[] | null> {
  const [data, deletes] = [engine.metadataTable("ducklake_data_file"), engine.metadataTable("ducklake_delete_file")];
  const at = (alias: string): string =>
    `${alias}.begin_snapshot <= ${to} AND (${alias}.end_snapshot IS NULL OR ${alias}.end_snapshot > ${to})`;
  const path = (alias: string): string => `CASE WHEN NOT ${alias}.path_is_relative THEN ${alias}.path ELSE concat(
    CASE WHEN NOT t.path_is_relative THEN t.path ELSE concat(CASE WHEN s.path_is_relative THEN root.value END, s.path, t.path) END, ${alias}.path) END`;
  const rows = await session.rows<{
    id: bigint;
    path: string;
    rows: bigint;
    begin: bigint;
    end: bigint | null;
    newest: bigint | null;
    known: boolean;
    deletes: string | null;
    deletes_begin: bigint | null;
    partial: boolean;
  }>(`
    WITH touched AS (
      SELECT data_file_id FROM ${data}
      WHERE table_id = ${tableId} AND begin_snapshot <= ${to}
        AND (begin_snapshot > ${from} OR (end_snapshot > ${from} AND end_snapshot <= ${to}) OR partial_max > ${from})
      UNION SELECT data_file_id FROM ${deletes}
      WHERE table_id = ${tableId} AND begin_snapshot <= ${to} AND greatest(begin_snapshot, partial_max) > ${from}
      ${inlinedDeletes === null ? "" : `UNION SELECT file_id FROM ${inlinedDeletes} WHERE begin_snapshot > ${from} AND begin_snapshot <= ${to}`}
    )
    SELECT f.data_file_id AS id, ${path("f")} AS path, f.record_count AS rows, f.begin_snapshot AS begin, f.end_snapshot AS end,
           f.partial_max AS newest,
           f.encryption_key IS NULL AND coalesce(f.file_format = 'parquet', false) AND coalesce(d.format = 'parquet', true) AS known,
           CASE WHEN d.data_file_id IS NOT NULL THEN ${path("d")} END AS deletes, d.begin_snapshot AS deletes_begin,
           d.partial_max IS NOT NULL AS partial
    FROM touched JOIN ${data} f USING (data_file_id)
    JOIN ${engine.metadataTable("ducklake_table")} t ON t.table_id = f.table_id AND ${at("t")}
    JOIN ${engine.metadataTable("ducklake_schema")} s ON s.schema_id = t.schema_id AND ${at("s")}
    JOIN ${engine.metadataTable("ducklake_metadata")} root ON root.key = 'data_path' AND root.scope IS NULL
    LEFT JOIN ${deletes} d ON d.data_file_id = f.data_file_id AND d.begin_snapshot <= ${to}
    ORDER BY id`);
  if (rows.some((row) => !row.known)) return null;
  const files = new Map<bigint, TouchedFile & { deletes: TouchedFile["deletes"][number][] }>();
  for (const { deletes: deletePath, deletes_begin: begin, partial, ...file } of rows) {
    const known = files.get(file.id) ?? { ...file, deletes: [] };
    files.set(file.id, known);
    if (deletePath !== null && begin !== null) known.deletes.push({ path: deletePath, begin, partial });
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
      return `SELECT ${file.id} AS file, pos, ${at} AS deleted_at FROM read_parquet(${quoteLiteral(path)})`;
    }),
  );
  if (inlinedDeletes !== null && files.length > 0) {
    const touched = files.map(({ id }) => String(id)).join(", ");
    selects.push(
      `SELECT file_id AS file, row_id AS pos, begin_snapshot AS deleted_at FROM ${inlinedDeletes} WHERE file_id IN (${touched})`,
    );
  }
  if (selects.length === 0) return new Map();
  const rows = await session.rows<DeletedRows & { file: bigint }>(`
    WITH deletes AS (
      SELECT file, pos, min(deleted_at) AS deleted_at FROM (${selects.join(" UNION ALL ")}) WHERE deleted_at <= ${to} GROUP BY ALL
    ), counted AS (
      SELECT file, count(*) FILTER (WHERE deleted_at <= ${from}) AS before, count(*) FILTER (WHERE deleted_at > ${from}) AS inside
      FROM deletes GROUP BY file
    )
    SELECT file::BIGINT AS file, any_value(before) AS before, any_value(inside) AS inside,
           coalesce(string_agg(pos, ', ' ORDER BY pos) FILTER (WHERE deleted_at > ${from} AND inside <= ${MOST_POSITIONS}), '') AS positions
    FROM deletes JOIN counted USING (file) GROUP BY file`);
  return new Map(rows.map(({ file, ...row }) => [file, row]));
}

function fileParts(
  request: FilesRequest,
  files: readonly TouchedFile[],
  deleted: ReadonlyMap<bigint, DeletedRows>,
): Part[] {
  const { from, to } = request;
  const came: TouchedFile[] = [];
  const went: TouchedFile[] = [];
  const mixed: TouchedFile[] = [];
  const parts: Part[] = [];
  for (const file of files) {
    const [isNew, isGone] = [file.begin > from, file.end !== null && file.end <= to];
    // A merged file has rows of several snapshots, so that both versions of the table may see some of them.
    if (file.newest !== null && file.newest > from) mixed.push(file);
    else if (isNew && !isGone) came.push(file);
    else if (!isNew && isGone) went.push(file);
    else if (!isNew) {
      const rows = deleted.get(file.id);
      if (rows === undefined || rows.inside === 0n) continue;
      const where = `${isFile([file])} AND file_row_number IN (${rows.positions})`;
      parts.push(part(request, -1, where, rows.inside));
    }
  }
  const rowsOf = (list: readonly TouchedFile[], count: (file: TouchedFile) => bigint): bigint =>
    list.reduce((sum, file) => sum + count(file), 0n);
  if (came.length > 0) {
    const expected = rowsOf(
      came,
      (file) => file.rows - (deleted.get(file.id)?.before ?? 0n) - (deleted.get(file.id)?.inside ?? 0n),
    );
    parts.push(part(request, 1, isFile(came), expected));
  }
  if (went.length > 0) {
    const expected = rowsOf(went, (file) => file.rows - (deleted.get(file.id)?.before ?? 0n));
    parts.push(part(request, -1, isFile(went), expected));
  }
  if (mixed.length > 0) {
    parts.push(part(request, 1, isFile(mixed), null), part(request, -1, isFile(mixed), null));
  }
  return parts;
}

/** Rows that the catalog itself holds; where any came or went, both versions are read. */
async function catalogParts(session: Session, engine: Engine, request: FilesRequest): Promise<Part[]> {
  const { tableId, from, to } = request;
  const tables = await session.rows<{ name: string }>(
    `SELECT table_name AS name FROM ${engine.metadataTable("ducklake_inlined_data_tables")} WHERE table_id = ${tableId}`,
  );
  const parts: Part[] = [];
  for (const { name } of tables) {
    const seenAt = (version: bigint): string =>
      `count(*) FILTER (WHERE begin_snapshot <= ${version} AND (end_snapshot IS NULL OR end_snapshot > ${version}))`;
    const inside = (column: string): string => `(${column} > ${from} AND ${column} <= ${to})`;
    const { changed, after, before } = await session.row<{ changed: bigint; after: bigint; before: bigint }>(
      `SELECT count(*) FILTER (WHERE ${inside("begin_snapshot")} OR ${inside("end_snapshot")}) AS changed,
              ${seenAt(to)} AS after, ${seenAt(from)} AS before FROM ${engine.metadataTable(name)}`,
    );
    if (changed === 0n) continue;
    const where = `filename = ${quoteLiteral(name)}`;
    parts.push(part(request, 1, where, after), part(request, -1, where, before));
  }
  return parts;
}

function isFile(files: readonly TouchedFile[]): string {
  const paths = files.map(({ path }) => quoteLiteral(path));
  return paths.length === 1 ? `filename = ${paths[0]}` : `filename IN (${paths.join(", ")})`;
}

function part({ table, columns, from, to }: FilesRequest, sign: 1 | -1, where: string, expected: bigint | null): Part {
  const list = columns.length === 0 ? "NULL" : columns.map(quoteIdentifier).join(", ");
  const select = `SELECT ${list} FROM ${tableAtVersion(table, sign === 1 ? to : from)} WHERE ${where}`;
  return { sign, select, expected };
}
