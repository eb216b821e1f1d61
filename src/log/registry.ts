import type { Session } from "../engine/session.js";
import { quoteLiteral } from "../sql/quote.js";
import type { StateTables } from "../view/state.js";
import type { LogSchema } from "./schema.js";

/**
 * What the lake knows of change logs. `segments` and `retired` only grow by inserts, so that refreshes and compactions
 * of any views never get into each other's way; `logs` has one row a log, which every compaction updates in place: of
 * two at once, one gets a conflict. A file is live while it is in `segments`, in the log's present generation of
 * columns (its epoch), and not in `retired`.
 */

/** One file of a log, or a window without changes, which needs none. */
export interface LogEntry {
  readonly id: string;
  /** The log's name: the view's. */
  readonly log: string;
  /** Changes when the view's columns do; entries of different epochs can't be read together. */
  readonly epoch: string;
  /** `base`: the whole state at `to`; `segment`: the changes of the window (`from`, `to`]. */
  readonly kind: "base" | "segment";
  /** Null for a base. */
  readonly from: bigint | null;
  readonly to: bigint;
  /** 0 for what a refresh wrote, one more with each merge. */
  readonly level: number;
  /** The number of a base's file in key order, from 0. */
  readonly part: number;
  /** Relative to the log root; null for a window without changes. */
  readonly file: string | null;
  readonly rows: bigint;
  readonly bytes: bigint;
  /** The least and the greatest key as JSON arrays of text; null where there are no rows or the keys are too long. */
  readonly least: string | null;
  readonly greatest: string | null;
  /** The run that wrote it. */
  readonly runId: string;
  /** When its newest change was registered, in UTC as ISO 8601. */
  readonly createdAt: string;
}

/** An entry that is registered now, or with the time of what it replaces. */
export type NewEntry = Omit<LogEntry, "createdAt"> & { readonly createdAt?: string };

export interface LogState {
  readonly log: string;
  readonly epoch: string;
  readonly schema: LogSchema;
  /** Grows with each compaction and each new epoch. */
  readonly generation: bigint;
  /** Live entries, bases first, then segments in the order of their windows. */
  readonly entries: readonly LogEntry[];
  /** The snapshot that the log has come to. */
  readonly end: bigint;
}

/** Undefined where the view has no log yet. */
export async function readLog(session: Session, tables: StateTables, log: string): Promise<LogState | undefined> {
  return (await readLogs(session, tables, [log])).get(log);
}

/** Logs by name, all or those that are named. */
export async function readLogs(
  session: Session,
  tables: StateTables,
  names?: readonly string[],
): Promise<Map<string, LogState>> {
  const chosen = names === undefined ? "" : `WHERE log IN (${["NULL", ...names.map(quoteLiteral)].join(", ")})`;
  const logs = await session.rows<{ log: string; epoch: string; schema: string; generation: bigint }>(
    `SELECT log, epoch, "schema", generation FROM ${tables.table("logs")} ${chosen} ORDER BY log`,
  );
  if (logs.length === 0) return new Map();
  const entries = await session.rows<LogEntry>(
    `SELECT id, log, epoch, kind, from_snapshot AS "from", to_snapshot AS "to", level, part, file, "rows", bytes, least, greatest,
            run_id AS "runId", strftime(created_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS "createdAt"
     FROM (SELECT * FROM ${tables.table("segments")} ${chosen}) AS segment
     WHERE NOT EXISTS (SELECT 1 FROM ${tables.table("retired")} AS retired WHERE retired.id = segment.id)
     ORDER BY kind, to_snapshot, part`,
  );
  return new Map(
    logs.map((row) => {
      const live = entries.filter((entry) => entry.log === row.log && entry.epoch === row.epoch);
      const end =
        live
          .map((entry) => entry.to)
          .sort(ascending)
          .at(-1) ?? -1n;
      return [row.log, { ...row, schema: JSON.parse(row.schema) as LogSchema, entries: live, end }];
    }),
  );
}

/** Registers entries; in the transaction that makes them true. */
export async function insertEntries(
  session: Session,
  tables: StateTables,
  entries: readonly NewEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => {
    const values = [
      text(entry.id),
      text(entry.log),
      text(entry.epoch),
      text(entry.kind),
      entry.from ?? "NULL",
      entry.to,
      entry.level,
      entry.part,
      text(entry.file),
      entry.rows,
      entry.bytes,
      text(entry.least),
      text(entry.greatest),
      text(entry.runId),
      entry.createdAt === undefined ? "now()" : `CAST(${text(entry.createdAt)} AS TIMESTAMP WITH TIME ZONE)`,
    ];
    return `(${values.join(", ")})`;
  });
  await session.run(`INSERT INTO ${tables.table("segments")} VALUES ${rows.join(", ")}`);
}

/** Takes entries out of their log. Their files stay for a grace time, for readers that have a list of them. */
export async function retireEntries(
  session: Session,
  tables: StateTables,
  entries: readonly LogEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => `(${text(entry.id)}, ${text(entry.log)}, ${text(entry.file)}, now())`);
  await session.run(`INSERT INTO ${tables.table("retired")} VALUES ${rows.join(", ")}`);
}

/** Begins a log, or a new epoch of one whose columns changed. */
export async function beginEpoch(
  session: Session,
  tables: StateTables,
  log: string,
  epoch: string,
  schema: LogSchema,
  before: LogState | undefined,
): Promise<void> {
  if (before === undefined) {
    await session.run(`INSERT INTO ${tables.table("logs")} VALUES ($1, $2, $3, 0, now())`, [
      log,
      epoch,
      JSON.stringify(schema),
    ]);
    return;
  }
  await retireEntries(session, tables, before.entries);
  await session.run(
    `UPDATE ${tables.table("logs")} SET epoch = $1, "schema" = $2, generation = generation + 1, updated_at = now() WHERE log = $3`,
    [epoch, JSON.stringify(schema), log],
  );
}

/** Ends a log whose view is dropped. Its files stay for the grace time, like all that are retired. */
export async function endLog(session: Session, tables: StateTables, log: string): Promise<void> {
  const state = await readLog(session, tables, log);
  if (state === undefined) return;
  await retireEntries(session, tables, state.entries);
  for (const table of ["logs", "consumers"]) {
    await session.run(`DELETE FROM ${tables.table(table)} WHERE log = $1`, [log]);
  }
}

function text(value: string | null): string {
  return value === null ? "NULL" : quoteLiteral(value);
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
