import { LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { createFromRows } from "../engine/sparing.js";
import { LakeError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../sql/quote.js";
import type { DeltaMethod, Reason } from "../types.js";
import { countAt, type TableName, tableAtVersion } from "./tables.js";

/** The weight column of every delta that is kept in a temporary table. */
export const WEIGHT = "_ivm_weight";

export interface SourceDeltaRequest {
  readonly table: TableName;
  readonly from: bigint;
  readonly to: bigint;
  readonly method: "feed" | "difference";
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
  /** Rows of the table at the end of the window. */
  readonly sourceRows: bigint;
}

/**
 * Fills a temporary table with a source's consolidated delta. The feed is taken where the metadata guards allow it;
 * what it gives is believed only if its weights sum up to the difference of the table's row counts, else the
 * difference of two reads takes its place.
 * @throws LakeError `delta_not_conserved` where even that does not add up, which no sound lake can give.
 */
export async function loadSourceDelta(session: Session, request: SourceDeltaRequest): Promise<SourceDelta> {
  const before = await countAt(session, request.table, request.from);
  const after = await countAt(session, request.table, request.to);
  let { method, reason } = request;
  if (method === "feed") {
    const total = await fill(session, request, feed(request));
    if (total === after - before) return result(session, request, method, reason, after);
    method = "difference";
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
  return result(session, request, method, reason, after);
}

/** Fills a temporary table with `after` minus `before`, two SELECTs of the given columns. */
export async function loadDifference(
  session: Session,
  target: string,
  columns: readonly string[],
  after: string,
  before: string,
): Promise<{ rows: bigint; sourceRows: bigint }> {
  const list = columns.map((column) => `${quoteIdentifier(column)}, `).join("");
  const weight = quoteIdentifier(WEIGHT);
  const rows = `SELECT ${list}1 AS ${weight} FROM (${after}) UNION ALL SELECT ${list}-1 FROM (${before})`;
  await createFromRows(session, target, rows, (from) => consolidatedSelect(columns, from));
  return session.row(
    `SELECT (SELECT count(*) FROM ${quotePath(["temp", target])}) AS rows, (SELECT count(*) FROM (${after})) AS "sourceRows"`,
  );
}

async function result(
  session: Session,
  request: SourceDeltaRequest,
  method: "feed" | "difference",
  reason: Reason | null,
  sourceRows: bigint,
): Promise<SourceDelta> {
  const row = await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM temp.${quoteIdentifier(request.target)}`);
  return { rows: row.n, method, reason, sourceRows };
}

/** Fills the target and gives the sum of the weights before any row was shaped or left out. */
async function fill(session: Session, request: SourceDeltaRequest, rows: string): Promise<bigint> {
  const target = quotePath(["temp", request.target]);
  // Consolidated before it is used: a row that was written and removed within the window is no change.
  await createFromRows(session, request.target, rows, (from) => consolidatedSelect(request.columns, from));
  const sum = await session.row<{ total: bigint | null }>(
    `SELECT CAST(sum(${quoteIdentifier(WEIGHT)}) AS BIGINT) AS total FROM ${target}`,
  );
  if (request.shape !== undefined) {
    const raw = quotePath(["temp", `${request.target}_raw`]);
    await session.run(`DROP TABLE IF EXISTS ${raw}`);
    await session.run(`ALTER TABLE ${target} RENAME TO ${quoteIdentifier(`${request.target}_raw`)}`);
    const shaped = request.shape.select(`SELECT * FROM ${raw}`);
    await session.run(`CREATE TEMP TABLE ${target} AS ${consolidatedSelect(request.shape.columns, shaped)}`);
    await session.run(`DROP TABLE ${raw}`);
  }
  return sum.total ?? 0n;
}

/**
 * Rows with a weight, summed by the named columns; what cancels out is left out.
 * @param weight the rows' weight column, and the one of the result.
 */
export function consolidatedSelect(
  names: readonly string[],
  rows: string,
  weight: { readonly from: string; readonly to: string } = { from: WEIGHT, to: WEIGHT },
): string {
  const columns = names.map(quoteIdentifier);
  const [from, to] = [quoteIdentifier(weight.from), quoteIdentifier(weight.to)];
  const groups = columns.length === 0 ? "" : `GROUP BY ${columns.map((_, index) => index + 1).join(", ")}`;
  const total = `CAST(sum(${from}) AS BIGINT) AS ${to}`;
  return `SELECT ${[...columns, total].join(", ")} FROM (${rows}) ${groups} HAVING sum(${from}) <> 0`;
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
