import { type Ast, child, text } from "../sql/ast.js";
import type { Environment, Lowering } from "./lower.js";
import {
  compute,
  correlate,
  correlatedScalar,
  countStar,
  joinGrouped,
  onlyRow,
  type SubqueryValue,
} from "./lower-correlated.js";
import { allOf } from "./lower-from.js";
import { comparisonsOf, lowerInner } from "./lower-subquery.js";
import {
  type ColumnId,
  columnExpression,
  type Expression,
  expression,
  keepColumns,
  outputOf,
  type Relation,
} from "./relation.js";
import type { Resolver } from "./resolve.js";
import type { Scope } from "./scope.js";
import { Unsupported } from "./unsupported.js";

const TRUE: Expression = { sql: "true", columns: [] };

/**
 * Scalar subqueries, EXISTS and IN where they stand inside an expression. An uncorrelated one is joined as its single
 * row; a correlated one is grouped by the columns it is correlated on and joined by them.
 */
export function attachSubquery(
  lowering: Lowering,
  left: Relation,
  subquery: Ast,
  scope: Scope,
  resolver: Resolver,
  env: Environment,
): SubqueryValue {
  const node = child(child(subquery, "subquery"), "node");
  switch (text(subquery, "subquery_type")) {
    case "SCALAR":
      return (
        uncorrelated(lowering, node, env, (inner, columns) => scalar(lowering, left, inner, columns)) ??
        correlatedScalar(lowering, left, node, scope, env)
      );
    case "EXISTS":
      return exists(lowering, left, node, scope, env, ">");
    case "NOT_EXISTS":
      return exists(lowering, left, node, scope, env, "=");
    case "ANY":
      return (
        membership(lowering, left, subquery, node, resolver, env) ??
        mark(lowering, left, subquery, node, scope, resolver, env)
      );
    default:
      throw new Unsupported("subquery", "a subquery of this form has no incremental rule");
  }
}

/** Plans the subquery by itself; undefined where it names columns of the outer query. */
function uncorrelated<Result>(
  lowering: Lowering,
  node: Ast,
  env: Environment,
  use: (relation: Relation, columns: readonly ColumnId[]) => Result,
): Result | undefined {
  try {
    const query = lowering.query(node, env);
    return use(
      query.relation,
      query.columns.map((column) => column.id),
    );
  } catch (error) {
    if (error instanceof Unsupported && error.reason.code === "unknown_column") return undefined;
    throw error;
  }
}

function scalar(lowering: Lowering, left: Relation, inner: Relation, columns: readonly ColumnId[]): SubqueryValue {
  const [value] = columns;
  if (value === undefined) throw new Unsupported("scalar_subquery", "a scalar subquery without a value");
  const rows = rowsOf(inner);
  if (rows === "many") {
    const only = onlyRow(lowering, columnExpression(value));
    const one: Relation = { kind: "aggregate", input: inner, keys: [], calls: only.calls };
    const checked = compute(lowering, one, "scalar", only.value);
    return { relation: { kind: "join", inputs: [left, checked.relation], predicates: [] }, value: checked.value };
  }
  const relation: Relation =
    rows === "one"
      ? { kind: "join", inputs: [left, inner], predicates: [] }
      : { kind: "outer-join", side: "left", left, right: inner, predicate: TRUE };
  return { relation, value };
}

function rowsOf(relation: Relation): "one" | "at most one" | "many" {
  switch (relation.kind) {
    case "aggregate":
      return relation.keys.length === 0 ? "one" : "many";
    case "project":
      return rowsOf(relation.input);
    case "filter":
      return rowsOf(relation.input) === "many" ? "many" : "at most one";
    default:
      return "many";
  }
}

function exists(
  lowering: Lowering,
  left: Relation,
  node: Ast,
  scope: Scope,
  env: Environment,
  comparison: ">" | "=",
): SubqueryValue {
  const count = lowering.id("count");
  const whole = uncorrelated(lowering, node, env, (inner): Relation => {
    const counted: Relation = { kind: "aggregate", input: inner, keys: [], calls: [countStar(count)] };
    return { kind: "join", inputs: [left, counted], predicates: [] };
  });
  const relation = whole ?? joinGrouped(left, correlate(lowering, left, node, scope, env), [countStar(count)]);
  return compute(lowering, relation, "exists", expression`coalesce(${columnExpression(count)}, 0) ${comparison} 0`);
}

/**
 * x IN (SELECT y …), uncorrelated, with its three answers: NULL where x or some y is NULL and nothing matches.
 * Undefined for all other forms.
 */
function membership(
  lowering: Lowering,
  left: Relation,
  subquery: Ast,
  node: Ast,
  resolver: Resolver,
  env: Environment,
): SubqueryValue | undefined {
  if (text(subquery, "comparison_type") !== "COMPARE_EQUAL") return undefined;
  const subject = lowering.id("subject");
  const tested: Relation = {
    kind: "project",
    input: left,
    columns: [
      ...keepColumns(outputOf(left)),
      { id: subject, expression: lowering.expression(resolver.resolve(child(subquery, "child"))) },
    ],
  };
  const inner = () => {
    const planned = uncorrelated(lowering, node, env, (relation, columns) => ({ relation, columns }));
    const [column] = planned?.columns ?? [];
    if (planned === undefined || column === undefined || planned.columns.length !== 1) return undefined;
    return { relation: planned.relation, column: columnExpression(column) };
  };
  const values = inner();
  // Planned twice, since both uses need columns of their own.
  const all = inner();
  if (values === undefined || all === undefined) return undefined;
  const match = lowering.id("match");
  const distinct: Relation = {
    kind: "aggregate",
    input: values.relation,
    keys: [{ id: match, expression: values.column }],
    calls: [],
  };
  const joined: Relation = {
    kind: "outer-join",
    side: "left",
    left: tested,
    right: distinct,
    predicate: expression`${columnExpression(subject)} = ${columnExpression(match)}`,
  };
  const [total, nulls] = [lowering.id("total"), lowering.id("nulls")];
  const counted: Relation = {
    kind: "aggregate",
    input: all.relation,
    keys: [],
    calls: [countStar(total), countStar(nulls, expression`${all.column} IS NULL`)],
  };
  const relation: Relation = { kind: "join", inputs: [joined, counted], predicates: [] };
  const [x, m, n, none] = [subject, match, nulls, total].map(columnExpression) as [
    Expression,
    Expression,
    Expression,
    Expression,
  ];
  return compute(
    lowering,
    relation,
    "in",
    expression`CASE WHEN ${m} IS NOT NULL THEN true WHEN ${none} = 0 THEN false WHEN ${x} IS NULL OR ${n} > 0 THEN NULL ELSE false END`,
  );
}

/** Any comparison with the rows of a subquery, however they are correlated, as a column of the outer rows. */
function mark(
  lowering: Lowering,
  left: Relation,
  subquery: Ast,
  node: Ast,
  scope: Scope,
  resolver: Resolver,
  env: Environment,
): SubqueryValue {
  const inner = lowerInner(lowering, node, scope, env);
  const comparisons = comparisonsOf(lowering, subquery, inner, resolver, false);
  const value = lowering.id("any");
  const relation: Relation = {
    kind: "mark-join",
    left,
    right: inner.relation,
    correlation: allOf(inner.correlations),
    comparison: allOf(comparisons),
    mark: value,
  };
  return { relation, value };
}
