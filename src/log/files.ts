import { randomUUID } from "node:crypto";
import pLimit from "p-limit";
import type { Session } from "../engine/session.js";
import { createFromRows } from "../engine/sparing.js";
import { LakeError } from "../errors.js";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import { baseName, logFolder, segmentName } from "./names.js";
import type { NewEntry } from "./registry.js";
import { consolidatedRows, keyOrder, type LogSchema } from "./schema.js";
import { type ObjectStore, SIDE_BY_SIDE } from "./store.js";

/** The version of the files and of the manifest; in both. */
export const FORMAT_VERSION = 1;

/** Small enough that one key costs little to read, large enough that the footer stays small. */
const ROW_GROUP_ROWS = 20_480;

/** Key columns that the least and the greatest key tell; more do not prune better. */
const BOUND_COLUMNS = 8;
/** Longer bounds cost more in the registry than they save. */
const BOUND_CHARACTERS = 4_096;

/** Consolidated rows of a log, encoded, with their weight; unsorted. */
const ROWS = "ivm_log_rows";
/** The same in the order of the key, where they become several files. */
const SORTED = "ivm_log_sorted";

export interface FileContext {
  readonly session: Session;
  readonly store: ObjectStore;
  readonly log: string;
  readonly epoch: string;
  readonly schema: LogSchema;
  readonly runId: string;
  readonly lakeId: string;
  /** Bytes that a file of a base should have. */
  readonly fileBytes: number;
  /** Runs work on the session after all work that came before it. */
  readonly oneByOne: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

export interface ConsolidatedCounts {
  /** Rows of the file. */
  readonly rows: bigint;
  /** Copies that come. */
  readonly inserted: bigint;
  /** Copies that go. */
  readonly deleted: bigint;
}

/**
 * Keeps the sum of weighted rows for the file that is written next, and counts them. `rows` is a SELECT of encoded
 * columns and the weight; equal rows are summed and those that cancel out dropped.
 */
export async function consolidate(session: Session, schema: LogSchema, rows: string): Promise<ConsolidatedCounts> {
  await createFromRows(session, ROWS, `\n${rows}\n`, (from) => consolidatedRows(schema, from));
  const weight = quoteIdentifier(schema.weight);
  return session.row<ConsolidatedCounts>(`
    SELECT count(*) AS "rows", CAST(coalesce(sum(${weight}) FILTER (WHERE ${weight} > 0), 0) AS BIGINT) AS inserted,
           CAST(coalesce(-sum(${weight}) FILTER (WHERE ${weight} < 0), 0) AS BIGINT) AS deleted
    FROM temp.${quoteIdentifier(ROWS)}`);
}

/** What an entry without rows says in place of a file. */
const NO_FILE = { file: null, rows: 0n, bytes: 0n, least: null, greatest: null };

/** A window of a log: the snapshots after the one up to the other. */
export interface SegmentWindow {
  readonly from: bigint;
  readonly to: bigint;
  readonly level: number;
}

/** Writes the consolidated rows as the segment of a window. A window without changes needs no file. */
export async function writeSegment(context: FileContext, window: SegmentWindow, rows: bigint): Promise<NewEntry> {
  const { from, to, level } = window;
  const entry = { ...commonOf(context), kind: "segment" as const, from, to, level, part: 0 };
  if (rows === 0n) return { ...entry, ...NO_FILE };
  const file = segmentName(logFolder(context.log), context.lakeId, from, to, entry.id);
  const facts = { window_from: String(from), window_to: String(to), level: String(level) };
  return { ...entry, ...(await writeFile(context, file, `temp.${quoteIdentifier(ROWS)}`, facts)) };
}

/** Writes the consolidated rows as a base: files in key order, each of about the target size. */
export async function writeBase(context: FileContext, at: bigint, level: number, rows: bigint): Promise<NewEntry[]> {
  const { session, schema } = context;
  const entry = { ...commonOf(context), kind: "base" as const, from: null, to: at, level };
  if (rows === 0n) return [{ ...entry, part: 0, ...NO_FILE }];
  const folder = logFolder(context.log);
  const facts = (part: number) => ({ base_at: String(at), part: String(part), level: String(level) });
  const perFile = await rowsPerFile(context, rows);
  if (perFile >= rows) {
    const file = baseName(folder, context.lakeId, at, 0, entry.id);
    const written = await writeFile(context, file, `temp.${quoteIdentifier(ROWS)}`, facts(0));
    return [{ ...entry, part: 0, ...written }];
  }
  const sorted = `temp.${quoteIdentifier(SORTED)}`;
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${quoteIdentifier(SORTED)} AS SELECT * FROM temp.${quoteIdentifier(ROWS)} ORDER BY ${keyOrder(schema)}`,
  );
  // Rows that the open transaction has made do not count from zero.
  const { first } = await session.row<{ first: bigint }>(`SELECT min(rowid) AS first FROM ${sorted}`);
  const starts = Array.from({ length: Number((rows + perFile - 1n) / perFile) }, (_, part) => BigInt(part) * perFile);
  const entries = await allOrNone(
    starts.map((start, part) => async (): Promise<NewEntry> => {
      const id = part === 0 ? entry.id : randomUUID();
      const slice = `(SELECT * FROM ${sorted} WHERE rowid >= ${first + start} AND rowid < ${first + start + perFile})`;
      const file = baseName(folder, context.lakeId, at, part, id);
      return { ...entry, id, part, ...(await writeFile(context, file, slice, facts(part))) };
    }),
  );
  await session.run(`DROP TABLE ${sorted}`);
  const written = entries.reduce((sum, { rows: inFile }) => sum + inFile, 0n);
  if (written !== rows) throw new TypeError(`a base of ${rows} rows was written with ${written}`);
  return entries;
}

/** The position that a log begins at, where nothing before it is kept. */
export function beginningOf(context: FileContext, at: bigint): NewEntry {
  return { ...commonOf(context), kind: "base", from: null, to: at, level: 0, part: 0, ...NO_FILE };
}

export async function dropConsolidated(session: Session): Promise<void> {
  await session.run(`DROP TABLE IF EXISTS temp.${quoteIdentifier(ROWS)}`);
}

/**
 * Runs work side by side and waits for all of it, also after a failure: nothing may go on using the session while its
 * caller believes it free. What has not begun by then is left out.
 */
async function allOrNone<Result>(work: readonly (() => Promise<Result>)[]): Promise<Result[]> {
  const limit = pLimit({ concurrency: SIDE_BY_SIDE, rejectOnClear: true });
  const settled = await Promise.allSettled(
    work.map((one) =>
      limit(async () => {
        try {
          return await one();
        } catch (error) {
          limit.clearQueue();
          throw error;
        }
      }),
    ),
  );
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

/** The part of the grace time after which a file that was written is no longer sure to be there. */
const TRUSTED_SHARE = 0.5;

/** True where no sweep can have taken away what was written then. */
export function isYoung(writtenAt: number, graceMs: number): boolean {
  return Date.now() - writtenAt <= graceMs * TRUSTED_SHARE;
}

/** @throws LakeError `log_file_old` for files that a sweep may have taken away before they are registered. */
export function requireYoung(log: string, writtenAt: number, graceMs: number): void {
  if (isYoung(writtenAt, graceMs)) return;
  throw new LakeError(
    "log_file_old",
    `The log of ${log}: its files were not registered in time. Nothing was changed.`,
    {
      subject: { view: log },
      hint: "Raise `log.grace`: it must be well above the time that writing a log takes.",
    },
  );
}

function commonOf({ log, epoch, runId }: FileContext) {
  return { id: randomUUID(), log, epoch, runId };
}

/** How many rows make a file of the target size, from the size of a first row group. */
async function rowsPerFile(context: FileContext, rows: bigint): Promise<bigint> {
  const sample = 4 * ROW_GROUP_ROWS;
  if (rows <= BigInt(sample)) return rows;
  const select = `(SELECT * FROM temp.${quoteIdentifier(ROWS)} LIMIT ${sample})`;
  const { bytes } = await context.store.scratch((path) => copy(context, path, select, {}));
  const perRow = Math.max(1, Number(bytes) / sample);
  const groups = Math.max(1, Math.round(context.fileBytes / perRow / ROW_GROUP_ROWS));
  return BigInt(groups) * BigInt(ROW_GROUP_ROWS);
}

type Written = Pick<NewEntry, "file" | "rows" | "bytes" | "least" | "greatest">;

async function writeFile(
  context: FileContext,
  file: string,
  source: string,
  facts: Readonly<Record<string, string>>,
): Promise<Written> {
  const copied = await context.store.write(file, (path) =>
    // One file is made while others are sent: a session does one thing at a time.
    context.oneByOne(async () => ({
      ...(await boundsOf(context, source)),
      ...(await copy(context, path, source, facts)),
    })),
  );
  return { file, ...copied };
}

async function copy(
  { session, schema, log, epoch, runId }: FileContext,
  path: string,
  source: string,
  facts: Readonly<Record<string, string>>,
): Promise<{ rows: bigint; bytes: bigint }> {
  const metadata = {
    log,
    epoch,
    ...facts,
    schema_fingerprint: schema.fingerprint,
    format_version: String(FORMAT_VERSION),
    run_id: runId,
  };
  const pairs = Object.entries(metadata).map(([key, value]) => `${key}: ${quoteLiteral(value)}`);
  const stats = await session.row<{ count: bigint; file_size_bytes: bigint }>(
    `COPY (SELECT * FROM ${source} ORDER BY ${keyOrder(schema)}) TO ${quoteLiteral(path)}
     (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, KV_METADATA {${pairs.join(", ")}}, RETURN_STATS)`,
  );
  return { rows: stats.count, bytes: stats.file_size_bytes };
}

/** The keys of the first and the last row, as JSON arrays of the values' text. */
async function boundsOf(
  { session, schema }: FileContext,
  source: string,
): Promise<{ least: string | null; greatest: string | null }> {
  const values = schema.key.slice(0, BOUND_COLUMNS).map((name) => `CAST(${quoteIdentifier(name)} AS VARCHAR)`);
  const keys = `CAST(to_json([${values.join(", ")}]) AS VARCHAR)`;
  const row = await session.row<{ least: string; greatest: string }>(`
    SELECT (SELECT ${keys} FROM ${source} ORDER BY ${keyOrder(schema)} LIMIT 1) AS least,
           (SELECT ${keys} FROM ${source} ORDER BY ${reversed(schema)} LIMIT 1) AS greatest`);
  const short = (bound: string): string | null => (bound.length > BOUND_CHARACTERS ? null : bound);
  return { least: short(row.least), greatest: short(row.greatest) };
}

function reversed(schema: LogSchema): string {
  return schema.key.map((name) => `${quoteIdentifier(name)} DESC NULLS FIRST`).join(", ");
}
