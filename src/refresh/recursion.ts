import { WEIGHT } from "../catalog/consolidate.js";
import type { DeltaContext } from "../delta/contract.js";
import { derive } from "../delta/derive.js";
import { anchorRows, firstRound, stepRows } from "../delta/recursion.js";
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { RefreshError } from "../errors.js";
import type { Recursion } from "../plan/recursion.js";
import { renderConsolidated, renderRelation } from "../render/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import { recursionDifference } from "../view/beside.js";
import type { ViewPlan } from "../view/plan-view.js";
import type { RecursiveTable } from "../view/recursive.js";
import { decode } from "../view/visible.js";
import { type Instants, type OwnRows, type RunSource, SourceLeaves } from "./sources.js";

export interface RecursionInput {
  readonly session: Session;
  readonly engine: Engine;
  readonly view: string;
  readonly plan: ViewPlan;
  readonly sources: ReadonlyMap<string, RunSource>;
  readonly instants: Instants;
  /** The layout's tables of recursions, and what they are called in FROM. */
  readonly tables: readonly RecursiveTable[];
  readonly paths: readonly string[];
}

/** The code of the error for a change that takes rows away which a recursion may have gone through. */
export const RECURSION_LOST = "recursion_lost";

/**
 * Rounds that are followed one by one, each leaving out what is stored, so that rows that lead back to it end them.
 * What still goes on after them is deep, and is followed to its end by one statement.
 */
const SINGLE_ROUNDS = 8;

const SEED = "ivm_recursion_seed";
const FRONT = "ivm_recursion_front";
const NEXT = "ivm_recursion_next";
const FOUND = "ivm_recursion_found";
const ROUNDS = q("ivm rounds");

/** The rows of every recursion of a plan, in order: as stored, and by what semi-naive steps add to them. */
export async function moveRecursions(
  input: RecursionInput,
  contextOf: (own: ReadonlyMap<string, OwnRows>) => DeltaContext,
): Promise<ReadonlyMap<string, OwnRows>> {
  const own = new Map<string, OwnRows>();
  for (const recursion of input.plan.recursions ?? []) {
    const { table, path, index } = storedIn(input, recursion);
    const held = heldRows(recursion, table, path);
    own.set(recursion.iteration, { old: held, new: held, delta: null });
    await findFirst(input, recursion, contextOf(own), own, held);
    await followRounds(input, recursion, own, held);
    const found = await keepFound(input.session, recursion, table, index);
    own.delete(recursion.iteration);
    own.set(
      recursion.source,
      found.rows === 0n ? { old: held, new: held, delta: null } : grown(held, found.delta, recursion),
    );
  }
  for (const table of [SEED, FRONT, NEXT, FOUND]) await input.session.run(`DROP TABLE IF EXISTS temp.${q(table)}`);
  return own;
}

/** Evaluates every recursion of a plan over the sources at the horizon, into temporary tables. */
export async function evaluateRecursions(input: RecursionInput): Promise<ReadonlyMap<string, OwnRows>> {
  const own = new Map<string, OwnRows>();
  for (const [position, recursion] of (input.plan.recursions ?? []).entries()) {
    const target = evaluatedTable(position);
    const anchor = named(recursion, renderRelation(anchorRows(recursion), leavesOf(input, own)));
    await input.session.run(
      `CREATE OR REPLACE TEMP TABLE ${q(target)} AS\n${closure(input, recursion, own, anchor)}\nSELECT * FROM ${ROUNDS}`,
    );
    const rows = `temp.${q(target)}`;
    own.set(recursion.source, { old: rows, new: rows, delta: null });
  }
  return own;
}

/** For each table beside the physical one, a SELECT of its rows as values, once the recursions are evaluated. */
export function recursionRows(input: RecursionInput): { table: RecursiveTable; index: number; rows: string }[] {
  return (input.plan.recursions ?? []).flatMap((recursion, position) => {
    const { table, index } = storedIn(input, recursion);
    const columns = table.columns.map((column, at) => `${q(recursion.columns[at] ?? "")} AS ${q(column.name)}`);
    const rows = `SELECT ${columns.join(", ")} FROM temp.${q(evaluatedTable(position))}`;
    return table.beside ? [{ table, index, rows }] : [];
  });
}

/** Temporary tables that a refresh may leave behind. */
export function recursionTables(plan: ViewPlan | null): string[] {
  return (plan?.recursions ?? []).flatMap((_, position) => [evaluatedTable(position), recursionDifference(position)]);
}

/** The stored rows under the recursion's own names, as they stand in FROM. */
export function heldRows(recursion: Recursion, table: RecursiveTable, path: string): string {
  const columns = table.columns.map((column, at) => `${decode(column)} AS ${q(recursion.columns[at] ?? "")}`);
  return `(SELECT ${columns.join(", ")} FROM ${path})`;
}

/** Stored rows and those that were found, each once. */
function grown(held: string, delta: string, recursion: Recursion): OwnRows {
  const columns = recursion.columns.map(q).join(", ");
  return { old: held, new: `(SELECT * FROM ${held} UNION ALL SELECT ${columns} FROM ${delta})`, delta };
}

function evaluatedTable(position: number): string {
  return `ivm_recursion${position + 1}`;
}

function storedIn(input: RecursionInput, recursion: Recursion): { table: RecursiveTable; path: string; index: number } {
  const index = input.tables.findIndex((candidate) => candidate.source === recursion.source);
  const [table, path] = [input.tables[index], input.paths[index]];
  if (table === undefined || path === undefined) throw new TypeError(`the recursion ${recursion.name} is not stored`);
  return { table, path, index };
}

function leavesOf(input: RecursionInput, own: ReadonlyMap<string, OwnRows>): SourceLeaves {
  return new SourceLeaves(input.sources, input.instants, own);
}

/** Rows whose columns are the anchor's ids, under the recursion's own names. */
function named(recursion: Recursion, rows: string): string {
  const columns = recursion.anchor.output.map((id, at) => `${q(id)} AS ${q(recursion.columns[at] ?? "")}`);
  return `SELECT ${columns.join(", ")} FROM (\n${rows}\n)`;
}

/** What one step makes of rows that stand in FROM under the recursion's own names. */
function stepOver(
  input: RecursionInput,
  recursion: Recursion,
  own: ReadonlyMap<string, OwnRows>,
  rows: string,
): string {
  const inside = new Map(own).set(recursion.iteration, { old: rows, new: rows, delta: null });
  return named(recursion, renderRelation(stepRows(recursion), leavesOf(input, inside)));
}

/** WITH the rows that all steps together make of some rows, those included. */
function closure(input: RecursionInput, recursion: Recursion, own: ReadonlyMap<string, OwnRows>, rows: string): string {
  const columns = recursion.columns.map(q).join(", ");
  const step = stepOver(input, recursion, own, ROUNDS);
  return `WITH RECURSIVE ${ROUNDS}(${columns}) AS (\n(${rows})\nUNION\n(${step})\n)`;
}

/** ΔR₀: what the changed anchor and one step over the stored rows add. @throws RefreshError `recursion_lost`. */
async function findFirst(
  input: RecursionInput,
  recursion: Recursion,
  context: DeltaContext,
  own: ReadonlyMap<string, OwnRows>,
  held: string,
): Promise<void> {
  const { session } = input;
  const columns = recursion.columns.map(q).join(", ");
  await session.run(`CREATE OR REPLACE TEMP TABLE ${q(FRONT)} AS SELECT * FROM ${held} LIMIT 0`);
  for (const { terms, output, from } of firstRound(recursion, context, derive)) {
    if (terms.length === 0) continue;
    const rows = renderConsolidated(terms, [...from, ...output], leavesOf(input, own));
    await session.run(`CREATE OR REPLACE TEMP TABLE ${q(SEED)} AS ${rows}`);
    const [lost] = await session.rows(`SELECT 1 FROM temp.${q(SEED)} WHERE "weight" < 0 LIMIT 1`);
    if (lost !== undefined) throw lostRows(input.view, recursion);
    const list = output.map(q).join(", ");
    await session.run(`INSERT INTO temp.${q(FRONT)} SELECT DISTINCT ${list} FROM temp.${q(SEED)}`);
  }
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${q(FOUND)} AS SELECT DISTINCT ${columns} FROM temp.${q(FRONT)} AS rows ${without(recursion, held)}`,
  );
  await session.run(`CREATE OR REPLACE TEMP TABLE ${q(FRONT)} AS FROM temp.${q(FOUND)}`);
}

function lostRows(view: string, recursion: Recursion): RefreshError {
  return new RefreshError(
    RECURSION_LOST,
    `View ${view}: rows went that the recursion ${recursion.name} may have gone through.`,
    { subject: { view }, hint: "The view is recomputed." },
  );
}

/** ΔR₁, ΔR₂ … until a round finds nothing new. */
async function followRounds(
  input: RecursionInput,
  recursion: Recursion,
  own: ReadonlyMap<string, OwnRows>,
  held: string,
): Promise<void> {
  const { session } = input;
  const add = async (rows: string): Promise<boolean> => {
    await session.run(
      `CREATE OR REPLACE TEMP TABLE ${q(NEXT)} AS ${rows} ${without(recursion, held)} ${without(recursion, `temp.${q(FOUND)}`)}`,
    );
    await session.run(`INSERT INTO temp.${q(FOUND)} FROM temp.${q(NEXT)}`);
    await session.run(`CREATE OR REPLACE TEMP TABLE ${q(FRONT)} AS FROM temp.${q(NEXT)}`);
    return hasRows(session, NEXT);
  };
  const step = stepOver(input, recursion, own, `temp.${q(FRONT)}`);
  if (!(await hasRows(session, FRONT))) return;
  for (let round = 0; round < SINGLE_ROUNDS; round += 1) {
    if (!(await add(`SELECT DISTINCT * FROM (\n${step}\n) AS rows`))) return;
  }
  const rest = closure(input, recursion, own, `SELECT * FROM temp.${q(FRONT)}`);
  await input.engine.rules.recursing(session, () => add(`${rest}\nSELECT * FROM ${ROUNDS} AS rows`));
}

function without(recursion: Recursion, rows: string): string {
  const match = recursion.columns.map((name) => `rows.${q(name)} IS NOT DISTINCT FROM known.${q(name)}`);
  return `ANTI JOIN ${rows} AS known ON ${match.join(" AND ")}`;
}

async function hasRows(session: Session, table: string): Promise<boolean> {
  return (await session.rows(`SELECT 1 FROM temp.${q(table)} LIMIT 1`)).length > 0;
}

/** Keeps what was found as the difference of the table in which the recursion is stored. */
async function keepFound(
  session: Session,
  recursion: Recursion,
  table: RecursiveTable,
  index: number,
): Promise<{ rows: bigint; delta: string }> {
  const target = `temp.${q(recursionDifference(index))}`;
  const names = table.columns.map((column, at) => [q(recursion.columns[at] ?? ""), q(column.name)] as const);
  const columns = names.map(([own, stored]) => `${own} AS ${stored}`).join(", ");
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${q(recursionDifference(index))} AS SELECT ${columns}, CAST(1 AS BIGINT) AS ${q(WEIGHT)} FROM temp.${q(FOUND)}`,
  );
  const { rows } = await session.row<{ rows: bigint }>(`SELECT count(*) AS rows FROM ${target}`);
  const back = names.map(([own, stored]) => `${stored} AS ${own}`).join(", ");
  return { rows, delta: `(SELECT ${back}, ${q(WEIGHT)} FROM ${target})` };
}
