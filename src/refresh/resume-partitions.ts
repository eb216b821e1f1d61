import type { Session } from "../engine/session.js";
import type { ColumnId } from "../plan/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import type { PartitionCounts } from "../types.js";
import type { Run } from "../view/running.js";
import { BACK, neededOf, nextValues, sortKey, tellsPeersApart } from "./resume-values.js";

/** The temporary tables with the changed rows below window functions, summed up, and with those that came, by number. */
export const CHANGES = "ivm_window_changes";
export const CAME = "ivm_window_came";
const WEIGHT = q("weight");

/** A run of window functions, and which of the partitions with changed rows go on from their ends. */
export interface TouchedRun {
  readonly run: Run;
  /** The temporary table with those partitions: their keys, and `reread` where they don't. */
  readonly partitions: string;
  /** The temporary table with the values of the rows that came, by number; null where no partition goes on. */
  readonly values: string | null;
  readonly counts: PartitionCounts;
  readonly tables: readonly string[];
}

/**
 * Looks at the partitions of all changed rows.
 * @param stored gives a SELECT of the physical rows as values, by id.
 */
export async function touchPartitions(
  session: Session,
  run: Run,
  position: number,
  stored: (ids: readonly ColumnId[]) => string,
): Promise<TouchedRun> {
  const names = (["touched", "tail", "partitions", "values"] as const).map((what) => `ivm_window_${what}${position}`);
  const [touched = "", tail = "", partitions = "", values = ""] = names;
  await createTouched(session, run, touched);
  if (run.whole === null) await createTail(session, run, touched, tail, stored);
  await createPartitions(session, run, touched, tail, partitions);
  const counts = await session.row<PartitionCounts>(
    `SELECT count(*) FILTER (WHERE NOT "reread") AS resumed, count(*) FILTER (WHERE "reread") AS reread FROM temp.${q(partitions)}`,
  );
  if (counts.resumed > 0n) {
    const came = `SELECT came.*${after(run, "found")} FROM temp.${q(CAME)} AS came JOIN temp.${q(partitions)} AS found ON ${inPartition(run, "found")} AND NOT found."reread"`;
    await create(session, values, nextValues(run, came, `temp.${q(tail)}`, keysOf(run)));
  }
  return { run, partitions, values: counts.resumed > 0n ? values : null, counts, tables: names };
}

/** The columns of the partitions' keys. */
function keysOf(run: Run): string[] {
  return run.partition.map((_, index) => q(`key${index + 1}`));
}

/** True for a row of the partition in a table with keys; NULL is a partition like any other. */
export function inPartition(run: Run, table: string): string {
  const keys = keysOf(run);
  const pairs = run.partition.map(({ sql }, index) => `(${sql}) IS NOT DISTINCT FROM ${table}.${keys[index]}`);
  return pairs.length === 0 ? "true" : pairs.join(" AND ");
}

function after(run: Run, table: string): string {
  return keysOf(run)
    .map((key) => `, ${table}.${key}`)
    .join("");
}

async function create(session: Session, table: string, select: string): Promise<void> {
  await session.run(`CREATE OR REPLACE TEMP TABLE ${q(table)} AS ${select}`);
}

/** The partitions of the changed rows: whether any of these went, and the first in order of those that came. */
async function createTouched(session: Session, run: Run, touched: string): Promise<void> {
  const keys = run.partition.map(({ sql }, index) => `${sql} AS ${keysOf(run)[index]}`);
  const lost = run.whole === null ? `bool_or(${WEIGHT} < 0)` : "true";
  const first = run.whole === null ? `min(${sortKey(run)}) FILTER (WHERE ${WEIGHT} > 0)` : "NULL";
  const columns = [...keys, `${lost} AS "lost"`, `${first} AS "first"`];
  const groups = keys.length === 0 ? "" : `GROUP BY ${keys.map((_, index) => index + 1).join(", ")}`;
  await create(session, touched, `SELECT ${columns.join(", ")} FROM temp.${q(CHANGES)} ${groups} HAVING count(*) > 0`);
}

/** The last stored rows of the partitions that lost none. */
async function createTail(
  session: Session,
  run: Run,
  touched: string,
  tail: string,
  stored: (ids: readonly ColumnId[]) => string,
): Promise<void> {
  const keys = keysOf(run);
  const needed = neededOf(run);
  const field = (index: number): string => q(`c${index + 1}`);
  const fields = needed.map((id, index) => `${field(index)} := ${q(id)}`);
  // One more than the values need, to see whether the last row has peers.
  const last = `max_by(struct_pack(${[`"order" := "order"`, ...fields].join(", ")}), "order", ${Math.max(2, run.rows)})`;
  const columns = needed.map((id, index) => `"row".${field(index)} AS ${q(id)}`);
  const groups = keys.length === 0 ? "" : `GROUP BY ${keys.join(", ")}`;
  await create(
    session,
    tail,
    `SELECT ${[...keys, q(BACK), `"row"."order" AS "order"`, ...columns].join(", ")} FROM (
       SELECT ${[...keys, `unnest("rows") AS "row"`, `unnest(range(1, len("rows") + 1)) AS ${q(BACK)}`].join(", ")} FROM (
         SELECT ${[...keys, `${last} AS "rows"`].join(", ")} FROM (
           SELECT data.*${after(run, "touched")}, ${sortKey(run)} AS "order"
           FROM (${stored(needed)}) AS data JOIN temp.${q(touched)} AS touched ON ${inPartition(run, "touched")} AND NOT touched."lost"
         ) ${groups}))`,
  );
}

/** A partition goes on where all that changed came after its last row, and that row is known. */
async function createPartitions(
  session: Session,
  run: Run,
  touched: string,
  tail: string,
  partitions: string,
): Promise<void> {
  const keys = keysOf(run);
  if (run.whole !== null) {
    await create(session, partitions, `SELECT ${[...keys, `true AS "reread"`].join(", ")} FROM temp.${q(touched)}`);
    return;
  }
  const order = (back: number): string => `max("order") FILTER (WHERE ${q(BACK)} = ${back})`;
  const groups = keys.length === 0 ? "" : ` GROUP BY ${keys.join(", ")}`;
  const ends = `SELECT ${[...keys, `${order(1)} AS "end"`, `${order(2)} AS "before"`].join(", ")} FROM temp.${q(tail)}${groups}`;
  const same = keys.map((key) => `touched.${key} IS NOT DISTINCT FROM ends.${key}`);
  const peers = tellsPeersApart(run) ? ` OR coalesce("end" = "before", false)` : "";
  await create(
    session,
    partitions,
    `SELECT ${[...keys.map((key) => `touched.${key}`), `("lost" OR coalesce("first" <= "end", false)${peers}) AS "reread"`].join(", ")}
     FROM temp.${q(touched)} AS touched LEFT JOIN (${ends}) AS ends ON ${same.length === 0 ? "true" : same.join(" AND ")}`,
  );
}
