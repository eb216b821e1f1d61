import { type Ast, child, children, fingerprint, isAst, optionalChild, text } from "../sql/ast.js";
import { sameName } from "../sql/quote.js";
import type { LoweredQuery, Lowering } from "./lower.js";
import { columnExpression, type Expression, keepColumns, type Relation } from "./relation.js";
import { Resolver } from "./resolve.js";
import { Scope } from "./scope.js";
import { Unsupported } from "./unsupported.js";

/** The ORDER BY and LIMIT of a query; undefined where it has no LIMIT, since an order alone says nothing of a bag. */
export interface LimitClause {
  readonly orders: readonly Ast[];
  readonly limit: string | null;
  readonly offset: string | null;
}

export function limitClause(node: Ast): LimitClause | undefined {
  const modifiers = children(node, "modifiers");
  if (modifiers.some((modifier) => modifier["type"] === "LIMIT_PERCENT_MODIFIER")) {
    throw new Unsupported("limit", "LIMIT by a percentage has no incremental rule");
  }
  const clause = modifiers.find((modifier) => modifier["type"] === "LIMIT_MODIFIER");
  if (clause === undefined) return undefined;
  const orders = modifiers
    .filter((modifier) => modifier["type"] === "ORDER_MODIFIER")
    .flatMap((modifier) => children(modifier, "orders"));
  return { orders, limit: constant(optionalChild(clause, "limit")), offset: constant(optionalChild(clause, "offset")) };
}

function constant(ast: Ast | undefined): string | null {
  if (ast === undefined) return null;
  const value = isAst(ast["value"]) ? ast["value"]["value"] : undefined;
  if (ast["class"] === "CONSTANT" && (typeof value === "number" || typeof value === "bigint")) return String(value);
  throw new Unsupported("limit", "a LIMIT that is not a number has no incremental rule");
}

/**
 * The query with its sort expressions as further columns, so that they are resolved where the SELECT's own names are
 * known. Only a plain SELECT can have sort expressions that are not among its columns.
 */
export function withSortColumns(node: Ast, clause: LimitClause): Ast {
  if (node["type"] !== "SELECT_NODE") return node;
  const distinct = children(node, "modifiers").some((modifier) => modifier["type"] === "DISTINCT_MODIFIER");
  const list = children(node, "select_list");
  const hidden = clause.orders.map((order) => child(order, "expression")).filter((ast) => !isColumnOf(list, ast));
  if (hidden.length === 0 || distinct) return node;
  return {
    ...node,
    select_list: [...list, ...hidden.map((ast, index) => ({ ...ast, alias: `${SORT_COLUMN}${index}` }))],
  };
}

const SORT_COLUMN = "_ivm_sort";

/** True where ORDER BY means a column of the result: by its place, its name, or as the same expression. */
function isColumnOf(list: readonly Ast[], ast: Ast): boolean {
  if (ast["class"] === "CONSTANT" || isAll(ast)) return true;
  const names = ast["class"] === "COLUMN_REF" ? (ast["column_names"] as readonly string[]) : [];
  const [name = ""] = names.length === 1 ? names : [];
  if (list.some((item) => item["class"] === "STAR")) return names.length === 1;
  return list.some((item) => sameName(nameOf(item), name) || fingerprint(item) === fingerprint(ast));
}

/** ORDER BY ALL: by all columns, from the first on. */
function isAll(ast: Ast): boolean {
  return ast["class"] === "STAR" && optionalChild(ast, "expr") === undefined && text(ast, "relation_name") === "";
}

function nameOf(item: Ast): string {
  const names = item["class"] === "COLUMN_REF" ? (item["column_names"] as readonly string[]) : [];
  return text(item, "alias") || (names.at(-1) ?? "");
}

/** Applies the clause to the lowered query and takes the sort columns off again. */
export function lowerLimit(lowering: Lowering, lowered: LoweredQuery, node: Ast, clause: LimitClause): LoweredQuery {
  const list = children(node, "select_list");
  const resolver = new Resolver(lowering.functions, new Scope([{ alias: "", columns: lowered.columns }]));
  let hidden = lowered.columns.findIndex((column) => column.name === `${SORT_COLUMN}0`);
  const visible = hidden < 0 ? lowered.columns : lowered.columns.slice(0, hidden);
  const star = list.some((item) => item["class"] === "STAR");
  const orders = clause.orders.flatMap((order) => {
    const ast = child(order, "expression");
    if (isAll(ast)) {
      return visible.map(({ id }) => ({ expression: columnExpression(id), direction: direction(order) }));
    }
    const value = (): Expression => {
      const position = isAst(ast["value"]) ? lowered.columns[Number(ast["value"]["value"]) - 1] : undefined;
      if (ast["class"] === "CONSTANT" && position !== undefined) return columnExpression(position.id);
      const index = star ? -1 : list.findIndex((item) => fingerprint(item) === fingerprint(ast));
      const same = lowered.columns[index];
      const written = ast["class"] === "COLUMN_REF" ? (ast["column_names"] as readonly string[]) : [];
      const named = written.length === 1 && visible.some((column) => sameName(column.name, written[0] ?? ""));
      if (node["type"] === "SELECT_NODE" && !isColumnOf(list, ast) && hidden >= 0) {
        const column = lowered.columns[hidden];
        hidden += 1;
        if (column !== undefined) return columnExpression(column.id);
      }
      return same !== undefined && !named
        ? columnExpression(same.id)
        : lowering.expression(resolver.resolve(stripTable(ast)));
    };
    return [{ expression: value(), direction: direction(order) }];
  });
  const limited: Relation = {
    kind: "limit",
    input: lowered.relation,
    orders,
    limit: clause.limit,
    offset: clause.offset,
  };
  if (visible.length === lowered.columns.length) return { ...lowered, relation: limited };
  return {
    relation: { kind: "project", input: limited, columns: keepColumns(visible.map((column) => column.id)) },
    columns: visible,
  };
}

/** `t.a` among the columns of a result is its column `a`. */
function stripTable(ast: Ast): Ast {
  const names = ast["class"] === "COLUMN_REF" ? (ast["column_names"] as readonly string[]) : [];
  return names.length > 1 ? { ...ast, column_names: names.slice(-1) } : ast;
}

export function direction(order: Ast): string {
  const descending = text(order, "type") === "DESCENDING" ? "DESC" : "ASC";
  return text(order, "null_order") === "NULLS FIRST" ? `${descending} NULLS FIRST` : `${descending} NULLS LAST`;
}
