import {
  type Aggregate,
  type ColumnId,
  columnExpression,
  expression,
  type NamedExpression,
  outputOf,
  type Relation,
  type Scan,
} from "../plan/relation.js";
import { StateBuilder, type StateOptions } from "./aggregate-states.js";
import { type Candidates, type Limited, splitAtLimit, storedRows } from "./limited.js";
import type { TypedColumn, ViewPlan } from "./plan-view.js";
import {
  besideRecursions,
  type OverRecursion,
  type RecursiveDraft,
  type RecursiveTable,
  recursionColumns,
  splitAtRecursion,
} from "./recursive.js";
import { type Running, type RunningOptions, runningOf } from "./running.js";
import {
  both,
  type CountedValue,
  type DraftColumn,
  type GroupState,
  HELPER_PREFIX,
  type PhysicalColumn,
  type StateColumns,
  storedName,
} from "./states.js";

/** What a view's physical table holds, and how the visible rows come from it. */
export interface Layout {
  readonly columns: readonly PhysicalColumn[];
  /** From the physical columns (a scan of `data`) to the visible ones. */
  readonly visible: Relation;
  readonly output: readonly (TypedColumn & { readonly id: ColumnId })[];
  /** Set where the table holds one row a group, with the state of its aggregates. */
  readonly groups: {
    readonly keys: readonly ColumnId[];
    readonly states: readonly GroupState[];
    /** Gives the physical rows from the sources. */
    readonly aggregate: Aggregate;
  } | null;
  /**
   * Set where the table holds more than the visible rows, which the view picks when it is read, by a LIMIT or from all
   * rows of a recursion: gives the physical rows from the sources. Null where groups are stored, or the visible rows themselves.
   */
  readonly rows: Relation | null;
  /** Set where `rows` are candidates for a LIMIT. */
  readonly candidates?: Candidates;
  /** Set where `rows` are those of window functions, whose values go on from the stored ones. */
  readonly running?: Running;
  /** Tables beside the physical one, for aggregates of distinct values; layouts of old have none. */
  readonly counted?: readonly CountedTable[];
  /** Where the rows of recursive common table expressions are; layouts of old have none. */
  readonly recursions?: readonly RecursiveTable[];
}

/** How many rows of each group have each value. */
export interface CountedTable extends CountedValue {
  /** The grouping keys, the value, and the number of its copies. */
  readonly columns: readonly PhysicalColumn[];
  readonly copies: ColumnId;
  /** Gives the rows from the sources. */
  readonly rows: Aggregate;
}

/** The name under which `Layout.visible` scans the physical table. */
const DATA_SOURCE = "data";

/** A layout without storage types, which need a connection to be found. */
export interface LayoutDraft extends Omit<Layout, "columns" | "counted" | "recursions"> {
  readonly columns: readonly DraftColumn[];
  readonly recursions?: readonly RecursiveDraft[];
  readonly counted?: readonly (Omit<CountedTable, "columns"> & { readonly columns: readonly DraftColumn[] })[];
}

/** One row a copy of each visible row. */
export function bagLayout(columns: readonly TypedColumn[]): LayoutDraft {
  const output = columns.map((column, index) => ({ ...column, id: `${column.name}#data${index + 1}` }));
  const physical = output.map((column) => ({ ...column, name: storedName(column.name) }));
  return { columns: physical, visible: dataScan(physical), output, groups: null, rows: null };
}

export interface LayoutOptions extends StateOptions, RunningOptions {
  /** The rows of window functions are stored with what the functions take. */
  readonly resumeWindows: boolean;
}

const DEFAULTS: LayoutOptions = { countDistinct: true, foldFloats: false, resumeWindows: true };

/** The layout for a plan: groups with state where the top is an aggregate, else rows. */
export function layoutOf(
  plan: ViewPlan,
  visible: readonly TypedColumn[],
  options: LayoutOptions = DEFAULTS,
): LayoutDraft {
  const top = peel(plan.relation);
  if (top !== undefined) return groupLayout(plan, top, visible, options);
  const limited = splitAtLimit(plan.relation);
  if (limited !== undefined) return limitLayout(plan, limited, visible);
  const recursion = splitAtRecursion(plan.relation);
  if (recursion !== undefined) return recursionLayout(plan, recursion, visible);
  const windows = options.resumeWindows ? windowLayout(plan, visible, options) : undefined;
  return { ...(windows ?? bagLayout(visible)), ...recursionsBeside(plan) };
}

/** The rows of window functions at the top, with all that the next values are made from. */
function windowLayout(
  plan: ViewPlan,
  visible: readonly TypedColumn[],
  options: RunningOptions,
): LayoutDraft | undefined {
  const found = runningOf(plan, options);
  if (found.running === null) return undefined;
  const columns = storedColumns(plan, found.rows, shownNames(plan, visible, found.top));
  return {
    columns,
    visible: found.above(dataScan(columns)),
    output: visible.map((column, index) => ({ ...column, id: plan.output[index] ?? "" })),
    groups: null,
    rows: found.rows,
    running: found.running,
  };
}

function storedColumns(plan: ViewPlan, stored: Relation, shown: ReadonlyMap<ColumnId, string>): DraftColumn[] {
  return outputOf(stored).map((id, index) => ({
    id,
    name: storedName(shown.get(id) ?? `${HELPER_PREFIX}column${index + 1}`),
    type: plan.types[id] ?? "VARCHAR",
  }));
}

function recursionsBeside(plan: ViewPlan, own?: RecursiveDraft): Pick<LayoutDraft, "recursions"> {
  const recursions = [...(own === undefined ? [] : [own]), ...besideRecursions(plan, own?.source)];
  // Without any the layout is what it always was, and so is its fingerprint.
  return recursions.length === 0 ? {} : { recursions };
}

/** All rows of the recursion are kept with all their columns, as its next steps need them; the view shows some of them. */
function recursionLayout(plan: ViewPlan, { scan, above }: OverRecursion, visible: readonly TypedColumn[]): LayoutDraft {
  const shown = shownNames(plan, visible, scan);
  const recursion = recursionColumns(plan, scan.source);
  const names = plan.recursions?.find(({ source }) => source === scan.source)?.columns ?? [];
  const read = names.map((name, index) => ({
    id: scan.columns.find((column) => column.name === name)?.id ?? recursion[index]?.id ?? "",
    name,
  }));
  const columns = read.map(({ id }, index) => ({
    id,
    name: storedName(shown.get(id) ?? `${HELPER_PREFIX}column${index + 1}`),
    type: recursion[index]?.type ?? "VARCHAR",
  }));
  return {
    columns,
    visible: above(dataScan(columns)),
    output: visible.map((column, index) => ({ ...column, id: plan.output[index] ?? "" })),
    groups: null,
    rows: { ...scan, columns: read },
    ...recursionsBeside(plan, { source: scan.source, columns, beside: false }),
  };
}

/** All rows are kept, or, where nothing has grouped them, the first ones; the user-facing view sorts and picks. */
function limitLayout(plan: ViewPlan, limited: Limited, visible: readonly TypedColumn[]): LayoutDraft {
  const columns = storedColumns(plan, limited.below, shownNames(plan, visible, limited.below));
  return {
    columns,
    visible: limited.above(dataScan(columns)),
    output: visible.map((column, index) => ({ ...column, id: plan.output[index] ?? "" })),
    groups: null,
    ...storedRows(limited),
    ...recursionsBeside(plan),
  };
}

/** True where the visible rows are not linear in the physical ones, since a LIMIT picks among them. */
export function isLimited(layout: Pick<Layout, "visible">): boolean {
  const limited = (relation: Relation): boolean =>
    relation.kind === "limit" ||
    ((relation.kind === "project" || relation.kind === "filter") && limited(relation.input));
  return limited(layout.visible);
}

interface Top {
  readonly aggregate: Aggregate;
  /** What stands above the aggregate, over another input. */
  readonly above: (input: Relation) => Relation;
}

/** Takes projections, filters and limits off the top down to an aggregate; undefined where another operator is met first. */
function peel(relation: Relation): Top | undefined {
  if (relation.kind === "aggregate") return { aggregate: relation, above: (input) => input };
  if (relation.kind !== "project" && relation.kind !== "filter" && relation.kind !== "limit") return undefined;
  const below = peel(relation.input);
  return below === undefined
    ? undefined
    : { aggregate: below.aggregate, above: (input) => ({ ...relation, input: below.above(input) }) };
}

function groupLayout(plan: ViewPlan, top: Top, visible: readonly TypedColumn[], options: StateOptions): LayoutDraft {
  const { aggregate } = top;
  const shown = shownNames(plan, visible, aggregate);
  const states = buildStates(plan, aggregate, shown, options);
  const { table, keys } = states;
  const outputs: NamedExpression[] = [
    ...keys.map((id) => ({ id, expression: columnExpression(id) })),
    ...states.values,
  ];
  const project: Relation = { kind: "project", input: dataScan(table.columns), columns: outputs };
  return {
    columns: table.columns,
    visible: top.above(project),
    output: visible.map((column, index) => ({ ...column, id: plan.output[index] ?? "" })),
    groups: { keys, states: table.states, aggregate: { ...aggregate, calls: table.calls } },
    rows: null,
    counted: states.distinct.map((value) => countedTable(plan, aggregate, value)),
    ...recursionsBeside(plan),
  };
}

function countedTable(plan: ViewPlan, aggregate: Aggregate, value: CountedValue) {
  const copies = `${value.id}.copies`;
  const present = both(value.filter, expression`${value.argument} IS NOT NULL`);
  const count = { id: copies, name: "count_star", arguments: [], distinct: false, ordered: false };
  const rows: Aggregate = {
    kind: "aggregate",
    input: { kind: "filter", input: aggregate.input, predicate: present },
    keys: [...aggregate.keys, { id: value.id, expression: value.argument }],
    calls: [{ ...count, expression: expression`count(*)` }],
  };
  const keys = aggregate.keys.map(({ id }, index) => ({
    id,
    name: `key${index + 1}`,
    type: plan.types[id] ?? "VARCHAR",
  }));
  const columns = [
    ...keys,
    { id: value.id, name: "value", type: value.type },
    { id: copies, name: "copies", type: "BIGINT" },
  ];
  return { ...value, columns, copies, rows };
}

interface BuiltStates {
  readonly distinct: readonly CountedValue[];
  readonly table: StateColumns;
  readonly keys: readonly ColumnId[];
  readonly values: readonly NamedExpression[];
}

function buildStates(
  plan: ViewPlan,
  aggregate: Aggregate,
  shown: ReadonlyMap<ColumnId, string>,
  options: StateOptions | null,
): BuiltStates {
  const builder = new StateBuilder(plan, shown, options);
  const { table } = builder;
  const keys = aggregate.keys.map((key, index) => {
    table.column(key.id, shown.get(key.id) ?? `${HELPER_PREFIX}key${index + 1}`, plan.types[key.id] ?? "VARCHAR");
    return key.id;
  });
  builder.rows();
  const values = aggregate.calls.map((call) => builder.call(call));
  // One aggregate that is read anew gives the others their values too.
  const reread = table.states.some((state) => state.rule.rule === "reread");
  if (reread && options !== null) return buildStates(plan, aggregate, shown, null);
  return { table, keys, values, distinct: builder.distinct };
}

function dataScan(columns: readonly { readonly id: ColumnId; readonly name: string }[]): Scan {
  return {
    kind: "scan",
    source: DATA_SOURCE,
    occurrence: 1,
    alias: DATA_SOURCE,
    columns: columns.map(({ id, name }) => ({ id, name })),
    version: "new",
  };
}

/** Columns of the stored relation that are visible as they are keep their visible name in the physical table. */
function shownNames(plan: ViewPlan, visible: readonly TypedColumn[], stored: Relation): Map<ColumnId, string> {
  const names = new Map<ColumnId, string>();
  plan.output.forEach((id, index) => {
    const source = traceDown(plan.relation, id, stored);
    const name = visible[index]?.name;
    if (source !== undefined && name !== undefined && !names.has(source)) names.set(source, name);
  });
  return names;
}

function traceDown(relation: Relation, id: ColumnId, stored: Relation): ColumnId | undefined {
  if (relation === stored) return outputOf(relation).includes(id) ? id : undefined;
  if (relation.kind === "filter" || relation.kind === "limit") return traceDown(relation.input, id, stored);
  if (relation.kind === "project") {
    const below = relation.columns.find((column) => column.id === id)?.expression.ref;
    return below === undefined ? undefined : traceDown(relation.input, below, stored);
  }
  return undefined;
}
