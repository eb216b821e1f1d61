import { type Ast, child, children, columnRef, conjunctsOf, mapAst, optionalChild } from "../sql/ast.js";
import type { Environment, Lowering } from "./lower.js";
import { containsAggregate, Grouping } from "./lower-aggregate.js";
import { allOf } from "./lower-from.js";
import { isSubqueryPredicate, lowerSubqueryPredicate, outerColumns, simpleFrom } from "./lower-subquery.js";
import {
  type AggregateCall,
  type ColumnId,
  columnExpression,
  type Expression,
  expression,
  keepColumns,
  type NamedExpression,
  outputOf,
  type Relation,
} from "./relation.js";
import { Resolver } from "./resolve.js";
import type { Scope } from "./scope.js";
import { Unsupported } from "./unsupported.js";

/** A subquery that stands for a value: the relation with what it needs joined to it, and the column of its value. */
export interface SubqueryValue {
  readonly relation: Relation;
  readonly value: ColumnId;
}

/** Aggregates that are NULL over no rows; counts are 0, and any other would need its own value. */
const NULL_WHEN_EMPTY = new Set([
  "sum",
  "avg",
  "mean",
  "min",
  "max",
  "median",
  "stddev",
  "stddev_samp",
  "stddev_pop",
  "variance",
  "var_samp",
  "var_pop",
  "bool_and",
  "bool_or",
  "bit_and",
  "bit_or",
  "bit_xor",
  "product",
  "first",
  "last",
  "any_value",
  "arg_min",
  "arg_max",
  "min_by",
  "max_by",
  "list",
  "array_agg",
  "string_agg",
  "mode",
  "quantile_cont",
  "quantile_disc",
]);
const ZERO_WHEN_EMPTY = new Set(["count", "count_star", "count_if"]);

export function countStar(id: ColumnId, filter?: Expression) {
  const call = filter === undefined ? expression`count(*)` : expression`count(*) FILTER (WHERE ${filter})`;
  return { id, name: "count_star", arguments: [], distinct: false, ordered: false, expression: call };
}

export function compute(lowering: Lowering, input: Relation, name: string, value: Expression): SubqueryValue {
  const id = lowering.id(name);
  return {
    relation: { kind: "project", input, columns: [...keepColumns(outputOf(input)), { id, expression: value }] },
    value: id,
  };
}

/** The parts of a correlated subquery: its own rows, and what ties them to the outer row. */
export interface Correlated {
  readonly input: Relation;
  readonly scope: Scope;
  readonly keys: readonly CorrelatedKey[];
}

interface CorrelatedKey {
  readonly inner: NamedExpression;
  readonly outer: Expression;
  /** Set where the key is the outer value itself, NULL or not, and not something that it is compared with. */
  readonly same?: true;
}

/** Takes the conditions of a correlated subquery apart; `left` are the outer rows. */
export function correlate(
  lowering: Lowering,
  left: Relation,
  node: Ast,
  outer: Scope,
  env: Environment,
  aggregates = false,
): Correlated {
  const from = simpleFrom(lowering, node, env, aggregates);
  const local = new Resolver(lowering.functions, from.scope);
  const outside = new Resolver(lowering.functions, outer);
  const both = new Resolver(lowering.functions, from.scope, [], outer);
  let input = from.relation;
  const keys: CorrelatedKey[] = [];
  const others: Ast[] = [];
  const where = optionalChild(node, "where_clause");
  for (const conjunct of where === undefined ? [] : conjunctsOf(where)) {
    if (isSubqueryPredicate(conjunct)) {
      input = lowerSubqueryPredicate(lowering, input, conjunct, from.scope, local, env);
      continue;
    }
    const own = attempt(() => local.resolve(conjunct));
    if (own !== undefined) {
      input = { kind: "filter", input, predicate: lowering.expression(own) };
      continue;
    }
    const key = equality(conjunct, local, outside);
    if (key === undefined) {
      others.push(both.resolve(conjunct));
      continue;
    }
    keys.push({
      inner: { id: lowering.id("correlated"), expression: lowering.expression(key.inner) },
      outer: lowering.expression(key.outer),
    });
  }
  if (others.length === 0) return { input, scope: from.scope, keys };
  const columns = [...new Set(others.flatMap((ast) => outerColumns(from, ast, lowering)))];
  const values = joinOuterValues(lowering, left, input, others, columns);
  return { input: values.relation, scope: from.scope, keys: [...keys, ...values.keys] };
}

/** Joins the distinct values of the outer columns to the inner rows, by conditions of any form. */
function joinOuterValues(
  lowering: Lowering,
  left: Relation,
  inner: Relation,
  conditions: readonly Ast[],
  columns: readonly ColumnId[],
): { readonly relation: Relation; readonly keys: readonly CorrelatedKey[] } {
  const values = columns.map((column) => ({ column, id: lowering.id("outer") }));
  const distinct: Relation = {
    kind: "aggregate",
    input: left,
    keys: values.map(({ column, id }) => ({ id, expression: columnExpression(column) })),
    calls: [],
  };
  const predicates = conditions.map((condition) =>
    lowering.expression(
      mapAst(condition, (part) => {
        const [name = ""] = part["class"] === "COLUMN_REF" ? (part["column_names"] as readonly string[]) : [];
        const value = values.find(({ column }) => column === name);
        return value === undefined ? undefined : columnRef([value.id]);
      }) as Ast,
    ),
  );
  const keys = values.map(({ column, id }) => ({
    inner: { id: lowering.id("correlated"), expression: columnExpression(id) },
    outer: columnExpression(column),
    same: true as const,
  }));
  return { relation: { kind: "join", inputs: [inner, distinct], predicates }, keys };
}

function equality(conjunct: Ast, local: Resolver, outside: Resolver): { inner: Ast; outer: Ast } | undefined {
  if (conjunct["type"] !== "COMPARE_EQUAL") return undefined;
  const sides = [child(conjunct, "left"), child(conjunct, "right")] as const;
  for (const [a, b] of [sides, [sides[1], sides[0]] as const]) {
    const inner = attempt(() => local.resolve(a));
    const outer = inner === undefined ? undefined : attempt(() => outside.resolve(b));
    if (inner !== undefined && outer !== undefined) return { inner, outer };
  }
  return undefined;
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Unsupported && error.reason.code === "unknown_column") return undefined;
    throw error;
  }
}

/** Groups the inner rows by the correlated columns and joins the groups to the outer rows. */
export function joinGrouped(left: Relation, correlated: Correlated, calls: readonly AggregateCall[]): Relation {
  const grouped: Relation = {
    kind: "aggregate",
    input: correlated.input,
    keys: correlated.keys.map((key) => key.inner),
    calls,
  };
  const equalities = correlated.keys.map((key) => ({
    get sql() {
      const operator = key.same === true ? "IS NOT DISTINCT FROM" : "=";
      return `(${key.outer.sql}) ${operator} ${columnExpression(key.inner.id).sql}`;
    },
    columns: [...key.outer.columns, key.inner.id],
  }));
  return { kind: "outer-join", side: "left", left, right: grouped, predicate: allOf(equalities) };
}

/** A correlated scalar subquery: an aggregate over its rows, or the value of its only row. */
export function correlatedScalar(
  lowering: Lowering,
  left: Relation,
  node: Ast,
  outer: Scope,
  env: Environment,
): SubqueryValue {
  const [item] = children(node, "select_list");
  if (item === undefined) throw new Unsupported("scalar_subquery", "a scalar subquery without a value");
  const correlated = correlate(lowering, left, node, outer, env, true);
  const local = new Resolver(lowering.functions, correlated.scope);
  const grouping = new Grouping(lowering, []);
  const resolved = local.resolve(item);
  if (!containsAggregate(lowering.functions, resolved)) {
    return onlyValue(lowering, left, correlated, lowering.expression(resolved), isDistinct(node));
  }
  const values = attachAggregates(lowering, left, correlated, grouping, [grouping.rewrite(resolved)]);
  return { relation: values.relation, value: values.columns[0] ?? "" };
}

/** Values over the aggregates of each outer row's inner rows, joined to the outer rows. */
export function attachAggregates(
  lowering: Lowering,
  left: Relation,
  correlated: Correlated,
  grouping: Grouping,
  values: readonly Ast[],
): { readonly relation: Relation; readonly columns: readonly ColumnId[] } {
  const other = grouping.calls.find((call) => !NULL_WHEN_EMPTY.has(call.name) && !ZERO_WHEN_EMPTY.has(call.name));
  if (other !== undefined) {
    throw new Unsupported("scalar_subquery", `${other.name}() in a correlated subquery has no incremental rule`);
  }
  const joined = joinGrouped(left, correlated, grouping.calls);
  // Over no rows a count is 0, where the outer join gives NULL.
  const counts = new Map<ColumnId, ColumnId>();
  const columns = grouping.calls.flatMap((call) => {
    if (!ZERO_WHEN_EMPTY.has(call.name)) return [];
    const id = lowering.id("count");
    counts.set(call.id, id);
    return [{ id, expression: expression`coalesce(${columnExpression(call.id)}, 0)` }];
  });
  const completed: Relation = {
    kind: "project",
    input: joined,
    columns: [...keepColumns(outputOf(joined)), ...columns],
  };
  const results = values.map((value) => {
    const result = mapAst(value, (part) => {
      const [name = ""] = part["class"] === "COLUMN_REF" ? (part["column_names"] as readonly string[]) : [];
      const count = counts.get(name);
      return count === undefined ? undefined : columnRef([count]);
    }) as Ast;
    return { id: lowering.id("scalar"), expression: lowering.expression(result) };
  });
  const relation: Relation = {
    kind: "project",
    input: completed,
    columns: [...keepColumns(outputOf(completed)), ...results],
  };
  return { relation, columns: results.map(({ id }) => id) };
}

/** The value of the one row that there may be for each outer row; an error where there are more, as in DuckDB. */
function onlyValue(
  lowering: Lowering,
  left: Relation,
  correlated: Correlated,
  value: Expression,
  distinct: boolean,
): SubqueryValue {
  const id = lowering.id("value");
  const rows: Relation = {
    kind: "project",
    input: correlated.input,
    columns: [...correlated.keys.map((key) => key.inner), { id, expression: value }],
  };
  const kept = [...correlated.keys.map((key) => key.inner.id), id];
  const input: Relation = distinct ? { kind: "aggregate", input: rows, keys: keepColumns(kept), calls: [] } : rows;
  const keys = correlated.keys.map((key) => ({
    ...key,
    inner: { id: lowering.id("correlated"), expression: columnExpression(key.inner.id) },
  }));
  const only = onlyRow(lowering, columnExpression(id));
  const joined = joinGrouped(left, { ...correlated, input, keys }, only.calls);
  return compute(lowering, joined, "scalar", only.value);
}

/** Aggregates that give the value of a group with one row, and fail for one with more. */
export function onlyRow(lowering: Lowering, value: Expression): { calls: readonly AggregateCall[]; value: Expression } {
  const [rows, first] = [lowering.id("rows"), lowering.id("only")];
  const call: AggregateCall = {
    id: first,
    name: "first",
    arguments: [value],
    distinct: false,
    ordered: false,
    expression: expression`first(${value})`,
  };
  return {
    calls: [countStar(rows), call],
    value: expression`CASE WHEN ${columnExpression(rows)} > 1 THEN error('${MANY_ROWS}') ELSE ${columnExpression(first)} END`,
  };
}

/** The message of the error that `onlyRow` raises. */
export const MANY_ROWS = "a scalar subquery gave more than one row";

function isDistinct(node: Ast): boolean {
  return children(node, "modifiers").some((modifier) => modifier["type"] === "DISTINCT_MODIFIER");
}
