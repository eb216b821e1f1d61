import { type Engine, LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { LakeError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../sql/quote.js";
import type { DeltaMethod, Reason } from "../types.js";
import { createConsolidated, exactlyConsolidated, WEIGHT } from "./consolidate.js";
import type { Part } from "./file-parts.js";
import { rowChange } from "./row-change.js";
import { countsAt, type TableName, tableAtVersion } from "./tables.js";
import { readTouched } from "./touched-files.js";

export interface SourceDeltaRequest {
  readonly table: TableName;
  readonly tableId: bigint;
  readonly from: bigint;
  readonly to: bigint;
  /** How the delta is to be found. Where `files` gives nothing that adds up, `feed` takes its place. */
  readonly method: "files" | "feed" | "difference";
  /** True where the catalog itself may keep inserts or deletes of the window; asked by `files`. */
  readonly inlined: boolean;
  readonly reason: Reason | null;
  /** The table's columns that are read. */
  readonly columns: readonly string[];
  /** Where the delta's rows are not the table's own: its columns, and a SELECT that makes them from the table's. */
  readonly shape?: { readonly columns: readonly string[]; readonly select: (rows: string) => string };
  /** Name of the temporary table to fill. */
  readonly target: string;
}

export interface SourceDelta {
  readonly rows: bigint;
  readonly method: DeltaMethod;
  readonly reason: Reason | null;
}

/**
 * Fills a temporary table with a source's consolidated delta. The touched files, or the feed, are taken where the
 * metadata guards allow it; what they give is believed only if its weights sum up to the change of the table's row
 * count, else the next way takes its place: the feed, and then the difference of two reads.
 * @throws LakeError `delta_not_conserved` where even that does not add up, which no sound lake can give.
 */
export async function loadSourceDelta(
  session: Session,
  engine: Engine,
  request: SourceDeltaRequest,
): Promise<SourceDelta> {
  if (request.method === "files") {
    const rows = await fillFromFiles(session, engine, request);
    if (rows !== null) return { rows, method: "files", reason: null };
  }
  const { before, after } = await countsAt(session, request.table, request.from, request.to);
  let { reason } = request;
  if (request.method !== "difference") {
    const total = await fill(session, request, feed(request));
    if (total === after - before) return result(session, request, "feed", reason);
    reason = {
      code: "feed_not_conserved",
      text: `the change feed's weights sum to ${total}, but the table went from ${before} to ${after} rows`,
    };
  }
  const total = await fill(session, request, difference(request));
  if (total !== after - before) {
    throw new LakeError(
      "delta_not_conserved",
      `${request.table.schema}.${request.table.table}: two reads of the table differ by ${total} rows, but its counts by ${after - before}.`,
      {
        subject: { table: request.table.table, snapshot: request.to },
        hint: "The lake's history of this table is damaged; rebuild the view with `refresh: full`.",
      },
    );
  }
  return result(session, request, "difference", reason);
}

/**
 * Fills the target from the files that the window touched, and gives its number of rows. Each part must give as many
 * rows as the catalog says, and all together the change of the table's row count; null where it is otherwise.
 */
async function fillFromFiles(session: Session, engine: Engine, request: SourceDeltaRequest): Promise<bigint | null> {
  const { columns, shape, target } = request;
  const touched = await readTouched(session, engine, request);
  if (touched === null) return null;
  const { parts } = touched;
  const change = await rowChange(session, engine, request, touched);
  const raw = quotePath(["temp", `${target}_raw`]);
  await session.run(`CREATE OR REPLACE TEMP TABLE ${raw} AS ${partsSelect(request, parts)}`);
  const counts = await session.rows<{ part: number; rows: bigint }>(
    `SELECT ${PART} AS part, count(*) AS rows FROM ${raw} GROUP BY ${PART}`,
  );
  const sound = addsUp(parts, new Map(counts.map(({ part, rows }) => [part, rows])), change);
  let filled: bigint | null = null;
  if (sound) {
    const rows = `SELECT * EXCLUDE (${PART}) FROM ${raw}`;
    const select = await exactlyConsolidated(session, shape?.columns ?? columns, shape?.select(rows) ?? rows);
    filled = await session.change(`CREATE OR REPLACE TEMP TABLE ${quotePath(["temp", target])} AS ${select}`);
  }
  await session.run(`DROP TABLE ${raw}`);
  return filled;
}

const PART = quoteIdentifier("_ivm_part");

/** The rows of all parts with their weight and the part's number, of no part where there is none. */
function partsSelect(request: SourceDeltaRequest, parts: readonly Part[]): string {
  const weight = quoteIdentifier(WEIGHT);
  const list = request.columns.length === 0 ? "NULL" : request.columns.map(quoteIdentifier).join(", ");
  const none = `SELECT ${list} FROM ${tableAtVersion(request.table, request.to)} LIMIT 0`;
  const rows = (select: string, sign: number, part: number): string =>
    `SELECT *, ${sign} AS ${weight}, ${part} AS ${PART} FROM (${select})`;
  if (parts.length === 0) return rows(none, 1, 0);
  return parts.map(({ select, sign }, part) => rows(select, sign, part)).join(" UNION ALL ");
}

function addsUp(parts: readonly Part[], counts: ReadonlyMap<number, bigint>, change: bigint): boolean {
  let sum = 0n;
  for (const [position, { sign, expected }] of parts.entries()) {
    const rows = counts.get(position) ?? 0n;
    if (expected !== null && rows !== expected) return false;
    sum += BigInt(sign) * rows;
  }
  return sum === change;
}

/** Fills a temporary table with `after` minus `before`, two SELECTs of the given columns. */
export async function loadDifference(
  session: Session,
  target: string,
  columns: readonly string[],
  after: string,
  before: string,
): Promise<{ rows: bigint }> {
  const list = columns.map((column) => `${quoteIdentifier(column)}, `).join("");
  const weight = quoteIdentifier(WEIGHT);
  const rows = `SELECT ${list}1 AS ${weight} FROM (${after}) UNION ALL SELECT ${list}-1 FROM (${before})`;
  await createConsolidated(session, target, columns, rows);
  return session.row(`SELECT count(*) AS rows FROM ${quotePath(["temp", target])}`);
}

async function result(
  session: Session,
  request: SourceDeltaRequest,
  method: DeltaMethod,
  reason: Reason | null,
): Promise<SourceDelta> {
  const row = await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM temp.${quoteIdentifier(request.target)}`);
  return { rows: row.n, method, reason };
}

/** Fills the target and gives the sum of the weights before any row was shaped or left out. */
async function fill(session: Session, request: SourceDeltaRequest, rows: string): Promise<bigint> {
  const target = quotePath(["temp", request.target]);
  // Consolidated before it is used: a row that was written and removed within the window is no change.
  await createConsolidated(session, request.target, request.columns, rows);
  const sum = await session.row<{ total: bigint | null }>(
    `SELECT CAST(sum(${quoteIdentifier(WEIGHT)}) AS BIGINT) AS total FROM ${target}`,
  );
  if (request.shape !== undefined) {
    const raw = quotePath(["temp", `${request.target}_raw`]);
    await session.run(`DROP TABLE IF EXISTS ${raw}`);
    await session.run(`ALTER TABLE ${target} RENAME TO ${quoteIdentifier(`${request.target}_raw`)}`);
    const shaped = request.shape.select(`SELECT * FROM ${raw}`);
    await session.run(
      `CREATE TEMP TABLE ${target} AS ${await exactlyConsolidated(session, request.shape.columns, shaped)}`,
    );
    await session.run(`DROP TABLE ${raw}`);
  }
  return sum.total ?? 0n;
}

function feed(request: SourceDeltaRequest): string {
  const columns = request.columns.map((column) => `${quoteIdentifier(column)}, `).join("");
  const call = (name: string): string =>
    `${name}(${[LAKE_NAME, request.table.schema, request.table.table].map(quoteLiteral).join(", ")}, ${request.from + 1n}, ${request.to})`;
  const weight = quoteIdentifier(WEIGHT);
  return `SELECT ${columns}1 AS ${weight} FROM ${call("ducklake_table_insertions")} UNION ALL SELECT ${columns}-1 FROM ${call("ducklake_table_deletions")}`;
}

function difference(request: SourceDeltaRequest): string {
  const columns = request.columns.map((column) => `${quoteIdentifier(column)}, `).join("");
  const weight = quoteIdentifier(WEIGHT);
  return `SELECT ${columns}1 AS ${weight} FROM ${tableAtVersion(request.table, request.to)} UNION ALL SELECT ${columns}-1 FROM ${tableAtVersion(request.table, request.from)}`;
}
