import { DefinitionError } from "../errors.js";
import type { ExpressionNode, JoinKind, NamedNode, QueryNode } from "../types.js";
import type { Accumulation, Descending } from "./accumulations.js";
import {
  type Comparison,
  column,
  compare,
  type Expression,
  type Literal,
  type Membership,
  type SqlPart,
  type Test,
} from "./expression.js";
import type {
  Accumulated,
  Aggregated,
  AnyRow,
  ColumnOf,
  Columns,
  Grouping,
  Nullable,
  RowOf,
  Selected,
  SelectItem,
  ValueOf,
} from "./scope.js";

/** The scope after a join. */
export type Joined<S, T, K extends JoinKind> = K extends "semi" | "anti"
  ? S
  : (K extends "right" | "full" ? Nullable<S> : S) & (K extends "left" | "full" | "asof_left" ? Nullable<T> : T);

type SharedColumn<S, T> = keyof RowOf<S> & keyof RowOf<T> & string;

/** The columns in scope that can be equal to a value of this type; dates, times and decimals are as good as text. */
type ColumnLike<S, V> = {
  [C in ColumnOf<S>]: Alike<KindOf<V>, KindOf<ValueOf<S, C>>> extends true ? C : never;
}[ColumnOf<S>];
type KindOf<V> = unknown extends V
  ? "any"
  : [Exclude<V, null>] extends [number | bigint]
    ? "number"
    : [Exclude<V, null>] extends [boolean]
      ? "boolean"
      : "text";
type Alike<A, B> = "any" extends A | B ? true : [A] extends [B] ? true : false;

/** How two sides are joined: by columns that both have, by columns that are equal, or by any condition. */
type JoinCondition<S, T> =
  | { readonly using: readonly SharedColumn<S, T>[]; readonly on?: never }
  | {
      readonly on:
        | { readonly [L in ColumnOf<S>]?: ColumnLike<T, ValueOf<S, L>> }
        | Expression<unknown, ColumnOf<S & T>>
        | ((column: Columns<S & T>) => Expression<unknown, ColumnOf<S & T>>);
      readonly using?: never;
    };

export type JoinOptions<S, T, K extends JoinKind> = K extends "cross"
  ? { readonly kind: K; readonly using?: never; readonly on?: never }
  : JoinCondition<S, T> & ("inner" extends K ? { readonly kind?: K } : { readonly kind: K });

/** A value that a column can be compared with; dates, times and decimals are given as text. */
export type Comparable<V> = unknown extends V ? Literal : ComparableTo<Exclude<V, null>>;
type ComparableTo<V> = V extends number | bigint ? number | bigint : V extends boolean ? boolean : string;

type AggregateSpec<S> = {
  readonly by?: Grouping<S>;
  readonly [name: string]: Grouping<S> | AggregateOperand<S> | undefined;
};
type AggregateOperand<S> =
  | Expression<unknown, ColumnOf<S>>
  | ((column: Columns<S>) => Expression<unknown, ColumnOf<S>>);

type Order<S> = ColumnOf<S> | Descending<ColumnOf<S>>;
type AccumulateSpec<S> = {
  readonly by?: Grouping<S>;
  readonly along: Order<S> | readonly Order<S>[];
  readonly [name: string]:
    | Grouping<S>
    | Order<S>
    | readonly Order<S>[]
    | Accumulation<unknown, ColumnOf<S>>
    | undefined;
};

type SameRow<S, T> = [RowOf<T>, RowOf<S>] extends [RowOf<S>, RowOf<T>]
  ? unknown
  : { readonly "the two queries have other columns": never };

/** A query and the columns that identify its rows. */
export interface KeyedQuery<S extends object> {
  readonly query: QueryNode;
  readonly key: readonly string[];
  /** The query without its key, to build on. */
  readonly unkeyed: Query<S>;
}

/**
 * A query. Every method gives another one and leaves this one as it is. S has the row type of each alias in scope.
 * Names of columns are checked by TypeScript where the row types are given, and against the lake when it is defined.
 */
export class Query<S extends object> {
  /** @internal Use `source` or `fromSql`. */
  constructor(
    /** The query as data. */
    readonly query: QueryNode,
  ) {
    Object.freeze(query);
    Object.freeze(this);
  }

  /** Gives the rows a name, by which columns are qualified: `alias.column`. */
  as<A extends string>(alias: A): Query<{ [K in A]: RowOf<S> }> {
    if (this.query.kind === "source") return new Query({ ...this.query, alias });
    return new Query({ kind: "alias", input: this.query, alias });
  }

  /**
   * Joins another source or query. A semi join keeps the rows that have a partner, an anti join those that have none;
   * an ASOF join takes the partner that is nearest by the one inequality in `on`.
   * @param options `kind` is `inner` where left out; `using` names columns that both sides have, `on` columns that are
   * equal (`{ "o.customer": "c.id" }`) or a condition.
   */
  join<T extends object, K extends JoinKind = "inner">(
    right: Query<T>,
    options: JoinOptions<S, T, K>,
  ): Query<Joined<S, T, K>> {
    const {
      kind = "inner",
      using,
      on,
    } = options as {
      kind?: JoinKind;
      using?: readonly string[];
      on?: Readonly<Record<string, string>> | AnyOperand;
    };
    const pairs = isPairs(on) ? Object.entries(on).map(([left, other]) => Object.freeze({ left, right: other })) : [];
    if (kind !== "cross" && using === undefined && (on === undefined || (isPairs(on) && pairs.length === 0))) {
      throw new DefinitionError("builder_join", `A join of kind ${kind} needs \`on\` or \`using\`.`, {
        hint: 'For all pairs of rows take { kind: "cross" }.',
      });
    }
    return new Query({
      kind: "join",
      join: kind,
      left: this.query,
      right: right.query,
      using: using === undefined ? null : Object.freeze([...using]),
      pairs: Object.freeze(pairs),
      on: on === undefined || isPairs(on) ? null : operand(on),
    });
  }

  /** Keeps the rows for which the condition is true; several calls are joined by AND. */
  where<C extends ColumnOf<S>>(
    column: C,
    operator: Comparison,
    value: Comparable<ValueOf<S, C>> | Expression<unknown, ColumnOf<S>>,
  ): Query<S>;
  where<C extends ColumnOf<S>>(column: C, operator: Membership, values: readonly Comparable<ValueOf<S, C>>[]): Query<S>;
  where(column: ColumnOf<S>, operator: Test): Query<S>;
  where(
    condition: Expression<unknown, ColumnOf<S>> | ((column: Columns<S>) => Expression<unknown, ColumnOf<S>>),
  ): Query<S>;
  where(of: unknown, operator?: string, value?: unknown): Query<S> {
    const left = operand(of as AnyOperand);
    const values = value === undefined ? [] : Array.isArray(value) ? value : [value];
    const condition = operator === undefined ? left : compare(left, operator, values as readonly SqlPart[]);
    return new Query({ kind: "where", input: this.query, condition });
  }

  /** The columns that the rows have from here on: names, `alias.*`, `*`, and values under new names. */
  select<const Items extends readonly SelectItem<S>[]>(...items: Items): Query<{ "": Selected<S, Items> }> {
    const nodes = items.flatMap((item): (NamedNode | { readonly all: string | null })[] => {
      if (typeof item !== "string") return namedNodes(item as Readonly<Record<string, AnyOperand>>);
      if (item === "*") return [Object.freeze({ all: null })];
      if (item.endsWith(".*")) return [Object.freeze({ all: item.slice(0, -2) })];
      return [namedColumn(item)];
    });
    if (nodes.length === 0) throw noColumns("select");
    return new Query({ kind: "select", input: this.query, items: Object.freeze(nodes) });
  }

  /** Each row once. */
  distinct(): Query<{ "": RowOf<S> }> {
    return new Query({ kind: "distinct", input: this.query });
  }

  /**
   * One row for each group, or one of all rows without `by`.
   * @example orders.aggregate({ by: "customer", orders: count(), total: sum("amount") })
   */
  aggregate<const Spec extends AggregateSpec<S>>(spec: Spec): Query<{ "": Aggregated<S, Spec> }> {
    const { by, ...aggregates } = spec as { by?: AnyGrouping } & Readonly<Record<string, AnyOperand>>;
    const groups = groupingNodes(by);
    for (const [name, of] of Object.entries(aggregates))
      if (typeof of === "string") throw noValue(name, "an aggregate");
    const values = namedNodes(aggregates);
    if (groups.length + values.length === 0) throw noColumns("aggregate");
    return new Query({
      kind: "aggregate",
      input: this.query,
      by: Object.freeze(groups),
      aggregates: Object.freeze(values),
    });
  }

  /**
   * Adds values to every row that run along an order, in each group of `by` anew.
   * @example lines.accumulate({ by: "store", along: "ordered_at", units: runningSum("quantity") })
   */
  accumulate<const Spec extends AccumulateSpec<S>>(spec: Spec): Query<{ "": Accumulated<S, Spec> }> {
    const { by, along, ...values } = spec as { by?: AnyGrouping; along: AnyOrder | readonly AnyOrder[] } & Readonly<
      Record<string, Accumulation<unknown, string>>
    >;
    const orders = Array.isArray(along) ? (along as readonly AnyOrder[]) : [along as AnyOrder];
    const columns = Object.entries(values).map(([name, value]) => {
      if (typeof value !== "object" || !("frame" in value)) throw noValue(name, "an accumulation");
      return Object.freeze({ name, expression: value.expression.node, frame: value.frame });
    });
    if (columns.length === 0 || orders.length === 0) throw noColumns("accumulate");
    return new Query({
      kind: "accumulate",
      input: this.query,
      by: Object.freeze(groupingNodes(by).map((group) => group.expression)),
      along: Object.freeze(orders.map(orderNode)),
      columns: Object.freeze(columns),
    });
  }

  /** The rows of both, each once. Columns go by name. */
  union<T extends object>(other: Query<T> & SameRow<S, T>): Query<{ "": RowOf<S> }> {
    return new Query({ kind: "union", all: false, inputs: Object.freeze([this.query, other.query] as const) });
  }

  /** The rows of both, with all their copies. Columns go by name. */
  unionAll<T extends object>(other: Query<T> & SameRow<S, T>): Query<{ "": RowOf<S> }> {
    return new Query({ kind: "union", all: true, inputs: Object.freeze([this.query, other.query] as const) });
  }

  /**
   * Anything else: a SELECT over these rows.
   * @param make gets the rows as they stand in FROM: (rows) => sql`SELECT … FROM ${rows} AS r QUALIFY …`
   */
  sql<R extends object = AnyRow>(make: (rows: Query<S>) => Expression<unknown, never>): Query<{ "": R }> {
    return new Query({ kind: "text", sql: make(this).node });
  }

  /** Says which columns identify a row. Every refresh checks it. */
  primaryKey(...columns: readonly (keyof RowOf<S> & string)[]): KeyedQuery<S> {
    return Object.freeze({ query: this.query, key: Object.freeze([...columns]), unkeyed: this });
  }
}

/** The row type of a query. */
export type RowType<Q> = Q extends Query<infer S> ? RowOf<S> : Q extends KeyedQuery<infer S> ? RowOf<S> : never;

/**
 * A table of the lake, a plain view, or another materialized view.
 * @param table the name alone; it is quoted as it is.
 */
export function source<R extends object = AnyRow>(
  table: string,
  options: { readonly schema?: string } = {},
): Query<{ "": R }> {
  return new Query({ kind: "source", schema: options.schema ?? null, table, alias: null });
}

/** A SELECT as a query to go on with. */
export function fromSql<R extends object = AnyRow>(select: Expression<unknown, never>): Query<{ "": R }> {
  return new Query({ kind: "text", sql: select.node });
}

type AnyOperand = string | Expression<unknown, string> | ((make: typeof column) => Expression<unknown, string>);
type AnyGrouping = string | readonly (string | Readonly<Record<string, AnyOperand>>)[];
type AnyOrder = string | Descending<string>;

function operand(of: AnyOperand): ExpressionNode {
  if (typeof of === "string") return column(of).node;
  return (typeof of === "function" ? of(column) : of).node;
}

function isPairs(on: unknown): on is Readonly<Record<string, string>> {
  return typeof on === "object" && on !== null && !("node" in on && typeof on.node === "object");
}

/** The name of a column that is taken as it is: without its alias. */
function namedColumn(name: string): NamedNode {
  return Object.freeze({ name: name.slice(name.lastIndexOf(".") + 1), expression: column(name).node });
}

function namedNodes(values: Readonly<Record<string, AnyOperand>>): NamedNode[] {
  return Object.entries(values).map(([name, of]) => {
    if (!["string", "function"].includes(typeof of) && !(typeof of === "object" && of !== null && "node" in of)) {
      throw noValue(name, "a column or an expression");
    }
    return Object.freeze({ name, expression: operand(of) });
  });
}

function groupingNodes(by: AnyGrouping | undefined): NamedNode[] {
  if (by === undefined) return [];
  if (typeof by === "string") return [namedColumn(by)];
  return by.flatMap((item) => (typeof item === "string" ? [namedColumn(item)] : namedNodes(item)));
}

function orderNode(order: AnyOrder) {
  const of = typeof order === "string" ? order : order.descending;
  return Object.freeze({ expression: operand(of), descending: typeof order !== "string" });
}

function noValue(name: string, wanted: string): DefinitionError {
  return new DefinitionError("builder_value", `${name} is not ${wanted}.`, {
    subject: { column: name },
    hint: "Give one of the builder's functions, sql`…`, or a function that makes one of columns.",
  });
}

function noColumns(method: string): DefinitionError {
  return new DefinitionError("builder_columns", `\`${method}\` names no column.`, { hint: "Name at least one." });
}
