import { WEIGHT } from "../catalog/consolidate.js";

import type { DeltaContext } from "../delta/contract.js";
import { derive } from "../delta/derive.js";
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { createFromRows } from "../engine/sparing.js";
import { ColumnIds, type Relation } from "../plan/relation.js";
import { consolidated, renderRelation, renderTerms } from "../render/relation.js";
import type { Ast } from "../sql/ast.js";
import { parseJson } from "../sql/json.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { PartitionCounts } from "../types.js";
import { countedDifference, recursionDifference } from "../view/beside.js";
import type { StoredDefinition } from "../view/definition.js";
import type { ViewPlan } from "../view/plan-view.js";
import type { PhysicalColumn } from "../view/states.js";
import { columnNames, pinTime } from "../view/time.js";
import { moveCandidates } from "./candidates.js";
import { DIFFERENCE, fillDifference, presentRows, type Stored } from "./difference.js";
import { foldGroups } from "./fold.js";
import type { Large } from "./large-tables.js";
import { evaluateRecursions, moveRecursions, type RecursionInput, recursionRows } from "./recursion.js";
import { resumeWindows } from "./resume.js";
import { type Instants, type OwnRows, type RunSource, SourceLeaves, statementAtHorizon } from "./sources.js";

export interface ComputeInput {
  readonly session: Session;
  readonly engine: Engine;
  readonly definition: StoredDefinition;
  readonly sources: ReadonlyMap<string, RunSource>;
  /** The physical table, as it stands in FROM. */
  readonly table: string;
  /** The tables of counted values, likewise. */
  readonly counted: readonly string[];
  /** The tables of recursions, likewise. */
  readonly recursions: readonly string[];
  readonly large: Large;
  readonly instants: Instants;
}

/** SELECTs of rows (values, not as stored) that the definition gives over the sources at the horizon. */
export interface DefinedRows {
  readonly physical: string;
  /** Of the tables beside the physical one. */
  readonly beside: readonly {
    readonly stored: Stored;
    readonly path: string;
    readonly difference: string;
    readonly rows: string;
  }[];
}

/** Evaluates recursions, which all else reads, into temporary tables; the rest is only written down. */
export async function definedRows(input: ComputeInput): Promise<DefinedRows> {
  const { layout, plan } = input.definition;
  const recursions = recursionInput(input);
  const own = recursions === null ? undefined : await evaluateRecursions(recursions);
  const leaves = new SourceLeaves(input.sources, input.instants, own);
  const counted = (layout.counted ?? []).map((table, position) => ({
    stored: table,
    path: input.counted[position] ?? "",
    difference: countedDifference(position),
    rows: selectNamed(table.rows, table.columns, leaves),
  }));
  const recursive = (recursions === null ? [] : recursionRows(recursions)).map(({ table, index, rows }) => ({
    stored: table,
    path: input.recursions[index] ?? "",
    difference: recursionDifference(index),
    rows,
  }));
  const beside = [...counted, ...recursive];
  const relation = layout.groups?.aggregate ?? layout.rows;
  if (relation !== null) return { physical: selectNamed(relation, layout.columns, leaves), beside };
  if (plan === null || own === undefined) return { physical: await statementRows(input), beside };
  const columns = layout.columns.map((column, index) => ({ ...column, id: plan.output[index] ?? "" }));
  return { physical: selectNamed(plan.relation, columns, leaves), beside };
}

/** What the recursions of the view are kept with; null where it has none. */
function recursionInput(input: ComputeInput): RecursionInput | null {
  const { plan, layout, name: view } = input.definition;
  const { session, engine, sources, instants } = input;
  if (plan === null || layout.recursions === undefined) return null;
  return { session, engine, view, plan, sources, instants, tables: layout.recursions, paths: input.recursions };
}

async function statementRows(input: ComputeInput): Promise<string> {
  const { definition, session, sources } = input;
  const { layout } = definition;
  const sql = await statementAtHorizon(session, pinnedStatement(definition, input.instants.new), sources);
  // The physical names, which differ from the visible ones where those would hide columns of DuckLake's own.
  const names = layout.columns.map((column) => quoteIdentifier(column.name)).join(", ");
  return `SELECT ${names} FROM (${sql}) AS rows(${names})`;
}

function selectNamed(relation: Relation, columns: readonly PhysicalColumn[], leaves: SourceLeaves): string {
  const names = columns.map((column) => `${quoteIdentifier(column.id)} AS ${quoteIdentifier(column.name)}`);
  return `SELECT ${names.join(", ")} FROM (\n${renderRelation(relation, leaves)}\n)`;
}

export function statementOf(definition: StoredDefinition): Ast {
  return parseJson(definition.statement) as Ast;
}

/** The statement, with the time that it asks for taken to be `instant`. */
export function pinnedStatement(definition: StoredDefinition, instant: string): Ast {
  const statement = statementOf(definition);
  return definition.usesTime ? pinTime(statement, instant, columnNames(definition.sources)) : statement;
}

/** The statement's rows under the view's own column names. */
export function namedRows(definition: StoredDefinition, sql: string): string {
  const columns = definition.columns.map((column) => quoteIdentifier(column.name)).join(", ");
  return `SELECT ${columns} FROM (${sql}) AS rows(${columns})`;
}

/** Fills DIFFERENCE with all that is wrong in the physical table: what it should hold minus what it holds. */
export async function computeRecompute(input: ComputeInput): Promise<void> {
  const { layout } = input.definition;
  const { physical, beside } = await definedRows(input);
  await fillDifference(input.session, layout, physical, presentRows(layout, input.table));
  for (const { stored, path, difference, rows } of beside) {
    await fillDifference(input.session, stored, rows, presentRows(stored, path), difference);
  }
}

/** Fills DIFFERENCE from the deltas of the sources. Gives the partitions of window functions that go by stored rows. */
export async function computeIncremental(input: ComputeInput, plan: ViewPlan): Promise<PartitionCounts | null> {
  const { layout } = input.definition;
  const { sources, instants } = input;
  const recursions = recursionInput(input);
  const contextOf = (own?: ReadonlyMap<string, OwnRows>): DeltaContext => deltaContext(plan, sources, instants, own);
  const own = recursions === null ? undefined : await moveRecursions(recursions, contextOf);
  const context = contextOf(own);
  const leaves = new SourceLeaves(sources, instants, own);
  const derived =
    layout.groups?.aggregate.input ?? layout.candidates?.input ?? layout.running?.input ?? layout.rows ?? plan.relation;
  // Sources of a recursion may change and its rows not, and then there is nothing to read.
  if (derive(derived, context).length === 0) return noDifference(input);
  if (layout.groups !== null) {
    await foldGroups({ ...input, view: input.definition.name, layout, groups: layout.groups, plan, context, leaves });
    return null;
  }
  if (layout.running !== undefined) {
    const { running } = layout;
    return resumeWindows({ ...input, view: input.definition.name, layout, running, context, leaves });
  }
  if (layout.candidates !== undefined) {
    const { candidates } = layout;
    await moveCandidates({ ...input, view: input.definition.name, layout, candidates, context, leaves });
    return null;
  }
  const ids = layout.rows === null ? plan.output : layout.columns.map((column) => column.id);
  const rows = renderTerms(derive(layout.rows ?? plan.relation, context), ids, leaves);
  const columns = layout.columns.map(
    (column, index) => `${quoteIdentifier(ids[index] ?? "")} AS ${quoteIdentifier(column.name)}`,
  );
  const names = [...columns, `"weight" AS ${quoteIdentifier(WEIGHT)}`].join(", ");
  await createFromRows(
    input.session,
    DIFFERENCE,
    rows,
    (from) => `SELECT ${names} FROM (\n${consolidated(ids, from)}\n)`,
  );
  return null;
}

async function noDifference({ session, definition: { layout }, table, counted }: ComputeInput): Promise<null> {
  const beside = (layout.counted ?? []).map((stored, position) => ({
    stored,
    rows: presentRows(stored, counted[position] ?? ""),
    target: countedDifference(position),
  }));
  for (const { stored, rows, target } of [
    { stored: layout, rows: presentRows(layout, table), target: DIFFERENCE },
    ...beside,
  ]) {
    const none = `SELECT * FROM (${rows}) LIMIT 0`;
    await fillDifference(session, stored, none, none, target);
  }
  return null;
}

export function deltaContext(
  plan: ViewPlan,
  sources: ReadonlyMap<string, RunSource>,
  instants: Instants,
  own: ReadonlyMap<string, OwnRows> = new Map(),
): DeltaContext {
  return {
    timeMoves: instants.old !== instants.new,
    changed: (source: string): boolean => ((own.get(source) ?? sources.get(source))?.delta ?? null) !== null,
    ids: new ColumnIds(plan.nextId),
    typeOf: (id: string): string => plan.types[id] ?? "VARCHAR",
  };
}
