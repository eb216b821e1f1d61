import { randomUUID } from "node:crypto";
import type { Session } from "../engine/session.js";
import { ConflictError } from "../errors.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";
import { beginningOf, consolidate, dropConsolidated, requireYoung, writeSegment } from "./files.js";
import { storedRows } from "./read.js";
import { beginEpoch, insertEntries, type LogState, type NewEntry, readLogs } from "./registry.js";
import type { LogRoot } from "./root.js";
import { type LogSchema, weightedRows } from "./schema.js";

/** What a run records of one base table. */
export interface SourceRecord {
  readonly log: string;
  readonly schema: LogSchema;
  readonly before: LogState | undefined;
  readonly entry: NewEntry;
  /** When its file was begun, by this machine's clock. */
  readonly writtenAt: number;
  /** True where the log begins anew: nothing is known of what came before. */
  readonly begins: boolean;
}

/** The segment of a window from a temporary table with the table's columns and their weight; null for no changes. */
export async function sourceSegment(
  session: Session,
  root: LogRoot,
  runId: string,
  source: { readonly log: string; readonly schema: LogSchema; readonly before: LogState; readonly to: bigint },
  delta: { readonly table: string; readonly weight: string } | null,
): Promise<SourceRecord> {
  const { log, schema, before, to } = source;
  const files = await root.filesOf(session, { log, epoch: before.epoch, schema, runId });
  const writtenAt = Date.now();
  const rows =
    delta === null
      ? storedRows(root.store, schema, [])
      : weightedRows(schema, quotePath(["temp", delta.table]), quoteIdentifier(delta.weight));
  const counts = await consolidate(session, schema, rows);
  const entry = await writeSegment(files, { from: before.end, to, level: 0 }, counts.rows);
  await dropConsolidated(session);
  return { log, schema, before, entry, writtenAt, begins: false };
}

/** The beginning of a source's log at a snapshot. */
export async function sourceBeginning(
  session: Session,
  root: LogRoot,
  runId: string,
  source: {
    readonly log: string;
    readonly schema: LogSchema;
    readonly before: LogState | undefined;
    readonly to: bigint;
  },
): Promise<SourceRecord> {
  const { log, schema, before, to } = source;
  const files = await root.filesOf(session, { log, epoch: randomUUID(), schema, runId });
  return { log, schema, before, entry: beginningOf(files, to), writtenAt: Date.now(), begins: true };
}

/** Registers what was recorded, all of it in one commit. @throws ConflictError where another run was faster. */
export async function registerSources(
  session: Session,
  root: LogRoot,
  runId: string,
  records: readonly SourceRecord[],
): Promise<void> {
  const { tables } = root;
  await session.transaction(async () => {
    const present = await readLogs(
      session,
      tables,
      records.map((record) => record.log),
    );
    for (const { log, schema, before, entry, writtenAt, begins } of records) {
      requireYoung(log, writtenAt, root.graceMs);
      const now = present.get(log);
      if (now?.epoch !== before?.epoch || now?.end !== before?.end) throw moved(log);
      if (begins) await beginEpoch(session, tables, log, entry.epoch, schema, now);
      // Of two runs that record the same window, one gets a conflict.
      else await session.run(`UPDATE ${tables.table("logs")} SET updated_at = now() WHERE log = $1`, [log]);
    }
    await insertEntries(
      session,
      tables,
      records.map((record) => record.entry),
    );
    await tables.commitMessage(session, "record changes of base tables", { run: runId, logs: records.length });
  });
}

function moved(log: string): ConflictError {
  return new ConflictError("log_moved", `The log ${log} was moved by another run in the meantime.`, {
    hint: "Run the same command again.",
  });
}
