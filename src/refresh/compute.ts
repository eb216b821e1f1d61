import { WEIGHT } from "../catalog/source-delta.js";

import type { DeltaContext } from "../delta/contract.js";
import { derive } from "../delta/derive.js";
import type { Session } from "../engine/session.js";
import { ColumnIds, type Relation } from "../plan/relation.js";
import { renderConsolidated, renderRelation } from "../render/relation.js";
import type { Ast } from "../sql/ast.js";
import { parseJson } from "../sql/json.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { StoredDefinition } from "../view/definition.js";
import type { ViewPlan } from "../view/plan-view.js";
import type { PhysicalColumn } from "../view/states.js";
import { columnNames, pinTime } from "../view/time.js";
import { moveCandidates } from "./candidates.js";
import { countedDifference, DIFFERENCE, fillDifference, presentRows } from "./difference.js";
import { foldGroups } from "./fold.js";
import { type Instants, type RunSource, SourceLeaves, statementAtHorizon } from "./sources.js";

export interface ComputeInput {
  readonly session: Session;
  readonly definition: StoredDefinition;
  readonly sources: ReadonlyMap<string, RunSource>;
  /** The physical table, as it stands in FROM. */
  readonly table: string;
  /** The tables of counted values, likewise. */
  readonly counted: readonly string[];
  readonly instants: Instants;
}

/** A SELECT of the physical rows (values, not as stored) that the definition gives over the sources at the horizon. */
export async function physicalRows(input: ComputeInput): Promise<string> {
  const { definition, session, sources } = input;
  const { layout } = definition;
  const relation = layout.groups?.aggregate ?? layout.rows;
  if (relation !== null) return selectNamed(relation, layout.columns, sources, input.instants);
  const sql = await statementAtHorizon(session, pinnedStatement(definition, input.instants.new), sources);
  // The physical names, which differ from the visible ones where those would hide columns of DuckLake's own.
  const names = layout.columns.map((column) => quoteIdentifier(column.name)).join(", ");
  return `SELECT ${names} FROM (${sql}) AS rows(${names})`;
}

/** For each table of counted values a SELECT of its rows, as `physicalRows`. */
export function countedRows({ definition, sources, instants }: ComputeInput): string[] {
  return (definition.layout.counted ?? []).map(({ rows, columns }) => selectNamed(rows, columns, sources, instants));
}

function selectNamed(
  relation: Relation,
  columns: readonly PhysicalColumn[],
  sources: ComputeInput["sources"],
  instants: Instants,
): string {
  const names = columns.map((column) => `${quoteIdentifier(column.id)} AS ${quoteIdentifier(column.name)}`);
  return `SELECT ${names.join(", ")} FROM (\n${renderRelation(relation, new SourceLeaves(sources, instants))}\n)`;
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
  await fillDifference(input.session, layout, await physicalRows(input), presentRows(layout, input.table));
  for (const [index, rows] of countedRows(input).entries()) {
    const [table, present] = [layout.counted?.[index], input.counted[index]];
    if (table === undefined || present === undefined) throw new TypeError("every table of counted values has a name");
    await fillDifference(input.session, table, rows, presentRows(table, present), countedDifference(index));
  }
}

/** Fills DIFFERENCE from the deltas of the sources. */
export async function computeIncremental(input: ComputeInput, plan: ViewPlan): Promise<void> {
  const { layout } = input.definition;
  const context = deltaContext(plan, input.sources, input.instants);
  const leaves = new SourceLeaves(input.sources, input.instants);
  if (layout.groups !== null) {
    await foldGroups({ ...input, view: input.definition.name, layout, groups: layout.groups, plan, context, leaves });
    return;
  }
  if (layout.candidates !== undefined) {
    const { candidates } = layout;
    await moveCandidates({ ...input, view: input.definition.name, layout, candidates, context, leaves });
    return;
  }
  const ids = layout.rows === null ? plan.output : layout.columns.map((column) => column.id);
  const sql = renderConsolidated(derive(layout.rows ?? plan.relation, context), ids, leaves);
  const columns = layout.columns.map(
    (column, index) => `${quoteIdentifier(ids[index] ?? "")} AS ${quoteIdentifier(column.name)}`,
  );
  await input.session.run(
    `CREATE OR REPLACE TEMP TABLE ${quoteIdentifier(DIFFERENCE)} AS SELECT ${columns.join(", ")}, "weight" AS ${quoteIdentifier(WEIGHT)} FROM (\n${sql}\n)`,
  );
}

export function deltaContext(
  plan: ViewPlan,
  sources: ReadonlyMap<string, RunSource>,
  instants: Instants,
): DeltaContext {
  return {
    timeMoves: instants.old !== instants.new,
    changed: (source: string): boolean => (sources.get(source)?.delta ?? null) !== null,
    ids: new ColumnIds(plan.nextId),
    typeOf: (id: string): string => plan.types[id] ?? "VARCHAR",
  };
}
