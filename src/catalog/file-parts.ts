import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import type { DirectRead } from "./direct-read.js";
import type { InlinedRows } from "./inlined.js";
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

export interface TouchedFile {
  readonly id: bigint;
  readonly path: string;
  readonly rows: bigint;
  readonly begin: bigint;
  readonly end: bigint | null;
  /** The newest snapshot that a row of the file came with, where that is not the file's own. */
  readonly newest: bigint | null;
  /** True where the file's columns are found by a mapping of names. */
  readonly mapped: boolean;
  readonly deletes: readonly DeleteFile[];
}

interface DeleteFile {
  readonly path: string;
  /** How many positions it holds. */
  readonly rows: bigint;
  readonly begin: bigint;
  /** True where it holds deletes of several snapshots. */
  readonly partial: boolean;
}

/** Positions of a file's rows that were deleted: how many up to the window's start, and which ones inside it. */
export interface DeletedRows {
  readonly before: bigint;
  readonly inside: bigint;
  readonly positions: string;
  /** How many its delete files hold in all, also of later snapshots. */
  readonly held: bigint;
}

/** By how many rows a file's own grew within the window, whose rows all came with one snapshot. */
export function fileGrowth({ from, to }: FilesRequest, file: TouchedFile, deleted: DeletedRows): bigint {
  const before = file.begin > from ? 0n : file.rows - deleted.before;
  const after = file.end !== null && file.end <= to ? 0n : file.rows - deleted.before - deleted.inside;
  return after - before;
}

export const NONE_DELETED: DeletedRows = { before: 0n, inside: 0n, positions: "", held: 0n };

/** What is to be read of the files that a window touched. */
export function fileParts(
  request: FilesRequest,
  direct: DirectRead | null,
  files: readonly TouchedFile[],
  deleted: ReadonlyMap<bigint, DeletedRows>,
): Part[] {
  const { from, to } = request;
  const whole: Record<"came" | "went" | "thinned" | "mixed", TouchedFile[]> = {
    came: [],
    went: [],
    thinned: [],
    mixed: [],
  };
  const parts: Part[] = [];
  const readerOf = (file: TouchedFile): DirectRead | null => (direct?.reads(file) === true ? direct : null);
  for (const file of files) {
    const [isNew, isGone] = [file.begin > from, file.end !== null && file.end <= to];
    const { before, inside, positions } = deleted.get(file.id) ?? NONE_DELETED;
    // A merged file has rows of several snapshots, so that both versions of the table may see some of them.
    if (file.newest !== null && file.newest > from) whole.mixed.push(file);
    else if (isNew && isGone) continue;
    else if (isNew && inside > 0n) {
      const without = `file_row_number NOT IN (${positions})`;
      parts.push({
        sign: 1,
        select: selectOf(request, readerOf(file), 1, [file], without),
        expected: file.rows - before - inside,
      });
    } else if (isNew) whole.came.push(file);
    else if (isGone) (before > 0n ? whole.thinned : whole.went).push(file);
    else if (inside > 0n) {
      const only = `file_row_number IN (${positions})`;
      parts.push({ sign: -1, select: selectOf(request, readerOf(file), -1, [file], only), expected: inside });
    }
  }
  const add = (list: readonly TouchedFile[], sign: 1 | -1, reader: DirectRead | null): void => {
    if (list.length === 0) return;
    const rows = list.reduce((sum, file) => sum + file.rows - (deleted.get(file.id)?.before ?? 0n), 0n);
    parts.push({ sign, select: selectOf(request, reader, sign, list), expected: rows });
  };
  const addWhole = (list: readonly TouchedFile[], sign: 1 | -1): void => {
    for (const reader of new Set([direct, null])) {
      const read = list.filter((file) => readerOf(file) === reader);
      add(read, sign, reader);
    }
  };
  addWhole(whole.came, 1);
  addWhole(whole.went, -1);
  // Which rows these had lost before, only DuckLake's own read says.
  add(whole.thinned, -1, null);
  if (whole.mixed.length > 0) {
    for (const sign of [1, -1] as const) {
      parts.push({ sign, select: selectOf(request, null, sign, whole.mixed), expected: null });
    }
  }
  return parts;
}

/** Both versions are read: they are few rows. */
export function inlinedParts(request: FilesRequest, { name, before, after }: InlinedRows): Part[] {
  const where = `filename = ${quoteLiteral(name)}`;
  return [
    { sign: 1, select: versionSelect(request, 1, where), expected: after },
    { sign: -1, select: versionSelect(request, -1, where), expected: before },
  ];
}

/**
 * The rows of files that have them at the window's end, or at its beginning where the sign says so.
 * @param reader reads the files by themselves, all rows of which but those that `where` leaves out are there at that time;
 * null where DuckLake is to read them.
 */
function selectOf(
  request: FilesRequest,
  reader: DirectRead | null,
  sign: 1 | -1,
  files: readonly TouchedFile[],
  where?: string,
): string {
  if (reader !== null) return reader.select(files, where);
  const paths = files.map(({ path }) => quoteLiteral(path)).join(", ");
  return versionSelect(request, sign, `filename IN (${paths})${where === undefined ? "" : ` AND ${where}`}`);
}

function versionSelect({ table, columns, from, to }: FilesRequest, sign: 1 | -1, where: string): string {
  const list = columns.length === 0 ? "NULL" : columns.map(quoteIdentifier).join(", ");
  return `SELECT ${list} FROM ${tableAtVersion(table, sign === 1 ? to : from)} WHERE ${where}`;
}
