/** The oracle's own small SQL syntax tree: what the generators make, the shrinker takes apart and the printer prints. */

/** A type as DuckDB prints it, for example `INTEGER` or `DECIMAL(9,2)`. */
export type SqlType = string;

export interface Column {
  readonly name: string;
  readonly type: SqlType;
  /** False for floating-point values that depend on the order of additions in their last bits. */
  readonly exact: boolean;
}

export interface ColumnReference {
  readonly kind: "column";
  readonly relation: string | null;
  readonly name: string;
  readonly type: SqlType;
  readonly exact: boolean;
}

export interface Literal {
  readonly kind: "literal";
  readonly sql: string;
  readonly type: SqlType;
  readonly exact: true;
}

/** Any expression with arguments: SQL text in `parts`, with `args` between them. */
export interface Call {
  readonly kind: "call";
  /** Only the arguments of a scalar call may stand for the call when a failure is shrunk. */
  readonly role: "scalar" | "aggregate" | "window";
  readonly parts: readonly string[];
  readonly args: readonly Expression[];
  readonly filter: Expression | null;
  readonly type: SqlType;
  readonly exact: boolean;
}

/** EXISTS, IN or a scalar subquery: `parts` around the optional arguments, the query last. */
export interface Subquery {
  readonly kind: "subquery";
  readonly parts: readonly string[];
  readonly args: readonly Expression[];
  readonly query: Query;
  readonly type: SqlType;
  readonly exact: boolean;
}

export type Expression = ColumnReference | Literal | Call | Subquery;

interface TableInput {
  readonly kind: "table";
  readonly path: readonly string[];
  readonly alias: string | null;
}

interface DerivedInput {
  readonly kind: "derived";
  readonly query: Query;
  readonly alias: string;
  readonly lateral: boolean;
}

/** An input that no shrink looks into. */
interface TextInput {
  readonly kind: "text";
  readonly sql: string;
  readonly alias: string;
}

export type JoinType = "ASOF" | "ASOF LEFT" | "INNER" | "CROSS" | "LEFT" | "RIGHT" | "FULL" | "SEMI" | "ANTI";

export interface JoinInput {
  readonly kind: "join";
  readonly type: JoinType;
  readonly left: Input;
  readonly right: Input;
  readonly condition:
    | { readonly kind: "on"; readonly predicate: Expression }
    | { readonly kind: "using"; readonly columns: readonly string[] }
    | { readonly kind: "natural" }
    | { readonly kind: "none" };
}

export type Input = TableInput | DerivedInput | TextInput | JoinInput;

export interface ExpressionItem {
  readonly kind: "expression";
  readonly expression: Expression;
  /** Null prints no AS; the column then has DuckDB's own name. */
  readonly alias: string | null;
}

interface StarItem {
  readonly kind: "star";
  readonly sql: string;
}

export type Item = ExpressionItem | StarItem;

export interface GroupKey {
  readonly expression: Expression;
  readonly by: "expression" | "ordinal" | "alias";
  /** The alias of the item that holds the same expression; null where the key is not selected. */
  readonly item: string | null;
}

export type Grouping =
  | { readonly kind: "keys"; readonly keys: readonly GroupKey[] }
  | { readonly kind: "all" }
  | { readonly kind: "sets"; readonly how: "ROLLUP" | "CUBE"; readonly keys: readonly Expression[] };

export interface Select {
  readonly kind: "select";
  readonly distinct: boolean;
  readonly items: readonly Item[];
  /** Separated by commas. */
  readonly from: readonly Input[];
  readonly where: Expression | null;
  readonly grouping: Grouping | null;
  readonly having: Expression | null;
  readonly qualify: Expression | null;
}

interface Values {
  readonly kind: "values";
  readonly rows: readonly (readonly Expression[])[];
}

export interface SetOperation {
  readonly kind: "set";
  readonly operator: "UNION ALL" | "UNION" | "INTERSECT" | "INTERSECT ALL" | "EXCEPT" | "EXCEPT ALL";
  readonly left: Query;
  readonly right: Query;
}

export interface CommonTable {
  readonly name: string;
  readonly columns: readonly string[] | null;
  readonly materialized: boolean;
  readonly query: Query;
}

export interface Query {
  readonly recursive: boolean;
  readonly ctes: readonly CommonTable[];
  readonly body: Select | Values | SetOperation;
  /** Always over every output column, so that the answer has one meaning. */
  readonly tail: { readonly descending: boolean; readonly limit: number | null; readonly offset: number } | null;
}

/** Builds a scalar expression from a template: `` scalar("BIGINT")`length(${s})` ``. */
export function scalar(type: SqlType, exact = true) {
  return (parts: TemplateStringsArray, ...args: readonly Expression[]): Call => ({
    kind: "call",
    role: "scalar",
    parts: [...parts],
    args,
    filter: null,
    type,
    exact,
  });
}

/** Builds an aggregate call from a template. */
export function aggregate(type: SqlType, exact = true) {
  return (parts: TemplateStringsArray, ...args: readonly Expression[]): Call => ({
    ...scalar(type, exact)(parts, ...args),
    role: "aggregate",
  });
}

export function literal(type: SqlType, sql: string): Literal {
  return { kind: "literal", sql, type, exact: true };
}

export function simpleQuery(body: Query["body"]): Query {
  return { recursive: false, ctes: [], body, tail: null };
}

export function select(parts: Partial<Select> & Pick<Select, "items" | "from">): Select {
  return {
    kind: "select",
    distinct: false,
    where: null,
    grouping: null,
    having: null,
    qualify: null,
    ...parts,
  };
}

/** True where the expression reads at least one column. */
export function readsColumn(expression: Expression): boolean {
  if (expression.kind === "column") return true;
  if (expression.kind === "literal") return false;
  return expression.kind === "subquery" || expression.args.some(readsColumn);
}
