import { DefinitionError } from "../errors.js";
import type { ExpressionNode, QueryNode } from "../types.js";

declare const value: unique symbol;
declare const columns: unique symbol;

/**
 * A value in a query, of the type T. C are the names of the columns that it reads, as far as they are still to be
 * checked against those in scope.
 */
export interface Expression<T = unknown, C extends string = never> {
  readonly node: ExpressionNode;
  readonly [value]?: T;
  readonly [columns]?: C;
}

/** What stands for itself in SQL; anything else is text with a cast: sql`DATE '2024-05-01'`. */
export type Literal = string | number | bigint | boolean | null;

/** What `sql` takes between its pieces. Strings and numbers become literals, never SQL. */
export type SqlPart = Literal | Expression<unknown, string> | { readonly query: QueryNode };

/**
 * SQL text as an expression, or as a part of one. Values in `${…}` are quoted as literals; expressions and queries, in
 * brackets, stand for themselves.
 * @example sql<number>`round(${column("o.quantity")} * ${column("p.price")}, 2)`
 */
export function sql<T = unknown>(texts: TemplateStringsArray, ...parts: readonly SqlPart[]): Expression<T> {
  return template(texts, parts.map(nodeOf));
}

/** A part of an SQL text as a node. */
function nodeOf(part: SqlPart): ExpressionNode | QueryNode {
  if (typeof part !== "object" || part === null) return Object.freeze({ kind: "literal", value: checkLiteral(part) });
  if ("query" in part) return part.query;
  if ("node" in part) return part.node;
  throw new DefinitionError("builder_literal", `${String(part)} can't be written as an SQL literal.`, {
    hint: "Give a string, a number, a bigint, a boolean or null, and a cast where it takes one.",
  });
}

function checkLiteral(literal: Literal): Literal {
  if (["string", "number", "bigint", "boolean"].includes(typeof literal) || literal === null) return literal;
  throw new DefinitionError("builder_literal", `A ${typeof literal} can't be written as an SQL literal.`, {
    hint: "Give a string, a number, a bigint, a boolean or null.",
  });
}

/** @internal An expression of pieces and nodes. */
export function template<T, C extends string = never>(
  texts: readonly string[],
  values: readonly (ExpressionNode | QueryNode)[],
): Expression<T, C> {
  const node = Object.freeze({
    kind: "template" as const,
    texts: Object.freeze([...texts]),
    values: Object.freeze([...values]),
  });
  return Object.freeze({ node });
}

/** A column by its name, `column` or `alias.column`. */
export function column<C extends string>(name: C): Expression<unknown, C> {
  return Object.freeze({ node: Object.freeze({ kind: "column" as const, name }) });
}

/** A literal as an expression. */
export function literal<T extends Literal>(of: T): Expression<T> {
  return Object.freeze({ node: nodeOf(of) as ExpressionNode });
}

/** True where all of the conditions are. */
export function and<C extends string>(...conditions: readonly Expression<unknown, C>[]): Expression<boolean, C> {
  return combine(conditions, " AND ", "true");
}

/** True where one of the conditions is. */
export function or<C extends string>(...conditions: readonly Expression<unknown, C>[]): Expression<boolean, C> {
  return combine(conditions, " OR ", "false");
}

/** True where the condition is false; NULL where it is NULL. */
export function not<C extends string>(condition: Expression<unknown, C>): Expression<boolean, C> {
  return template(["(NOT ", ")"], [condition.node]);
}

function combine<C extends string>(
  conditions: readonly Expression<unknown, C>[],
  operator: string,
  none: string,
): Expression<boolean, C> {
  if (conditions.length === 0) return template([none], []);
  const between = conditions.slice(1).map(() => operator);
  return template(
    ["(", ...between, ")"],
    conditions.map((condition) => condition.node),
  );
}

const COMPARISONS = [
  "=",
  "<>",
  "<",
  "<=",
  ">",
  ">=",
  "like",
  "not like",
  "ilike",
  "is distinct from",
  "is not distinct from",
] as const;
const MEMBERSHIPS = ["in", "not in"] as const;
const TESTS = ["is null", "is not null"] as const;

export type Comparison = (typeof COMPARISONS)[number];
export type Membership = (typeof MEMBERSHIPS)[number];
export type Test = (typeof TESTS)[number];

/** @internal A condition of an operator; @throws DefinitionError `builder_operator` for any other. */
export function compare(left: ExpressionNode, operator: string, right: readonly SqlPart[]): ExpressionNode {
  const sign = operator.toLowerCase();
  if (TESTS.some((known) => known === sign)) return template(["(", ` ${sign.toUpperCase()})`], [left]).node;
  const values = right.map(nodeOf);
  if (MEMBERSHIPS.some((known) => known === sign)) {
    if (values.length === 0) return template([sign === "in" ? "false" : "true"], []).node;
    const between = values.slice(1).map(() => ", ");
    return template(["(", ` ${sign.toUpperCase()} (`, ...between, "))"], [left, ...values]).node;
  }
  if (COMPARISONS.some((known) => known === sign) && values.length === 1) {
    return template(["(", ` ${sign.toUpperCase()} `, ")"], [left, ...values]).node;
  }
  throw new DefinitionError("builder_operator", `${operator} is no operator that \`where\` knows.`, {
    hint: `It knows ${[...COMPARISONS, ...MEMBERSHIPS, ...TESTS].join(", ")}; anything else is written with sql.`,
  });
}
