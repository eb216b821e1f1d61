import { type Ast, child, children, columnRef, conjunctsOf, optionalChild, text, walkAst } from "../sql/ast.js";
import type { Environment, LoweredQuery, Lowering } from "./lower.js";
import { containsAggregate } from "./lower-aggregate.js";
import { allOf, type FromResult, lowerFrom } from "./lower-from.js";
import { CLOCK, type Expression, type Relation } from "./relation.js";
import { expandStars, Resolver } from "./resolve.js";
import type { Scope } from "./scope.js";
import { Unsupported } from "./unsupported.js";

/** [NOT] EXISTS (…) and x [NOT] IN (…), which are semi and anti joins where they stand as a conjunct of WHERE. */
export function isSubqueryPredicate(ast: Ast): boolean {
  const { subquery } = withoutNot(ast);
  return subquery["class"] === "SUBQUERY" && ["EXISTS", "NOT_EXISTS", "ANY"].includes(text(subquery, "subquery_type"));
}

function withoutNot(ast: Ast): { subquery: Ast; negated: boolean } {
  if (ast["type"] !== "OPERATOR_NOT") return { subquery: ast, negated: false };
  const [inner] = children(ast, "children");
  if (inner === undefined) return { subquery: ast, negated: false };
  const nested = withoutNot(inner);
  return { subquery: nested.subquery, negated: !nested.negated };
}

const COMPARISONS: Readonly<Record<string, string>> = {
  COMPARE_EQUAL: "=",
  COMPARE_NOTEQUAL: "<>",
  COMPARE_LESSTHAN: "<",
  COMPARE_GREATERTHAN: ">",
  COMPARE_LESSTHANOREQUALTO: "<=",
  COMPARE_GREATERTHANOREQUALTO: ">=",
};

export function lowerSubqueryPredicate(
  lowering: Lowering,
  left: Relation,
  conjunct: Ast,
  scope: Scope,
  resolver: Resolver,
  env: Environment,
): Relation {
  const { subquery, negated } = withoutNot(conjunct);
  const node = child(child(subquery, "subquery"), "node");
  const type = text(subquery, "subquery_type");
  const inner = lowerInner(lowering, node, scope, env);
  if (type !== "ANY") {
    const anti = negated !== (type === "NOT_EXISTS");
    return { kind: "semi-join", anti, left, right: inner.relation, predicate: allOf(inner.correlations) };
  }
  const comparisons = comparisonsOf(lowering, subquery, inner, resolver, !negated);
  if (!negated) {
    return {
      kind: "semi-join",
      anti: false,
      left,
      right: inner.relation,
      predicate: allOf([...inner.correlations, ...comparisons]),
    };
  }
  // NOT IN holds only where every comparison is false: a NULL on either side keeps the row out.
  const [single] = comparisons;
  if (single === undefined) throw new Unsupported("subquery", "NOT IN without a column");
  const notFalse: Expression = {
    get sql() {
      return `(${single.sql}) IS DISTINCT FROM false`;
    },
    columns: single.columns,
  };
  return {
    kind: "semi-join",
    anti: true,
    left,
    right: inner.relation,
    predicate: allOf([...inner.correlations, notFalse]),
  };
}

/**
 * `x op ANY (…)`: comparisons that must all hold; only one where NULL is not as good as false. Of several columns only
 * equality has a rule: what DuckDB answers for other comparisons with NULL inside depends on how it runs the query.
 */
export function comparisonsOf(
  lowering: Lowering,
  subquery: Ast,
  inner: LoweredQuery,
  resolver: Resolver,
  nullIsFalse: boolean,
): Expression[] {
  const subject = child(subquery, "child");
  const tuple = subject["class"] === "FUNCTION" && text(subject, "function_name") === "row" && inner.columns.length > 1;
  const subjects = (tuple ? children(subject, "children") : [subject]).map((ast) => resolver.resolve(ast));
  const operator = COMPARISONS[text(subquery, "comparison_type")];
  const fits = !tuple || operator === "=";
  if (operator === undefined || subjects.length !== inner.columns.length || !fits) {
    throw new Unsupported(
      "subquery",
      tuple
        ? "a comparison of several columns with a subquery by anything but IN or NOT IN has no incremental rule"
        : "this comparison with a subquery has no incremental rule",
    );
  }
  const comparisons = subjects.map((ast, index) => {
    const value = columnRef([inner.columns[index]?.id ?? ""]);
    return lowering.expression(comparison(text(subquery, "comparison_type"), ast, value));
  });
  return nullIsFalse || !tuple ? comparisons : [tupleEquality(comparisons)];
}

/** As DuckDB compares tuples with those of a subquery: NULL wherever some part of one is NULL, whatever the others are. */
function tupleEquality(parts: readonly Expression[]): Expression {
  const all = allOf(parts);
  return {
    get sql() {
      const unknown = parts.map((part) => `(${part.sql}) IS NULL`).join(" OR ");
      return `CASE WHEN ${unknown} THEN NULL ELSE ${all.sql} END`;
    },
    columns: all.columns,
  };
}

function comparison(type: string, left: Ast, right: Ast): Ast {
  return { class: "COMPARISON", type, alias: "", query_location: 0, left: { ...left, alias: "" }, right };
}

export interface Inner extends LoweredQuery {
  /** Conditions that name columns of the outer query. */
  readonly correlations: readonly Expression[];
}

/** A subquery by itself, or, where it names outer columns in its WHERE, with those conditions taken out of it. */
export function lowerInner(lowering: Lowering, node: Ast, outer: Scope, env: Environment): Inner {
  try {
    return { ...lowering.query(node, env), correlations: [] };
  } catch (error) {
    if (!(error instanceof Unsupported) || error.reason.code !== "unknown_column") throw error;
    return lowerCorrelated(lowering, node, outer, env);
  }
}

export function lowerCorrelated(lowering: Lowering, node: Ast, outer: Scope, env: Environment): Inner {
  const from = simpleFrom(lowering, node, env);
  const items = expandStars(children(node, "select_list"), from.scope);
  const local = new Resolver(lowering.functions, from.scope);
  const both = new Resolver(lowering.functions, from.scope, [], outer);
  let { relation } = from;
  const correlations: Expression[] = [];
  const where = optionalChild(node, "where_clause");
  for (const conjunct of where === undefined ? [] : conjunctsOf(where)) {
    const ast = isSubqueryPredicate(conjunct) ? undefined : both.resolve(conjunct);
    if (ast === undefined) {
      relation = lowerSubqueryPredicate(lowering, relation, conjunct, from.scope, local, env);
    } else if (outerColumns(from, ast, lowering).length === 0) {
      relation = { kind: "filter", input: relation, predicate: lowering.expression(ast) };
    } else {
      correlations.push(lowering.expression(ast));
    }
  }
  const columns = items.map((item) => {
    const ast = item.resolved ? item.ast : local.resolve(item.ast);
    return { name: item.name, id: lowering.id(item.name || "column"), expression: lowering.expression(ast) };
  });
  const kept = idsOf(from);
  const needed = kept.filter((id) => correlations.some((correlation) => correlation.columns.includes(id)));
  relation = {
    kind: "project",
    input: relation,
    columns: [
      ...columns.map(({ id, expression }) => ({ id, expression })),
      ...needed.map((id) => ({ id, expression: { sql: `"${id.replaceAll('"', '""')}"`, columns: [id], ref: id } })),
    ],
  };
  return { relation, columns: columns.map(({ name, id }) => ({ name, id })), correlations };
}

/** The FROM of a SELECT that is nothing but FROM and WHERE, and, where they are allowed, aggregates over all of it. */
export function simpleFrom(lowering: Lowering, node: Ast, env: Environment, aggregates = false): FromResult {
  const from = optionalChild(node, "from_table");
  const simple =
    node["type"] === "SELECT_NODE" &&
    from !== undefined &&
    children(node, "group_expressions").length === 0 &&
    optionalChild(node, "having") === undefined &&
    optionalChild(node, "qualify") === undefined &&
    children(node, "modifiers").every(
      (modifier) => modifier["type"] !== "LIMIT_MODIFIER" && modifier["type"] !== "LIMIT_PERCENT_MODIFIER",
    ) &&
    children(child(node, "cte_map"), "map").length === 0 &&
    !children(node, "select_list").some(
      (ast) => (!aggregates && containsAggregate(lowering.functions, ast)) || containsWindow(ast),
    );
  if (!simple || from === undefined) {
    throw new Unsupported("correlated_subquery", "a correlated subquery of this form has no incremental rule");
  }
  return lowerFrom(lowering, from, env);
}

function containsWindow(ast: Ast): boolean {
  let found = false;
  walkAst(ast, (node) => {
    if (node["class"] === "WINDOW") found = true;
    return !found;
  });
  return found;
}

/** Every column that the FROM gives, those that USING made included. */
function idsOf(from: FromResult): string[] {
  const columns = from.scope.tables.flatMap((table) => table.columns.map((column) => column.id));
  return [...new Set([...columns, ...from.scope.merged.map((merged) => merged.id)])];
}

/** The columns of the outer query that a resolved condition names. */
export function outerColumns(from: FromResult, ast: Ast, lowering: Lowering): readonly string[] {
  const own = new Set([...idsOf(from), CLOCK]);
  const outer = new Set<string>();
  walkAst(ast, (node) => {
    if (node["class"] === "COLUMN_REF") {
      const [name = ""] = node["column_names"] as readonly string[];
      if (lowering.known.has(name) && !own.has(name)) outer.add(name);
    }
    return undefined;
  });
  return [...outer];
}
