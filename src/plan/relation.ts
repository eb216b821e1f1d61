/**
 * The relational algebra that views are planned in: plain, frozen data without a connection. Every column has an id
 * that is unique in its plan, so an expression is text over ids and holds wherever the ids are visible.
 */

/** Unique in a plan; also the name of the column in rendered SQL, for example `region#12`. */
export type ColumnId = string;

/** A scalar expression: SQL text over column ids. */
export interface Expression {
  readonly sql: string;
  /** The columns that the text reads. */
  readonly columns: readonly ColumnId[];
  /** Set where the expression is nothing but this column. */
  readonly ref?: ColumnId;
  /** Set where one row can become several or none (`unnest`): never dropped, never traced through. */
  readonly multipliesRows?: true;
}

/** Which state of the sources a scan reads. */
export type Version = "old" | "new";

export interface ScanColumn {
  readonly id: ColumnId;
  /** The source's column, by its own name. */
  readonly name: string;
}

/** A source read at one version. `occurrence` numbers the places in the definition at which sources are read. */
export interface Scan {
  readonly kind: "scan";
  readonly source: string;
  readonly occurrence: number;
  readonly alias: string;
  readonly columns: readonly ScanColumn[];
  readonly version: Version;
}

/** The change of a source in its window, with the signed weight of each row. */
export interface DeltaScan {
  readonly kind: "delta-scan";
  readonly source: string;
  readonly occurrence: number;
  readonly alias: string;
  readonly columns: readonly ScanColumn[];
  readonly weight: ColumnId;
}

/** Rows that no source can change: VALUES, constants, `range(…)`. `sql` is a query whose columns are named by the ids. */
interface Constant {
  readonly kind: "constant";
  readonly sql: string;
  readonly columns: readonly ColumnId[];
  /** Columns without a NULL, of types of which equal values are the same: `=` says of them what NULL-safe equality does. */
  readonly plain?: readonly ColumnId[];
}

export interface Filter {
  readonly kind: "filter";
  readonly input: Relation;
  readonly predicate: Expression;
}

/**
 * The column that stands for the time in expressions. Only the predicate of a time filter can read it; each run pins
 * its value for the old and for the new state.
 */
export const CLOCK: ColumnId = "now#0";

/** The rows for which a predicate that reads `CLOCK` holds. */
export interface TimeFilter {
  readonly kind: "time-filter";
  readonly input: Relation;
  readonly predicate: Expression;
  /** Which state's time the clock shows. */
  readonly version: Version;
}

export interface NamedExpression {
  readonly id: ColumnId;
  readonly expression: Expression;
}

export interface Project {
  readonly kind: "project";
  readonly input: Relation;
  readonly columns: readonly NamedExpression[];
}

/** Inner join of any number of inputs; without predicates a cross product. */
export interface Join {
  readonly kind: "join";
  readonly inputs: readonly Relation[];
  readonly predicates: readonly Expression[];
}

export interface OuterJoin {
  readonly kind: "outer-join";
  readonly side: "left" | "right" | "full";
  readonly left: Relation;
  readonly right: Relation;
  readonly predicate: Expression;
}

/** Two expressions that a join compares, each over one of its inputs. */
export interface ComparedPair {
  readonly left: Expression;
  readonly right: Expression;
}

/** Each row of `left` with the row of `right` of the same key that is nearest by the order (`side` left: or NULLs). */
export interface AsofJoin {
  readonly kind: "asof-join";
  readonly side: "inner" | "left";
  readonly left: Relation;
  readonly right: Relation;
  readonly keys: readonly ComparedPair[];
  readonly order: ComparedPair;
  readonly operator: ">=" | ">" | "<=" | "<";
}

/** The rows of `left` that have (`anti`: have not) a match in `right` for which the predicate is true. */
export interface SemiJoin {
  readonly kind: "semi-join";
  readonly anti: boolean;
  readonly left: Relation;
  readonly right: Relation;
  readonly predicate: Expression;
}

/**
 * The rows of `left` with one more column: true where the comparison holds for some row of `right` among those for which
 * the correlation does, NULL where it does for none but is NULL for some, else false. Without a comparison any such row
 * will do.
 */
export interface MarkJoin {
  readonly kind: "mark-join";
  readonly left: Relation;
  readonly right: Relation;
  readonly correlation: Expression;
  readonly comparison: Expression | null;
  readonly mark: ColumnId;
}

/** The rows of `input` whose `columns` equal, NULL-safe, some row of `keys`. Every `pairs` entry is [input, key]. */
interface Restrict {
  readonly kind: "restrict";
  readonly input: Relation;
  readonly keys: Relation;
  readonly pairs: readonly (readonly [Expression, ColumnId])[];
}

export interface AggregateCall {
  readonly id: ColumnId;
  /** Lower case, as DuckDB names it. */
  readonly name: string;
  readonly arguments: readonly Expression[];
  readonly filter?: Expression;
  readonly distinct: boolean;
  readonly ordered: boolean;
  /** The whole call. */
  readonly expression: Expression;
}

/** GROUP BY; without keys exactly one row. DISTINCT is an aggregate without calls. */
export interface Aggregate {
  readonly kind: "aggregate";
  readonly input: Relation;
  readonly keys: readonly NamedExpression[];
  readonly calls: readonly AggregateCall[];
}

/** One item of an ORDER BY; the direction says where NULLs go too. */
export interface Order {
  readonly expression: Expression;
  readonly direction: string;
}

/** A window function over the rows up to the current one, from which values of later rows follow. */
export interface RunningState {
  readonly id: ColumnId;
  readonly function: "count" | "sum";
  readonly expression: Expression;
}

/** How the values of rows that come after the end of a partition follow from what is there. */
export type WindowRule =
  /** From so many rows before them. */
  | { readonly rule: "look-back"; readonly rows: number }
  /** From the values of the last row. Without `shared`, peers have different values. */
  | {
      readonly rule: "running";
      readonly function: string;
      readonly shared: boolean;
      readonly states: readonly RunningState[];
    }
  | { readonly rule: "whole"; readonly why: string };

export interface WindowColumn extends NamedExpression {
  readonly orders?: readonly Order[];
  /** Plans of old have none. */
  readonly rule?: WindowRule;
}

/** Window functions that share one PARTITION BY; adds `columns` to those of the input. */
export interface Window {
  readonly kind: "window";
  readonly input: Relation;
  readonly partition: readonly Expression[];
  readonly columns: readonly WindowColumn[];
}

export interface UnionAll {
  readonly kind: "union-all";
  readonly columns: readonly ColumnId[];
  /** The ids of each branch, in the order of `columns`. */
  readonly branches: readonly { readonly input: Relation; readonly columns: readonly ColumnId[] }[];
}

/** Each row as often as `count` says; a count of zero or below gives none. */
export interface Repeat {
  readonly kind: "repeat";
  readonly input: Relation;
  readonly count: Expression;
}

/** The first rows in an order; the order is total where the definition has one answer. */
export interface Limit {
  readonly kind: "limit";
  readonly input: Relation;
  readonly orders: readonly Order[];
  /** Number of rows; null for all after the offset. */
  readonly limit: string | null;
  readonly offset: string | null;
}

/** A relation that is read more than once in a statement and computed once. */
export interface Shared {
  readonly kind: "shared";
  readonly name: string;
  readonly input: Relation;
}

export type Relation =
  | Scan
  | DeltaScan
  | Constant
  | Filter
  | TimeFilter
  | Project
  | Join
  | OuterJoin
  | AsofJoin
  | SemiJoin
  | MarkJoin
  | Restrict
  | Aggregate
  | Window
  | UnionAll
  | Repeat
  | Limit
  | Shared;

export function columnExpression(id: ColumnId): Expression {
  return { sql: `"${id.replaceAll('"', '""')}"`, columns: [id], ref: id };
}

/** Builds an expression from text and columns: `expression\`${a} + 1\``. */
export function expression(parts: TemplateStringsArray, ...values: readonly (Expression | string)[]): Expression {
  let sql = parts[0] ?? "";
  const columns = new Set<ColumnId>();
  values.forEach((value, index) => {
    if (typeof value === "string") sql += value;
    else {
      sql += value.ref === undefined ? `(${value.sql})` : value.sql;
      for (const column of value.columns) columns.add(column);
    }
    sql += parts[index + 1] ?? "";
  });
  return { sql, columns: [...columns] };
}

export function keepColumns(ids: readonly ColumnId[]): NamedExpression[] {
  return ids.map((id) => ({ id, expression: columnExpression(id) }));
}

/** The ids that a relation gives, in order. */
export function outputOf(relation: Relation): readonly ColumnId[] {
  switch (relation.kind) {
    case "scan":
      return relation.columns.map((column) => column.id);
    case "delta-scan":
      return [...relation.columns.map((column) => column.id), relation.weight];
    case "constant":
    case "union-all":
      return relation.columns;
    case "filter":
    case "time-filter":
    case "repeat":
    case "limit":
    case "restrict":
    case "shared":
      return outputOf(relation.input);
    case "project":
      return relation.columns.map((column) => column.id);
    case "join":
      return relation.inputs.flatMap((input) => outputOf(input));
    case "outer-join":
    case "asof-join":
      return [...outputOf(relation.left), ...outputOf(relation.right)];
    case "semi-join":
      return outputOf(relation.left);
    case "mark-join":
      return [...outputOf(relation.left), relation.mark];
    case "aggregate":
      return [...relation.keys.map((key) => key.id), ...relation.calls.map((call) => call.id)];
    case "window":
      return [...outputOf(relation.input), ...relation.columns.map((column) => column.id)];
  }
}

/** The relations that a relation is made of. */
export function inputsOf(relation: Relation): readonly Relation[] {
  switch (relation.kind) {
    case "scan":
    case "delta-scan":
    case "constant":
      return [];
    case "join":
      return relation.inputs;
    case "outer-join":
    case "asof-join":
    case "semi-join":
    case "mark-join":
      return [relation.left, relation.right];
    case "restrict":
      return [relation.input, relation.keys];
    case "union-all":
      return relation.branches.map((branch) => branch.input);
    default:
      return [relation.input];
  }
}

/** The same relation over other inputs, given in the order of `inputsOf`. */
export function withInputs(relation: Relation, inputs: readonly Relation[]): Relation {
  const at = (index: number): Relation => {
    const input = inputs[index];
    if (input === undefined) throw new TypeError(`${relation.kind} needs input ${index}`);
    return input;
  };
  switch (relation.kind) {
    case "scan":
    case "delta-scan":
    case "constant":
      return relation;
    case "join":
      return { ...relation, inputs };
    case "outer-join":
    case "asof-join":
    case "semi-join":
    case "mark-join":
      return { ...relation, left: at(0), right: at(1) };
    case "restrict":
      return { ...relation, input: at(0), keys: at(1) };
    case "union-all":
      return { ...relation, branches: relation.branches.map((branch, index) => ({ ...branch, input: at(index) })) };
    default:
      return { ...relation, input: at(0) };
  }
}

/** The same relation with every scan, and the time, at the given version. */
export function atVersion(relation: Relation, version: Version): Relation {
  if (relation.kind === "scan") return relation.version === version ? relation : { ...relation, version };
  const read = withInputs(
    relation,
    inputsOf(relation).map((input) => atVersion(input, version)),
  );
  return read.kind === "time-filter" ? { ...read, version } : read;
}

/** True where the rows depend on the time. */
export function readsClock(relation: Relation): boolean {
  return relation.kind === "time-filter" || inputsOf(relation).some(readsClock);
}

/** True where the rows are those of one read, filtered and projected: cheap to read again. */
export function readsDirectly(relation: Relation): boolean {
  switch (relation.kind) {
    case "scan":
    case "delta-scan":
      return true;
    case "filter":
    case "time-filter":
    case "project":
      return readsDirectly(relation.input);
    default:
      return false;
  }
}

/** All scans, in the order of the definition. */
export function scansOf(relation: Relation): readonly Scan[] {
  if (relation.kind === "scan") return [relation];
  return inputsOf(relation).flatMap((input) => scansOf(input));
}

/** Gives ids that are unique in one plan. */
export class ColumnIds {
  private next: number;

  constructor(first = 1) {
    this.next = first;
  }

  /** The `next` number, to go on from where a stored plan ended. */
  get position(): number {
    return this.next;
  }

  create(name: string): ColumnId {
    const id = `${name}#${this.next}`;
    this.next += 1;
    return id;
  }
}
