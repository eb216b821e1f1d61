import type { DeltaContext } from "../delta/contract.js";
import { derive } from "../delta/derive.js";
import type { Session } from "../engine/session.js";
import { type ColumnId, outputOf } from "../plan/relation.js";
import { type LeafRenderer, renderConsolidated } from "../render/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import type { PartitionCounts } from "../types.js";
import type { Layout } from "../view/layout.js";
import type { Running } from "../view/running.js";
import { decode } from "../view/visible.js";
import { fillDifference } from "./difference.js";
import { CAME, CHANGES, inPartition, type TouchedRun, touchPartitions } from "./resume-partitions.js";
import { NUMBER } from "./resume-values.js";
import { tableAltered } from "./stored-table.js";

/**
 * Window functions at the top of a view, over stored rows. Where the changed rows of a partition are all new and come
 * after its stored end, they get their values from its last rows, and nothing else of it changes. Any other partition
 * with a changed row is evaluated anew, from its stored rows and the changed ones. The sources are read for their
 * deltas only.
 */
export interface ResumeInput {
  readonly session: Session;
  /** The view's name, for errors. */
  readonly view: string;
  readonly layout: Layout;
  readonly running: Running;
  readonly context: DeltaContext;
  readonly leaves: LeafRenderer;
  /** The physical table, as it stands in FROM. */
  readonly table: string;
}

const AFFECTED = "ivm_window_affected";
const KEPT = "ivm_window_kept";
const WEIGHT = q("weight");

/** Fills DIFFERENCE; gives how many partitions went on from their ends and how many were evaluated anew. */
export async function resumeWindows(input: ResumeInput): Promise<PartitionCounts> {
  const { session, layout, running } = input;
  const ids = outputOf(running.input);
  const changes = renderConsolidated(derive(running.input, input.context), ids, input.leaves);
  await session.run(`CREATE OR REPLACE TEMP TABLE ${q(CHANGES)} AS ${changes}`);
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(CAME)} AS
    SELECT *, row_number() OVER () AS ${q(NUMBER)}
    FROM (SELECT ${ids.map(q).join(", ")}, unnest(range(${WEIGHT})) AS "copy" FROM temp.${q(CHANGES)} WHERE ${WEIGHT} > 0)`);
  const runs: TouchedRun[] = [];
  for (const [index, run] of running.runs.entries()) {
    runs.push(await touchPartitions(session, run, index + 1, (columns) => storedRows(input, columns)));
  }
  const anew = runs.some(({ counts }) => counts.reread > 0n);
  if (anew) await keepAffected(input, ids, runs);
  const rows = rowsAfter(ids, runs, anew);
  const named = layout.columns.map((column) => `${q(column.id)} AS ${q(column.name)}`).join(", ");
  const before = anew ? `SELECT ${named} FROM temp.${q(AFFECTED)}` : `SELECT ${named} FROM (${rows}) WHERE false`;
  await fillDifference(session, layout, `SELECT ${named} FROM (${rows})`, before);
  for (const table of [CHANGES, CAME, AFFECTED, KEPT, ...runs.flatMap((run) => run.tables)]) {
    await session.run(`DROP TABLE IF EXISTS temp.${q(table)}`);
  }
  const sum = (counts: readonly bigint[]): bigint => counts.reduce((total, count) => total + count, 0n);
  return { resumed: sum(runs.map((run) => run.counts.resumed)), reread: sum(runs.map((run) => run.counts.reread)) };
}

/** The rows of the physical table as values, by id. */
function storedRows({ layout, table }: ResumeInput, ids: readonly ColumnId[]): string {
  const columns = layout.columns.filter(({ id }) => ids.includes(id));
  return `SELECT ${columns.map((column) => `${decode(column)} AS ${q(column.id)}`).join(", ")} FROM ${table}`;
}

function flag(position: number): string {
  return q(`reread${position + 1}`);
}

/**
 * The stored rows of all partitions that are evaluated anew, before and without those that went; each with the flags of
 * the runs that have it in such a partition.
 */
async function keepAffected(input: ResumeInput, ids: readonly ColumnId[], runs: readonly TouchedRun[]): Promise<void> {
  const { session, layout } = input;
  const joined = runs.flatMap(({ run, partitions, counts }, position) =>
    counts.reread === 0n ? [] : [{ run, partitions, position, alias: `anew${position + 1}` }],
  );
  const marks = joined.map(({ position, alias }) => `${alias}."reread" AS ${flag(position)}`);
  // With one run only, the join can keep the table's other rows from being read.
  const join = joined.length === 1 ? "JOIN" : "LEFT JOIN";
  const joins = joined.map(
    ({ run, partitions, alias }) =>
      `${join} temp.${q(partitions)} AS ${alias} ON ${inPartition(run, alias)} AND ${alias}."reread"`,
  );
  const any = joined.map(({ alias }) => `${alias}."reread"`).join(" OR ");
  const stored = storedRows(
    input,
    layout.columns.map(({ id }) => id),
  );
  const columns = ["data.*", ...marks, `row_number() OVER (PARTITION BY ${ids.map(q).join(", ")}) AS "copy"`];
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${q(AFFECTED)} AS SELECT ${columns.join(", ")} FROM (${stored}) AS data ${joins.join(" ")} WHERE ${any}`,
  );
  const equal = ids.map((id) => `affected.${q(id)} IS NOT DISTINCT FROM gone.${q(id)}`).join(" AND ");
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(KEPT)} AS SELECT affected.* FROM temp.${q(AFFECTED)} AS affected
    WHERE NOT EXISTS (SELECT 1 FROM temp.${q(CHANGES)} AS gone WHERE ${equal} AND affected."copy" <= -gone.${WEIGHT})`);
  const { found, expected } = await session.row<{ found: bigint; expected: bigint }>(`
    SELECT (SELECT count(*) FROM temp.${q(AFFECTED)}) - (SELECT count(*) FROM temp.${q(KEPT)}) AS found,
           (SELECT CAST(coalesce(-sum(${WEIGHT}), 0) AS BIGINT) FROM temp.${q(CHANGES)} WHERE ${WEIGHT} < 0) AS expected`);
  if (found !== expected) throw tableAltered(input.view, expected, found);
}

/** The rows that came and, where any partition is evaluated anew, those that are kept of it, with all their values. */
function rowsAfter(ids: readonly ColumnId[], runs: readonly TouchedRun[], anew: boolean): string {
  const list = ids.map(q);
  const values = runs.flatMap(({ run, values: table }, position) =>
    run.columns.map(({ id, type }) =>
      table === null ? `CAST(NULL AS ${type}) AS ${q(id)}` : `next${position + 1}.${q(id)}`,
    ),
  );
  const flags = runs.map((_, position) => `touched${position + 1}."reread" AS ${flag(position)}`);
  const joins = runs.map(({ run, partitions, values: table }, position) => {
    const touched = `touched${position + 1}`;
    const next = `next${position + 1}`;
    const join = `JOIN temp.${q(partitions)} AS ${touched} ON ${inPartition(run, touched)}`;
    return table === null
      ? join
      : `${join} LEFT JOIN temp.${q(table)} AS ${next} ON came.${q(NUMBER)} = ${next}.${q(NUMBER)}`;
  });
  const came = `SELECT ${[...list.map((id) => `came.${id}`), ...values, ...flags].join(", ")} FROM temp.${q(CAME)} AS came ${joins.join(" ")}`;
  if (!anew) return came;
  const kept = `SELECT ${[
    ...list,
    ...runs.flatMap(({ run }) => run.columns.map(({ id }) => q(id))),
    ...runs.map(({ counts }, position) =>
      counts.reread === 0n ? `false AS ${flag(position)}` : `coalesce(${flag(position)}, false) AS ${flag(position)}`,
    ),
  ].join(", ")} FROM temp.${q(KEPT)}`;
  const fresh = runs.flatMap(({ run, counts }, position) =>
    run.columns.map(({ id, expression }) =>
      counts.reread === 0n ? q(id) : `CASE WHEN ${flag(position)} THEN ${expression.sql} ELSE ${q(id)} END AS ${q(id)}`,
    ),
  );
  return `SELECT ${[...list, ...fresh].join(", ")} FROM (${came} UNION ALL ${kept})`;
}
