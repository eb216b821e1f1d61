import {
  type Aggregate,
  type AggregateCall,
  type ColumnId,
  columnExpression,
  type Expression,
  expression,
  inputsOf,
  type NamedExpression,
  outputOf,
  type Relation,
  type Scan,
} from "../plan/relation.js";
import { argumentKey, type TypedColumn, type ViewPlan } from "./plan-view.js";

/** A column of a view's physical table. */
export interface PhysicalColumn {
  readonly name: string;
  readonly id: ColumnId;
  /** The type that the value has in expressions. */
  readonly type: string;
  /** The type in which DuckLake holds it. */
  readonly stored: string;
}

/** How a state of a group is kept up to date. */
export type StateRule =
  | { readonly rule: "rows" }
  | { readonly rule: "count"; readonly argument: Expression | null; readonly filter: Expression | null }
  | {
      readonly rule: "sum";
      readonly argument: Expression;
      readonly filter: Expression | null;
      readonly count: ColumnId;
      readonly type: string;
    }
  | {
      readonly rule: "extreme";
      readonly function: "min" | "max";
      readonly argument: Expression;
      readonly filter: Expression | null;
    }
  /** Only evaluating the group's rows anew gives the value. */
  | { readonly rule: "reread" };

export interface GroupState {
  readonly id: ColumnId;
  readonly rule: StateRule;
}

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
   * Set where the table holds more than the visible rows, which a LIMIT picks when the view is read: gives the
   * physical rows from the sources. Null where groups are stored, or the visible rows themselves.
   */
  readonly rows: Relation | null;
}

/** The name under which `Layout.visible` scans the physical table. */
const DATA_SOURCE = "data";

export const HELPER_PREFIX = "_ivm_";

/** A layout without storage types, which need a connection to be found. */
export type LayoutDraft = Omit<Layout, "columns"> & { readonly columns: readonly Omit<PhysicalColumn, "stored">[] };

/** One row a copy of each visible row. */
export function bagLayout(columns: readonly TypedColumn[]): LayoutDraft {
  const output = columns.map((column, index) => ({ ...column, id: `${column.name}#data${index + 1}` }));
  const physical = output.map((column) => ({ ...column, name: storedName(column.name) }));
  return { columns: physical, visible: dataScan(physical), output, groups: null, rows: null };
}

/** The layout for a plan: groups with state where the top is an aggregate, else a bag of rows. */
export function layoutOf(plan: ViewPlan, visible: readonly TypedColumn[]): LayoutDraft {
  const top = peel(plan.relation);
  if (top !== undefined) return groupLayout(plan, top, visible);
  const limited = splitAtLimit(plan.relation);
  return limited === undefined ? bagLayout(visible) : limitLayout(plan, limited, visible);
}

/** True where a LIMIT stands above rows that nothing has grouped: keeping all of them to show a few does not pay. */
export function limitsRows(relation: Relation): boolean {
  const limited = splitAtLimit(relation);
  return limited !== undefined && !hasAggregate(limited.below);
}

function hasAggregate(relation: Relation): boolean {
  return relation.kind === "aggregate" || inputsOf(relation).some(hasAggregate);
}

interface Limited {
  /** The rows that the LIMIT picks among. */
  readonly below: Relation;
  readonly above: (input: Relation) => Relation;
}

/** Splits a plan below the lowest LIMIT that only projections, filters and limits stand above. */
function splitAtLimit(relation: Relation): Limited | undefined {
  if (relation.kind !== "project" && relation.kind !== "filter" && relation.kind !== "limit") return undefined;
  const inner = splitAtLimit(relation.input);
  if (inner !== undefined)
    return { below: inner.below, above: (input) => ({ ...relation, input: inner.above(input) }) };
  if (relation.kind !== "limit") return undefined;
  return { below: relation.input, above: (input) => ({ ...relation, input }) };
}

/** All rows are kept; the user-facing view sorts and picks. */
function limitLayout(plan: ViewPlan, limited: Limited, visible: readonly TypedColumn[]): LayoutDraft {
  const shown = shownNames(plan, visible, limited.below);
  const columns = outputOf(limited.below).map((id, index) => ({
    id,
    name: storedName(shown.get(id) ?? `${HELPER_PREFIX}column${index + 1}`),
    type: plan.types[id] ?? "VARCHAR",
  }));
  return {
    columns,
    visible: limited.above(dataScan(columns)),
    output: visible.map((column, index) => ({ ...column, id: plan.output[index] ?? "" })),
    groups: null,
    rows: limited.below,
  };
}

/** True where the visible rows are not linear in the physical ones, since a LIMIT picks among them. */
export function isLimited(layout: Pick<Layout, "visible">): boolean {
  const limited = (relation: Relation): boolean =>
    relation.kind === "limit" ||
    ((relation.kind === "project" || relation.kind === "filter") && limited(relation.input));
  return limited(layout.visible);
}

/** Columns that DuckLake gives every table; a stored column of the name would hide them. */
const VIRTUAL_COLUMNS = new Set(["rowid", "snapshot_id", "filename", "file_row_number", "file_index"]);

function storedName(name: string): string {
  return VIRTUAL_COLUMNS.has(name.toLowerCase()) ? `${HELPER_PREFIX}column_${name}` : name;
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

function groupLayout(plan: ViewPlan, top: Top, visible: readonly TypedColumn[]): LayoutDraft {
  const { aggregate } = top;
  const shown = shownNames(plan, visible, aggregate);
  const builder = new StateBuilder(plan, shown);
  const keys = aggregate.keys.map((key, index) => {
    builder.column(key.id, shown.get(key.id) ?? `${HELPER_PREFIX}key${index + 1}`, plan.types[key.id] ?? "VARCHAR");
    return key.id;
  });
  builder.rows();
  const values = aggregate.calls.map((call) => builder.call(call));
  const outputs: NamedExpression[] = [...keys.map((id) => ({ id, expression: columnExpression(id) })), ...values];
  const project: Relation = { kind: "project", input: dataScan(builder.columns), columns: outputs };
  return {
    columns: builder.columns,
    visible: top.above(project),
    output: visible.map((column, index) => ({ ...column, id: plan.output[index] ?? "" })),
    groups: { keys, states: builder.states, aggregate: { ...aggregate, calls: builder.calls } },
    rows: null,
  };
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

const SMALL_INTEGERS = new Set([
  "TINYINT",
  "SMALLINT",
  "INTEGER",
  "BIGINT",
  "UTINYINT",
  "USMALLINT",
  "UINTEGER",
  "UBIGINT",
]);

/** The type in which a sum of this type can be folded exactly; undefined where it can't. */
function exactSumType(type: string): string | undefined {
  if (SMALL_INTEGERS.has(type)) return "DECIMAL(38,0)";
  const decimal = /^DECIMAL\(\d+,(\d+)\)$/.exec(type);
  return decimal === null ? undefined : `DECIMAL(38,${decimal[1]})`;
}

/** A decimal without its point. Through its text: a multiplication would leave the range of DECIMAL(38). */
function unscaledTotal(total: Expression, digits: string): Expression {
  if (digits === "0") return expression`CAST(${total} AS HUGEINT)`;
  return expression`CAST(replace(CAST(${total} AS VARCHAR), '.', '') AS HUGEINT)`;
}

/** Collects the physical columns that aggregates need; equal parts of several aggregates are kept once. */
class StateBuilder {
  readonly columns: Omit<PhysicalColumn, "stored">[] = [];
  readonly states: GroupState[] = [];
  readonly calls: AggregateCall[] = [];
  private readonly byForm = new Map<string, ColumnId>();

  constructor(
    private readonly plan: ViewPlan,
    private readonly shown: ReadonlyMap<ColumnId, string>,
  ) {}

  column(id: ColumnId, name: string, type: string): void {
    this.columns.push({ id, name: storedName(name), type });
  }

  rows(): void {
    this.state(`${HELPER_PREFIX}rows`, "BIGINT", { rule: "rows" }, expression`count(*)`, `${HELPER_PREFIX}rows`);
  }

  /** Keeps the state of one aggregate and gives the aggregate's value as an expression over it. */
  call(call: AggregateCall): NamedExpression {
    const value = this.value(call);
    return { id: call.id, expression: value };
  }

  private value(call: AggregateCall): Expression {
    const filter = call.filter ?? null;
    const [argument] = call.arguments;
    const type = this.plan.types[call.id] ?? "VARCHAR";
    const plain = !call.distinct && !call.ordered && call.arguments.length <= 1;
    if (plain && (call.name === "count" || call.name === "count_star")) {
      return columnExpression(this.count(call, argument ?? null, filter));
    }
    if (argument !== undefined && plain && (call.name === "sum" || call.name === "avg" || call.name === "mean")) {
      const argumentType = this.argumentType(call);
      const exact = argumentType === undefined ? undefined : exactSumType(argumentType);
      if (exact !== undefined) return this.sum(call, argument, filter, exact, type);
    }
    if (
      argument !== undefined &&
      !call.ordered &&
      call.arguments.length === 1 &&
      (call.name === "min" || call.name === "max")
    ) {
      const rule = { rule: "extreme", function: call.name, argument, filter } as const;
      return columnExpression(this.state(call.id, type, rule, call.expression, this.nameOf(call)));
    }
    return columnExpression(this.state(call.id, type, { rule: "reread" }, call.expression, this.nameOf(call)));
  }

  private count(call: AggregateCall, argument: Expression | null, filter: Expression | null): ColumnId {
    return this.countOf(argument, filter, call.id, this.nameOf(call));
  }

  private countOf(argument: Expression | null, filter: Expression | null, id: ColumnId, name: string): ColumnId {
    const form = `count ${argument?.sql ?? "*"} ${filter?.sql ?? ""}`;
    const known = this.byForm.get(form);
    if (known !== undefined) return known;
    const call = argument === null ? expression`count(*)` : expression`count(${argument})`;
    this.byForm.set(form, id);
    return this.state(id, "BIGINT", { rule: "count", argument, filter }, filtered(call, filter), name);
  }

  private sum(
    call: AggregateCall,
    argument: Expression,
    filter: Expression | null,
    exact: string,
    type: string,
  ): Expression {
    const count = this.countOf(argument, filter, `${call.id}.count`, this.helper("count"));
    const form = `sum ${argument.sql} ${filter?.sql ?? ""}`;
    let sum = this.byForm.get(form);
    if (sum === undefined) {
      sum = `${call.id}.sum`;
      this.byForm.set(form, sum);
      const name = call.name === "sum" ? this.nameOf(call) : this.helper("sum");
      const total = filtered(expression`sum(${argument})`, filter);
      const initial = { sql: `CAST(${total.sql} AS ${exact})`, columns: total.columns };
      this.state(sum, exact, { rule: "sum", argument, filter, count, type: exact }, initial, name);
    }
    const total = columnExpression(sum);
    if (call.name === "sum") return expression`CAST(${total} AS ${type})`;
    // As DuckDB does it: the unscaled total by the count times the scale, as doubles; NULL for no values.
    const digits = /,(\d+)\)$/.exec(exact)?.[1] ?? "0";
    const scale = `${10n ** BigInt(digits)}`;
    const [n, unscaled] = [columnExpression(count), unscaledTotal(total, digits)];
    return expression`CASE WHEN ${n} > 0 THEN CAST(${unscaled} AS DOUBLE) / (CAST(${n} AS DOUBLE) * CAST(${scale} AS DOUBLE)) END`;
  }

  private state(id: ColumnId, type: string, rule: StateRule, initial: Expression, name: string): ColumnId {
    this.column(id, name, type);
    this.states.push({ id, rule });
    this.calls.push({ id, name: "state", arguments: [], distinct: false, ordered: false, expression: initial });
    return id;
  }

  private argumentType(call: AggregateCall): string | undefined {
    return this.plan.types[argumentKey(call.id)];
  }

  private nameOf(call: AggregateCall): string {
    return this.shown.get(call.id) ?? this.helper(call.name);
  }

  private helper(what: string): string {
    return `${HELPER_PREFIX}${what}${this.columns.length + 1}`;
  }
}

function filtered(call: Expression, filter: Expression | null): Expression {
  if (filter === null) return call;
  const columns = [...new Set([...call.columns, ...filter.columns])];
  return { sql: `${call.sql} FILTER (WHERE ${filter.sql})`, columns };
}
