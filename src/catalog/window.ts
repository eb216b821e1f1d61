import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { sameName } from "../sql/quote.js";
import type { Reason } from "../types.js";
import { type ChangeHistory, DATA_KEYS, DELETE_KEYS } from "./change-history.js";
import { countsAt, type TableName, type TableVersion, tableAtEnds } from "./tables.js";
import { touchedDeletes, touchedFile } from "./touched-files.js";

export interface WindowRequest {
  readonly table: TableName;
  /** The cursor: everything up to this snapshot is consumed. */
  readonly from: bigint;
  readonly to: bigint;
  /** The table that the cursor was moved on. */
  readonly tableId: bigint;
  readonly tableUuid: string;
  /** The columns whose change matters. */
  readonly columns: readonly string[];
}

/**
 * What a window holds, told from the catalog's metadata alone. `rebuild` means that no delta can be derived from the
 * window; the view is then recomputed and written as a difference.
 */
export type WindowState =
  | { readonly kind: "unchanged" }
  | {
      readonly kind: "changed";
      /** The best way to the delta; where the first one is open the second is as well. */
      readonly method: "files" | "feed" | "difference";
      readonly reason: Reason | null;
      /** True where the catalog itself may keep inserts or deletes of the window. */
      readonly inlined: boolean;
    }
  | { readonly kind: "rebuild"; readonly reason: Reason }
  | { readonly kind: "missing" };

/** The code of a window whose first snapshot is gone. */
export const CURSOR_EXPIRED = "cursor_expired";

export async function inspectWindow(
  session: Session,
  engine: Engine,
  history: ChangeHistory,
  request: WindowRequest,
): Promise<WindowState> {
  const { from, to, tableId } = request;
  if (from === to) return { kind: "unchanged" };
  const changes = history.window(from, to);
  const named = [...(changes.byTable.get(tableId) ?? [])];
  const quiet = named.every((key) => !DATA_KEYS.has(key) && !key.startsWith("tables_"));
  const isOurs = sameName(request.table.schema, engine.stateSchema);
  const renamed = isOurs ? changes.tablesChanged : changes.tablesChangedByOthers;
  // Nothing names this table, and no name can have got another meaning.
  if (quiet && !changes.incomplete && !renamed) return { kind: "unchanged" };
  const { before, after: current } = await tableAtEnds(session, engine, request.table, from, to);
  if (current === undefined) return { kind: "missing" };
  if (current.uuid !== request.tableUuid) {
    return rebuild(
      "source_replaced",
      `${nameOf(request)} was dropped and created again, or another table took its name`,
    );
  }
  if (quiet && !changes.incomplete) return { kind: "unchanged" };
  const facts = await windowFacts(session, engine, request);
  if (!facts.kept) {
    return rebuild(CURSOR_EXPIRED, `snapshot ${from}, up to which ${nameOf(request)} was consumed, was expired`);
  }
  const changed = changedColumn(before, current, request.columns);
  if (changed !== undefined) {
    return rebuild(
      "source_schema_changed",
      `the column ${changed} of ${nameOf(request)} was added, dropped or changed its type`,
    );
  }
  if (facts.damaged) {
    return rebuild(
      "history_damaged",
      `${nameOf(request)} has overlapping delete files, so its old states can't be trusted`,
    );
  }
  if (!changes.incomplete && (await onlyMoved(session, request, named, facts))) return { kind: "unchanged" };
  if (changes.incomplete) {
    return difference(
      "snapshots_expired",
      `snapshots between ${from} and ${to} were expired, so the change feed has holes`,
    );
  }
  if (named.some((key) => key === "rewrite_delete" || key === "rewrite_deletes")) {
    return difference(
      "files_rewritten",
      `data files of ${nameOf(request)} were rewritten, which the change feed shows as updates`,
    );
  }
  if (facts.emptied) {
    return difference(
      "files_emptied",
      `a data file of ${nameOf(request)} was emptied within one transaction, which the change feed shows twice`,
    );
  }
  if (current.columns.some((column) => ["rowid", "snapshot_id"].includes(column.name.toLowerCase()))) {
    return difference(
      "shadowed_columns",
      `${nameOf(request)} has a column named rowid or snapshot_id, which hides the change feed's own`,
    );
  }
  // Maintenance moves rows from file to file, and names such as these hide the place where a row stands.
  const placesTell =
    named.every((key) => DATA_KEYS.has(key)) &&
    !current.columns.some((column) => ["filename", "file_row_number"].includes(column.name.toLowerCase()));
  return {
    kind: "changed",
    method: placesTell ? "files" : "feed",
    reason: null,
    inlined: named.some((key) => key.startsWith("inlined_")),
  };
}

/**
 * True where rows moved from place to place, and none went. A flush of inlined deletes is told as deletes, although its
 * delete file has the snapshots that the rows went with; and where rows could only go, as many as before are the same.
 */
async function onlyMoved(
  session: Session,
  { table, from, to }: WindowRequest,
  named: readonly string[],
  { touched }: WindowFacts,
): Promise<boolean> {
  const told = named.filter((key) => DATA_KEYS.has(key) || key.startsWith("tables_"));
  if (!touched && told.every((key) => key === "tables_deleted_from")) return true;
  const maintained = told.length < named.length;
  if (!maintained || !told.every((key) => DELETE_KEYS.has(key))) return false;
  const { before, after } = await countsAt(session, table, from, to);
  return before === after;
}

function nameOf(request: WindowRequest): string {
  return `${request.table.schema}.${request.table.table}`;
}

function rebuild(code: string, text: string): WindowState {
  return { kind: "rebuild", reason: { code, text } };
}

function difference(code: string, text: string): WindowState {
  return { kind: "changed", method: "difference", reason: { code, text }, inlined: false };
}

/** The first used column that is not the same column of the same type at both ends. */
function changedColumn(
  before: TableVersion | undefined,
  after: TableVersion,
  used: readonly string[],
): string | undefined {
  const find = (table: TableVersion | undefined, name: string) =>
    table?.columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
  return used.find((name) => {
    const [old, now] = [find(before, name), find(after, name)];
    return old === undefined || now === undefined || old.id !== now.id || old.type !== now.type;
  });
}

interface WindowFacts {
  /** The snapshot that the window begins after is still there. */
  readonly kept: boolean;
  /**
   * Two delete files of one data file are live at the same snapshot, which makes the reads of that snapshot wrong. Only
   * what overlaps the window matters: later snapshots read right again.
   */
  readonly damaged: boolean;
  /** Two deletes of one transaction together emptied a file: the feed lists the first of them twice. */
  readonly emptied: boolean;
  /** A data file came or went within the window, or rows of one did that are not inlined deletes still. */
  readonly touched: boolean;
}

async function windowFacts(session: Session, engine: Engine, request: WindowRequest): Promise<WindowFacts> {
  const { from, to, tableId } = request;
  const files = engine.metadataTable("ducklake_data_file");
  const deletes = engine.metadataTable("ducklake_delete_file");
  const never = "9000000000000000000";
  return session.row<WindowFacts>(`
    SELECT EXISTS (SELECT 1 FROM ${engine.metadataTable("ducklake_snapshot")} WHERE snapshot_id = ${from}) AS kept,
    EXISTS (
      SELECT 1 FROM (
        SELECT greatest(a.begin_snapshot, b.begin_snapshot) AS damage_begin,
               least(coalesce(a.end_snapshot, ${never}), coalesce(b.end_snapshot, ${never}), coalesce(f.end_snapshot, ${never})) AS damage_end
        FROM ${deletes} a
        JOIN ${deletes} b ON a.data_file_id = b.data_file_id AND a.delete_file_id < b.delete_file_id
        JOIN ${files} f ON f.data_file_id = a.data_file_id
        WHERE a.table_id = ${tableId} AND b.table_id = ${tableId}
      ) WHERE damage_begin < damage_end AND damage_begin <= ${to} AND damage_end > ${from}
    ) AS damaged,
    EXISTS (
      SELECT 1 FROM ${files} f JOIN ${deletes} d USING (data_file_id)
      WHERE f.table_id = ${tableId} AND f.end_snapshot > ${from} AND f.end_snapshot <= ${to} AND d.begin_snapshot = f.end_snapshot
    ) AS emptied,
    EXISTS (SELECT 1 FROM ${files} WHERE table_id = ${tableId} AND ${touchedFile(from, to)})
    OR EXISTS (SELECT 1 FROM ${deletes} WHERE table_id = ${tableId} AND ${touchedDeletes(from, to)}) AS touched`);
}
