/** Relations made by hand. The ids of a scan's columns are `<alias>.<column>`, so that expressions read like SQL. */

import {
  type Aggregate,
  type AggregateCall,
  type AsofJoin,
  columnExpression,
  type Expression,
  type Filter,
  inputsOf,
  type Join,
  type MarkJoin,
  type NamedExpression,
  type OuterJoin,
  type Project,
  type Relation,
  type Repeat,
  type Scan,
  type SemiJoin,
  type TimeFilter,
  type UnionAll,
  type Window,
} from "../../src/plan/relation.js";
import { quoteIdentifier } from "../../src/sql/quote.js";

/** SQL over column ids, which are written in braces: `sql("{t.a} + 1")`. */
export function sql(text: string): Expression {
  const columns = new Set<string>();
  const printed = text.replace(/\{([^}]+)\}/g, (_, id: string) => {
    columns.add(id);
    return quoteIdentifier(id);
  });
  const [only] = [...columns];
  return only !== undefined && text === `{${only}}` ? columnExpression(only) : { sql: printed, columns: [...columns] };
}

let occurrences = 0;

/** `scan("t", "a", "b")`, or `scan("t as x", "a")` for another alias. */
export function scan(table: string, ...columns: readonly string[]): Scan {
  const [source = table, alias = source] = table.split(" as ");
  occurrences += 1;
  return {
    kind: "scan",
    source,
    occurrence: occurrences,
    alias,
    columns: columns.map((name) => ({ id: `${alias}.${name}`, name })),
    version: "new",
  };
}

export function filter(input: Relation, predicate: string): Filter {
  return { kind: "filter", input, predicate: sql(predicate) };
}

/** A predicate reads the time as `{now#0}`. */
export function timeFilter(input: Relation, predicate: string): TimeFilter {
  return { kind: "time-filter", input, predicate: sql(predicate), version: "new" };
}

/** Columns as `{ id: text }`. */
export function project(input: Relation, columns: Readonly<Record<string, string>>): Project {
  return { kind: "project", input, columns: named(columns) };
}

export function join(inputs: readonly Relation[], ...predicates: readonly string[]): Join {
  return { kind: "join", inputs, predicates: predicates.map(sql) };
}

export function outerJoin(side: OuterJoin["side"], left: Relation, right: Relation, predicate: string): OuterJoin {
  return { kind: "outer-join", side, left, right, predicate: sql(predicate) };
}

/** Equalities as pairs of a left and a right expression. */
export function asofJoin(
  side: AsofJoin["side"],
  left: Relation,
  right: Relation,
  keys: readonly (readonly [string, string])[],
  order: readonly [string, AsofJoin["operator"], string],
): AsofJoin {
  const pairs = keys.map(([a, b]) => ({ left: sql(a), right: sql(b) }));
  const [from, operator, to] = order;
  return { kind: "asof-join", side, left, right, keys: pairs, order: { left: sql(from), right: sql(to) }, operator };
}

export function semiJoin(left: Relation, right: Relation, predicate: string): SemiJoin {
  return { kind: "semi-join", anti: false, left, right, predicate: sql(predicate) };
}

export function antiJoin(left: Relation, right: Relation, predicate: string): SemiJoin {
  return { ...semiJoin(left, right, predicate), anti: true };
}

/** Adds the column `mark`. */
export function markJoin(left: Relation, right: Relation, correlation: string, comparison?: string): MarkJoin {
  return {
    kind: "mark-join",
    left,
    right,
    correlation: sql(correlation),
    comparison: comparison === undefined ? null : sql(comparison),
    mark: "mark",
  };
}

/** Keys and calls as `{ id: text }`; a call's name is the text before its bracket. */
export function aggregate(
  input: Relation,
  keys: Readonly<Record<string, string>>,
  calls: Readonly<Record<string, string>> = {},
): Aggregate {
  return {
    kind: "aggregate",
    input,
    keys: named(keys),
    calls: Object.entries(calls).map(([id, text]) => call(id, text)),
  };
}

function call(id: string, text: string): AggregateCall {
  const [name = ""] = text.split("(");
  return { id, name, arguments: [], distinct: false, ordered: false, expression: sql(text) };
}

export function window(
  input: Relation,
  partition: readonly string[],
  columns: Readonly<Record<string, string>>,
): Window {
  return { kind: "window", input, partition: partition.map(sql), columns: named(columns) };
}

/** The columns of each branch, by position, under the given ids. */
export function unionAll(
  columns: readonly string[],
  ...branches: readonly (readonly [Relation, ...string[]])[]
): UnionAll {
  return { kind: "union-all", columns, branches: branches.map(([input, ...ids]) => ({ input, columns: ids })) };
}

export function repeat(input: Relation, count: string): Repeat {
  return { kind: "repeat", input, count: sql(count) };
}

export function constant(text: string, ...columns: readonly string[]): Relation {
  return { kind: "constant", sql: text, columns };
}

function named(columns: Readonly<Record<string, string>>): NamedExpression[] {
  return Object.entries(columns).map(([id, text]) => ({ id, expression: sql(text) }));
}

/** The leaves from left to right: `new t`, `old t`, `Δ t`, by alias. */
export function leaves(relation: Relation): string[] {
  if (relation.kind === "scan") return [`${relation.version} ${relation.alias}`];
  if (relation.kind === "delta-scan") return [`Δ ${relation.alias}`];
  return inputsOf(relation).flatMap(leaves);
}
