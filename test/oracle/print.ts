/** Prints the oracle's syntax tree as SQL. */

import type { Expression, Input, Item, Query, Select } from "./ast.js";

const PLAIN = /^[a-z_][a-z0-9_]*$/;
const RESERVED = new Set(["order", "group", "select", "from", "where", "at", "limit", "user", "end", "all", "table"]);

/** Quotes a name only where it must be, so that scripts stay readable and unquoted names are tested too. */
export function identifier(name: string): string {
  return PLAIN.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

export function path(parts: readonly string[]): string {
  return parts.map(identifier).join(".");
}

export function printExpression(expression: Expression): string {
  switch (expression.kind) {
    case "column":
      return expression.relation === null ? identifier(expression.name) : path([expression.relation, expression.name]);
    case "literal":
      return expression.sql;
    case "call": {
      const filter = expression.filter === null ? "" : ` FILTER (WHERE ${printExpression(expression.filter)})`;
      return interleave(expression.parts, expression.args.map(printExpression)) + filter;
    }
    case "subquery":
      return interleave(expression.parts, [...expression.args.map(printExpression), printQuery(expression.query)]);
  }
}

export function printQuery(query: Query): string {
  const ctes = query.ctes.map((cte) => {
    const columns = cte.columns === null ? "" : `(${cte.columns.map(identifier).join(", ")})`;
    return `${identifier(cte.name)}${columns} AS ${cte.materialized ? "MATERIALIZED " : ""}(${printQuery(cte.query)})`;
  });
  const head = ctes.length === 0 ? "" : `WITH ${query.recursive ? "RECURSIVE " : ""}${ctes.join(", ")} `;
  return `${head}${printBody(query.body)}${printTail(query)}`;
}

function printBody(body: Query["body"]): string {
  switch (body.kind) {
    case "select":
      return printSelect(body);
    case "values":
      return `VALUES ${body.rows.map((row) => `(${row.map(printExpression).join(", ")})`).join(", ")}`;
    case "set":
      return `${printBranch(body.left)} ${body.operator} ${printBranch(body.right)}`;
  }
}

function printBranch(query: Query): string {
  const bare = query.ctes.length === 0 && query.tail === null && query.body.kind === "select";
  return bare ? printQuery(query) : `(${printQuery(query)})`;
}

function printTail(query: Query): string {
  if (query.tail === null) return "";
  const order = query.tail.descending ? " ORDER BY ALL DESC NULLS LAST" : " ORDER BY ALL";
  if (query.tail.limit === null) return order;
  return `${order} LIMIT ${query.tail.limit}${query.tail.offset === 0 ? "" : ` OFFSET ${query.tail.offset}`}`;
}

function printSelect(select: Select): string {
  let sql = `SELECT ${select.distinct ? "DISTINCT " : ""}${select.items.map(printItem).join(", ")}`;
  if (select.from.length > 0) sql += ` FROM ${select.from.map(printInput).join(", ")}`;
  if (select.where !== null) sql += ` WHERE ${printExpression(select.where)}`;
  sql += printGrouping(select);
  if (select.having !== null) sql += ` HAVING ${printExpression(select.having)}`;
  if (select.qualify !== null) sql += ` QUALIFY ${printExpression(select.qualify)}`;
  return sql;
}

function printItem(item: Item): string {
  if (item.kind === "star") return item.sql;
  const sql = printExpression(item.expression);
  return item.alias === null ? sql : `${sql} AS ${identifier(item.alias)}`;
}

function printGrouping(select: Select): string {
  const grouping = select.grouping;
  if (grouping === null) return "";
  if (grouping.kind === "all") return " GROUP BY ALL";
  if (grouping.kind === "sets") return ` GROUP BY ${grouping.how} (${grouping.keys.map(printExpression).join(", ")})`;
  if (grouping.keys.length === 0) return "";
  const keys = grouping.keys.map((key) => {
    const position = select.items.findIndex((item) => item.kind === "expression" && item.alias === key.item);
    if (key.item === null || position === -1 || key.by === "expression") return printExpression(key.expression);
    return key.by === "ordinal" ? String(position + 1) : identifier(key.item);
  });
  return ` GROUP BY ${keys.join(", ")}`;
}

function printInput(input: Input): string {
  switch (input.kind) {
    case "table":
      return path(input.path) + (input.alias === null ? "" : ` AS ${identifier(input.alias)}`);
    case "text":
      return `(${input.sql}) AS ${identifier(input.alias)}`;
    case "derived":
      return `${input.lateral ? "LATERAL " : ""}(${printQuery(input.query)}) AS ${identifier(input.alias)}`;
    case "join": {
      const right = input.right.kind === "join" ? `(${printInput(input.right)})` : printInput(input.right);
      const word = input.type === "INNER" ? "JOIN" : `${input.type} JOIN`;
      const { condition } = input;
      const natural = condition.kind === "natural" ? "NATURAL " : "";
      const sql = `${printInput(input.left)} ${natural}${word} ${right}`;
      if (condition.kind === "on") return `${sql} ON ${printExpression(condition.predicate)}`;
      if (condition.kind === "using") return `${sql} USING (${condition.columns.map(identifier).join(", ")})`;
      return sql;
    }
  }
}

function interleave(parts: readonly string[], args: readonly string[]): string {
  return parts.map((part, index) => part + (args[index] ?? "")).join("");
}
