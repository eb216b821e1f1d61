import { type Ast, child, children, columnRef, conjunctsOf, mapAst, optionalChild, text } from "../sql/ast.js";
import type { Environment, Lowering } from "./lower.js";
import { Grouping } from "./lower-aggregate.js";
import { allOf } from "./lower-from.js";
import { simpleFrom } from "./lower-subquery.js";
import {
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
]);
const ZERO_WHEN_EMPTY = new Set(["count", "count_star"]);

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
        uncorrelated(lowering, node, env, (inner, columns) => scalar(left, inner, columns)) ??
        correlatedScalar(lowering, left, node, scope, env)
      );
    case "EXISTS":
      return exists(lowering, left, node, scope, env, ">");
    case "NOT_EXISTS":
      return exists(lowering, left, node, scope, env, "=");
    case "ANY":
      return membership(lowering, left, subquery, node, resolver, env);
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

function scalar(left: Relation, inner: Relation, columns: readonly ColumnId[]): SubqueryValue {
  const [value] = columns;
  const rows = rowsOf(inner);
  if (value === undefined || rows === "many") {
    throw new Unsupported(
      "scalar_subquery",
      "a scalar subquery that is not an aggregate may give several rows and has no incremental rule",
    );
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
  const relation = whole ?? joinGrouped(left, correlate(lowering, node, scope, env), [countStar(count)]);
  return compute(lowering, relation, "exists", expression`coalesce(${columnExpression(count)}, 0) ${comparison} 0`);
}

function countStar(id: ColumnId, filter?: Expression) {
  const call = filter === undefined ? expression`count(*)` : expression`count(*) FILTER (WHERE ${filter})`;
  return { id, name: "count_star", arguments: [], distinct: false, ordered: false, expression: call };
}

/** x IN (SELECT y …) with its three answers: NULL where x or some y is NULL and nothing matches. */
function membership(
  lowering: Lowering,
  left: Relation,
  subquery: Ast,
  node: Ast,
  resolver: Resolver,
  env: Environment,
): SubqueryValue {
  if (text(subquery, "comparison_type") !== "COMPARE_EQUAL") {
    throw new Unsupported("subquery", "ANY and ALL inside an expression have no incremental rule");
  }
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
    if (planned === undefined || column === undefined || planned.columns.length !== 1) {
      throw new Unsupported(
        "correlated_subquery",
        "a correlated or multi-column IN inside an expression has no incremental rule",
      );
    }
    return { relation: planned.relation, column: columnExpression(column) };
  };
  const values = inner();
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
  const all = inner();
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

function compute(lowering: Lowering, input: Relation, name: string, value: Expression): SubqueryValue {
  const id = lowering.id(name);
  return {
    relation: { kind: "project", input, columns: [...keepColumns(outputOf(input)), { id, expression: value }] },
    value: id,
  };
}

/** The parts of a correlated subquery: its own rows, and the equalities that tie them to the outer row. */
interface Correlated {
  readonly input: Relation;
  readonly scope: Scope;
  readonly keys: readonly { readonly inner: NamedExpression; readonly outer: Expression }[];
}

function correlate(lowering: Lowering, node: Ast, outer: Scope, env: Environment, aggregates = false): Correlated {
  const from = simpleFrom(lowering, node, env, aggregates);
  const local = new Resolver(lowering.functions, from.scope);
  const outside = new Resolver(lowering.functions, outer);
  let input = from.relation;
  const keys: Correlated["keys"][number][] = [];
  const where = optionalChild(node, "where_clause");
  for (const conjunct of where === undefined ? [] : conjunctsOf(where)) {
    const own = attempt(() => local.resolve(conjunct));
    if (own !== undefined) {
      input = { kind: "filter", input, predicate: lowering.expression(own) };
      continue;
    }
    const key = equality(conjunct, local, outside);
    if (key === undefined) {
      throw new Unsupported(
        "correlated_subquery",
        "a subquery correlated by anything but equalities has no incremental rule here",
      );
    }
    keys.push({
      inner: { id: lowering.id("correlated"), expression: lowering.expression(key.inner) },
      outer: lowering.expression(key.outer),
    });
  }
  return { input, scope: from.scope, keys };
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
function joinGrouped(
  left: Relation,
  correlated: Correlated,
  calls: Extract<Relation, { kind: "aggregate" }>["calls"],
): Relation {
  const grouped: Relation = {
    kind: "aggregate",
    input: correlated.input,
    keys: correlated.keys.map((key) => key.inner),
    calls,
  };
  const equalities = correlated.keys.map((key) => ({
    get sql() {
      return `(${key.outer.sql}) = ${columnExpression(key.inner.id).sql}`;
    },
    columns: [...key.outer.columns, key.inner.id],
  }));
  return { kind: "outer-join", side: "left", left, right: grouped, predicate: allOf(equalities) };
}

function correlatedScalar(
  lowering: Lowering,
  left: Relation,
  node: Ast,
  outer: Scope,
  env: Environment,
): SubqueryValue {
  const [item] = children(node, "select_list");
  if (item === undefined) throw new Unsupported("scalar_subquery", "a scalar subquery without a value");
  const correlated = correlate(lowering, node, outer, env, true);
  const local = new Resolver(lowering.functions, correlated.scope);
  const grouping = new Grouping(lowering, []);
  const value = grouping.rewrite(local.resolve(item));
  if (grouping.calls.length === 0) {
    throw new Unsupported(
      "scalar_subquery",
      "a correlated scalar subquery that is not an aggregate has no incremental rule",
    );
  }
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
  const result = mapAst(value, (part) => {
    const [name = ""] = part["class"] === "COLUMN_REF" ? (part["column_names"] as readonly string[]) : [];
    const count = counts.get(name);
    return count === undefined ? undefined : columnRef([count]);
  }) as Ast;
  const id = lowering.id("scalar");
  return {
    relation: {
      kind: "project",
      input: completed,
      columns: [...keepColumns(outputOf(completed)), { id, expression: lowering.expression(result) }],
    },
    value: id,
  };
}
