import { type Ast, child, children, conjunctsOf, functionCall, optionalChild, text, texts } from "../sql/ast.js";
import type { Environment, Lowering } from "./lower.js";
import { containsAggregate, Grouping } from "./lower-aggregate.js";
import { attachAggregates, correlate } from "./lower-correlated.js";
import { allOf, type FromResult, innerJoin } from "./lower-from.js";
import { lowerCorrelated, outerColumns, simpleFrom } from "./lower-subquery.js";
import { type ColumnId, type Expression, keepColumns, outputOf, type Relation } from "./relation.js";
import { expandStars, Resolver } from "./resolve.js";
import { Scope } from "./scope.js";
import { Unsupported } from "./unsupported.js";

/** Table functions whose rows are the elements of a list that a function of the same name gives. */
const LIST_FUNCTIONS = new Set(["unnest", "range", "generate_series"]);

/** The right side of a join that names columns of the left side. */
export function lowerLateral(
  lowering: Lowering,
  join: Ast,
  left: FromResult,
  right: Ast,
  env: Environment,
): FromResult {
  const type = text(join, "join_type");
  const condition = optionalChild(join, "condition");
  const plain = condition === undefined || isTrue(condition);
  if ((type !== "INNER" && type !== "LEFT") || texts(join, "using_columns").length > 0) throw unsupported();
  if (right["type"] === "TABLE_FUNCTION") {
    if (type === "LEFT") throw unsupported();
    return filtered(lowering, listElements(lowering, left, right), condition);
  }
  const node = child(child(right, "subquery"), "node");
  const aliases = { alias: text(right, "alias") || "subquery", columns: texts(right, "column_name_alias") };
  if (children(node, "modifiers").some((modifier) => modifier["type"] === "DISTINCT_MODIFIER")) throw unsupported();
  if (children(node, "select_list").some((item) => containsAggregate(lowering.functions, item))) {
    // An aggregate has one row for each outer row, so there is nothing to pad.
    if (type === "LEFT" && !plain) throw unsupported();
    return filtered(lowering, aggregates(lowering, left, node, env, aliases), condition);
  }
  if (type === "LEFT") return outerRows(lowering, left, node, env, aliases, condition);
  return filtered(lowering, rows(lowering, left, node, env, aliases), condition);
}

interface Aliases {
  readonly alias: string;
  readonly columns: readonly string[];
}

/** The left columns and those that the right side adds. */
function extended(
  left: FromResult,
  relation: Relation,
  aliases: Aliases,
  added: readonly { readonly name: string; readonly id: ColumnId }[],
): FromResult {
  const columns = added.map(({ name, id }, index) => ({ name: aliases.columns[index] ?? name, id }));
  return { relation, scope: left.scope.join(new Scope([{ alias: aliases.alias, columns }])) };
}

function filtered(lowering: Lowering, from: FromResult, condition: Ast | undefined): FromResult {
  if (condition === undefined || isTrue(condition)) return from;
  const predicate = lowering.expression(new Resolver(lowering.functions, from.scope).resolve(condition));
  return { ...from, relation: { kind: "filter", input: from.relation, predicate } };
}

/** `true` as DuckDB's parser writes it. */
function isTrue(condition: Ast): boolean {
  const value = condition["class"] === "CAST" ? optionalChild(child(condition, "child"), "value") : undefined;
  return value?.["value"] === "t";
}

function listElements(lowering: Lowering, left: FromResult, right: Ast): FromResult {
  const call = child(right, "function");
  const name = text(call, "function_name").toLowerCase();
  if (!LIST_FUNCTIONS.has(name) || (name === "unnest" && children(call, "children").length !== 1)) throw unsupported();
  const resolver = new Resolver(lowering.functions, left.scope);
  const args = children(call, "children").map((argument) => resolver.resolve(argument));
  const list = name === "unnest" ? args : [functionCall(name, args)];
  const alias = text(right, "alias");
  const id = lowering.id(alias || name);
  const relation: Relation = {
    kind: "project",
    input: left.relation,
    columns: [
      ...keepColumns(outputOf(left.relation)),
      { id, expression: lowering.expression(functionCall("unnest", list)) },
    ],
  };
  const aliases = { alias: alias || name, columns: texts(right, "column_name_alias") };
  return extended(left, relation, aliases, [{ name: alias || name, id }]);
}

/** A correlated SELECT of rows: an inner join, above which its columns are computed. */
function rows(lowering: Lowering, left: FromResult, node: Ast, env: Environment, aliases: Aliases): FromResult {
  const from = simpleFrom(lowering, node, env);
  const both = new Resolver(lowering.functions, from.scope, [], left.scope);
  const predicates: Expression[] = [];
  let inner = from.relation;
  const where = optionalChild(node, "where_clause");
  for (const conjunct of where === undefined ? [] : conjunctsOf(where)) {
    const ast = both.resolve(conjunct);
    const predicate = lowering.expression(ast);
    if (outerColumns(from, ast, lowering).length > 0) predicates.push(predicate);
    else inner = { kind: "filter", input: inner, predicate };
  }
  const items = expandStars(children(node, "select_list"), from.scope).map((item) => {
    const ast = item.resolved ? item.ast : both.resolve(item.ast);
    return { name: item.name, id: lowering.id(item.name || "column"), expression: lowering.expression(ast) };
  });
  const relation: Relation = {
    kind: "project",
    input: innerJoin(left.relation, inner, predicates),
    columns: [...keepColumns(outputOf(left.relation)), ...items.map(({ id, expression }) => ({ id, expression }))],
  };
  return extended(left, relation, aliases, items);
}

/** LEFT JOIN LATERAL: the conditions inside are conditions of the join, where only they name outer columns. */
function outerRows(
  lowering: Lowering,
  left: FromResult,
  node: Ast,
  env: Environment,
  aliases: Aliases,
  condition: Ast | undefined,
): FromResult {
  const inner = lowerCorrelated(lowering, node, left.scope, env);
  const joined = extended(left, left.relation, aliases, inner.columns);
  const resolver = new Resolver(lowering.functions, joined.scope);
  const on = condition === undefined ? [] : [lowering.expression(resolver.resolve(condition))];
  const relation: Relation = {
    kind: "outer-join",
    side: "left",
    left: left.relation,
    right: inner.relation,
    predicate: allOf([...inner.correlations, ...on]),
  };
  return { relation, scope: joined.scope };
}

/** A correlated SELECT of aggregates over all its rows: one row for each outer row. */
function aggregates(lowering: Lowering, left: FromResult, node: Ast, env: Environment, aliases: Aliases): FromResult {
  const correlated = correlate(lowering, left.relation, node, left.scope, env, true);
  const local = new Resolver(lowering.functions, correlated.scope);
  const grouping = new Grouping(lowering, []);
  const items = expandStars(children(node, "select_list"), correlated.scope);
  const values = items.map((item) => grouping.rewrite(local.resolve(item.ast)));
  const attached = attachAggregates(lowering, left.relation, correlated, grouping, values);
  const added = items.map((item, index) => ({ name: item.name, id: attached.columns[index] ?? "" }));
  return extended(left, attached.relation, aliases, added);
}

function unsupported(): Unsupported {
  return new Unsupported("lateral", "rows that depend on another table of the same FROM have no rule in this form");
}
