import type { Session } from "../engine/session.js";
import { IvmError } from "../errors.js";
import { Lowering } from "../plan/lower.js";
import { prune } from "../plan/prune.js";
import { type Recursion, type RowsOf, usedRecursions } from "../plan/recursion.js";
import {
  type Aggregate,
  type ColumnId,
  columnExpression,
  inputsOf,
  type NamedExpression,
  outputOf,
  type Relation,
  type UnionAll,
  type Window,
  withInputs,
} from "../plan/relation.js";
import { placeTime } from "../plan/time.js";
import { Unsupported } from "../plan/unsupported.js";
import { renderRelation } from "../render/relation.js";
import { type Ast, child } from "../sql/ast.js";
import type { FunctionCatalog } from "../sql/functions.js";
import { printExpressions, printStatement } from "../sql/parse.js";
import { typedNulls } from "../sql/quote.js";
import type { Reason } from "../types.js";
import { storageTypes } from "./storage-types.js";

/** A column of a source or of a view's result, with DuckDB's name of its type. */
export interface TypedColumn {
  readonly name: string;
  readonly type: string;
}

/** A definition in the algebra; plain data that is stored with the definition. */
export interface ViewPlan {
  readonly relation: Relation;
  /** The ids of the visible columns, in their order. */
  readonly output: readonly ColumnId[];
  readonly types: Readonly<Record<ColumnId, string>>;
  /** Recursive common table expressions, each after those that it reads; plans of old have none. */
  readonly recursions?: readonly Recursion[];
  /** Where the numbering of new column ids goes on. */
  readonly nextId: number;
}

export type PlanResult = { readonly plan: ViewPlan } | { readonly plan: null; readonly reason: Reason };

export type SourceColumnTypes = (source: string) => readonly TypedColumn[];

/** Plans a bound statement, in which `CLOCK` stands for the time; a form without an incremental rule gives the reason instead. */
export async function planView(
  session: Session,
  statement: Ast,
  functions: FunctionCatalog,
  columnsOf: SourceColumnTypes,
  expected: readonly TypedColumn[],
): Promise<PlanResult> {
  const lowering = new Lowering(functions, (source) => columnsOf(source).map((column) => column.name));
  const types: Types = {};
  try {
    const query = lowering.query(child(statement, "node"), new Map());
    const output = query.columns.map((column) => column.id);
    await print(session, lowering);
    const pruned = tidy(query.relation, output);
    const recursions = usedRecursions(pruned, [...lowering.recursions.values()].map(tidyRecursion));
    const plan = numberScans(pruned, recursions);
    const typedRecursions = await annotateRecursions(session, plan.recursions, types, columnsOf);
    const relation = await annotate(session, plan.relation, types, withRecursions(plan.recursions, types, columnsOf));
    checkTypes(output, types, expected);
    const shared = { output, types, nextId: lowering.ids.position };
    return { plan: { relation, ...shared, ...(recursions.length === 0 ? {} : { recursions: typedRecursions }) } };
  } catch (error) {
    if (error instanceof Unsupported) return { plan: null, reason: error.reason };
    // DuckDB ran the definition itself, so a plan that it refuses is wrong, and the definition is left to DuckDB.
    if (error instanceof IvmError && error.code === "engine_error") {
      const unwritable = (await storageTypes(session, Object.values(types))).find(({ kind }) => kind === "unwritable");
      if (unwritable !== undefined) return { plan: null, reason: unwritableReason(unwritable.type) };
      const text = `the plan is not one that DuckDB takes: ${error.message.split("\n")[0]}`;
      return { plan: null, reason: { code: "plan_mismatch", text } };
    }
    throw error;
  }
}

/** Of values that no table can hold, neither a view's own nor a temporary one of a refresh. */
export function unwritableReason(type: string): Reason {
  const text = `values of the type ${type}, whose fields have no names, can't be kept`;
  return { code: "unnamed_fields", text };
}

async function print(session: Session, lowering: Lowering): Promise<void> {
  const expressions = lowering.unprinted.filter((item) => !item.statement);
  const texts = await printExpressions(
    session,
    expressions.map((item) => item.ast),
  );
  expressions.forEach((item, index) => {
    item.target.sql = texts[index] ?? "";
  });
  for (const item of lowering.unprinted) {
    if (item.statement) item.target.sql = await printStatement(session, item.ast);
  }
}

/** The relation without what it does not need. Through JSON: the printed text is copied in, and it is proved to be plain data. */
function tidy(relation: Relation, output: readonly ColumnId[]): Relation {
  const printed = JSON.parse(JSON.stringify(relation)) as Relation;
  return prune(placeTime(printed), new Set(output));
}

/** A recursion needs all its columns, since they make its rows different. */
function tidyRecursion(recursion: Recursion): Recursion {
  const tidied = ({ relation, output }: RowsOf): RowsOf => ({ relation: tidy(relation, output), output });
  return { ...recursion, anchor: tidied(recursion.anchor), step: tidied(recursion.step) };
}

/** Numbers the scans anew from 1, in the order of the plan. */
function numberScans(
  relation: Relation,
  recursions: readonly Recursion[],
): { relation: Relation; recursions: readonly Recursion[] } {
  let next = 0;
  const number = (node: Relation): Relation => {
    if (node.kind === "scan") {
      next += 1;
      return { ...node, occurrence: next };
    }
    return withInputs(node, inputsOf(node).map(number));
  };
  const numbered = (rows: RowsOf): RowsOf => ({ ...rows, relation: number(rows.relation) });
  return {
    relation: number(relation),
    recursions: recursions.map((recursion) => ({
      ...recursion,
      anchor: numbered(recursion.anchor),
      step: numbered(recursion.step),
    })),
  };
}

type Types = Record<ColumnId, string>;

/** The columns of tables, and of recursions whose anchors have types by now. */
function withRecursions(
  recursions: readonly Recursion[],
  types: Readonly<Types>,
  columnsOf: SourceColumnTypes,
): SourceColumnTypes {
  return (source) => {
    const recursion = recursions.find((candidate) => [candidate.source, candidate.iteration].includes(source));
    if (recursion === undefined) return columnsOf(source);
    const ids = recursion.anchor.output;
    return recursion.columns.map((name, index) => ({ name, type: types[ids[index] ?? ""] ?? "VARCHAR" }));
  };
}

/** As `annotate`. The rows of a step are cast to the types of the anchor, as DuckDB does. */
async function annotateRecursions(
  session: Session,
  recursions: readonly Recursion[],
  types: Types,
  tables: SourceColumnTypes,
): Promise<readonly Recursion[]> {
  const columnsOf = withRecursions(recursions, types, tables);
  const typed: Recursion[] = [];
  for (const recursion of recursions) {
    const anchor = await annotate(session, recursion.anchor.relation, types, columnsOf);
    const step = await annotate(session, recursion.step.relation, types, columnsOf);
    const { output } = recursion.step;
    const target = recursion.anchor.output.map((id) => types[id] ?? "VARCHAR");
    typed.push({
      ...recursion,
      anchor: { ...recursion.anchor, relation: anchor },
      step: castRows({ relation: step, output }, target, types),
    });
  }
  return typed;
}

function castRows(rows: RowsOf, target: readonly string[], types: Types): RowsOf {
  if (rows.output.every((id, index) => types[id] === target[index])) return rows;
  const columns = rows.output.map((id, index) => {
    const cast = { id: `${id}.cast`, sql: `CAST(${columnExpression(id).sql} AS ${target[index]})` };
    types[cast.id] = target[index] ?? "VARCHAR";
    return { id: cast.id, expression: { sql: cast.sql, columns: [id] } };
  });
  return {
    relation: { kind: "project", input: rows.relation, columns },
    output: columns.map((column) => column.id),
  };
}

/**
 * Has DuckDB bind each operator over stand-ins for its inputs, which gives every column's type without touching the
 * lake; branches of a union get the casts that the union as a whole would make.
 */
async function annotate(
  session: Session,
  root: Relation,
  types: Types,
  columnsOf: SourceColumnTypes,
): Promise<Relation> {
  const visit = async (node: Relation): Promise<Relation> => {
    if (node.kind === "scan") {
      const columns = columnsOf(node.source);
      for (const column of node.columns) {
        types[column.id] = columns.find((candidate) => candidate.name === column.name)?.type ?? "VARCHAR";
      }
      return node;
    }
    const inputs: Relation[] = [];
    for (const input of inputsOf(node)) inputs.push(await visit(input));
    const typed = withInputs(node, inputs);
    const standIns = withInputs(
      typed,
      inputs.map((input) => standIn(outputOf(input), types)),
    );
    const sql = renderRelation(standIns, NO_LEAVES);
    const described = await session.rows<{ column_name: string; column_type: string }>(`DESCRIBE ${sql}`);
    for (const column of described) types[column.column_name] ??= column.column_type;
    if (typed.kind === "aggregate") await annotateArguments(session, typed, types);
    if (typed.kind === "window") return annotateWindow(session, typed, types);
    return typed.kind === "union-all" ? castBranches(typed, types) : typed;
  };
  return visit(root);
}

/** The types of each aggregate's arguments, under the keys that `argumentKey` gives. */
async function annotateArguments(session: Session, node: Aggregate, types: Types): Promise<void> {
  const columns = node.calls.flatMap((call) =>
    call.arguments.map((argument, index) => ({ id: argumentKey(call.id, index), expression: argument })),
  );
  if (columns.length === 0) return;
  const input = standIn(outputOf(node.input), types);
  const sql = renderRelation({ kind: "project", input, columns }, NO_LEAVES);
  const described = await session.rows<{ column_name: string; column_type: string }>(`DESCRIBE ${sql}`);
  for (const column of described) types[column.column_name] = column.column_type;
}

/**
 * The types of what window functions are ordered by, under `orderKey`, and of the states that they can go on from. They
 * go on from nothing where the values of PARTITION BY are of a type that no table can hold.
 */
async function annotateWindow(session: Session, node: Window, types: Types): Promise<Window> {
  const input = standIn(outputOf(node.input), types);
  const describe = async (columns: readonly NamedExpression[]): Promise<string[]> => {
    if (columns.length === 0) return [];
    const sql = renderRelation({ kind: "project", input, columns }, NO_LEAVES);
    const described = await session.rows<{ column_name: string; column_type: string }>(`DESCRIBE ${sql}`);
    for (const column of described) types[column.column_name] = column.column_type;
    return described.map((column) => column.column_type);
  };
  for (const { id, orders = [], rule } of node.columns) {
    await describe(orders.map(({ expression }, index) => ({ id: orderKey(id, index), expression })));
    try {
      await describe(rule?.rule === "running" ? rule.states : []);
    } catch (error) {
      // An average of what can't be summed: without the type of its states it does not go on from them.
      if (!(error instanceof IvmError && error.code === "engine_error")) throw error;
    }
  }
  const computed = node.partition.filter(({ ref }) => ref === undefined);
  const partition = await describe(
    computed.map((expression, index) => ({ id: `${node.columns[0]?.id}.partition${index + 1}`, expression })),
  );
  const unwritable = (await storageTypes(session, partition)).find(({ kind }) => kind === "unwritable");
  if (unwritable === undefined) return node;
  const rule = {
    rule: "whole",
    why: `the partitions are by values of the type ${unwritable.type}, which can't be kept`,
  } as const;
  return { ...node, columns: node.columns.map((column) => ({ ...column, rule })) };
}

/** Where `ViewPlan.types` has the type of what a window function is ordered by. */
export function orderKey(window: ColumnId, index: number): string {
  return `${window}.order${index + 1}`;
}

/** Where `ViewPlan.types` has the type of an argument of an aggregate call. */
export function argumentKey(call: ColumnId, index = 0): string {
  return index === 0 ? `${call}.argument` : `${call}.argument${index + 1}`;
}

const NO_LEAVES = {
  scan: (): string => {
    throw new TypeError("a scan has no stand-in");
  },
  deltaScan: (): string => {
    throw new TypeError("a delta scan has no stand-in");
  },
  instant: (): string => "CAST(NULL AS TIMESTAMP WITH TIME ZONE)",
};

function standIn(columns: readonly ColumnId[], types: Readonly<Record<ColumnId, string>>): Relation {
  const list = typedNulls(columns.map((id) => ({ name: id, type: types[id] ?? "INTEGER" })));
  return { kind: "constant", sql: `SELECT ${list === "" ? "1" : list}`, columns };
}

function castBranches(union: UnionAll, types: Readonly<Record<ColumnId, string>>): UnionAll {
  return {
    ...union,
    branches: union.branches.map((branch) => {
      const differs = branch.columns.some((id, index) => types[id] !== types[union.columns[index] ?? ""]);
      if (!differs) return branch;
      const columns = branch.columns.map((id, index) => {
        const target = union.columns[index] ?? "";
        return {
          id: target,
          expression: { sql: `CAST(${columnExpression(id).sql} AS ${types[target]})`, columns: [id] },
        };
      });
      return { columns: union.columns, input: { kind: "project", input: branch.input, columns } };
    }),
  };
}

/** The plan must give what DuckDB itself says of the definition; else the definition is not ours to rewrite. */
function checkTypes(
  output: readonly ColumnId[],
  types: Readonly<Record<ColumnId, string>>,
  expected: readonly TypedColumn[],
): void {
  const mismatch = expected.find((column, index) => types[output[index] ?? ""] !== column.type);
  if (mismatch !== undefined || output.length !== expected.length) {
    throw new Unsupported(
      "plan_mismatch",
      `the plan does not give the type that DuckDB gives for ${mismatch?.name ?? "every column"}`,
    );
  }
}
