/** Smaller forms of a query. Many are not valid; the run on plain DuckDB finds that out and discards them. */

import {
  type Expression,
  type Grouping,
  type GroupKey,
  type Input,
  type Item,
  type JoinInput,
  literal,
  type Query,
  type Select,
} from "../ast.js";
import { each, fewer } from "./lists.js";

export function* smallerQuery(query: Query): Generator<Query> {
  for (const ctes of fewer(query.ctes)) yield { ...query, ctes };
  if (query.tail !== null) yield { ...query, tail: null };
  for (const body of smallerBody(query.body)) {
    if ("body" in body) {
      yield { ...body, ctes: [...query.ctes, ...body.ctes] };
    } else yield { ...query, body };
  }
  const smallerCte = (cte: Query["ctes"][number]) =>
    mapped(smallerQuery(cte.query), (inside) => ({ ...cte, query: inside }));
  for (const ctes of each(query.ctes, smallerCte)) yield { ...query, ctes };
}

function* smallerBody(body: Query["body"]): Generator<Query["body"] | Query> {
  switch (body.kind) {
    case "select":
      yield* smallerSelect(body);
      // The whole of `SELECT … FROM (query)` may be needed no more than the query.
      if (body.from.length === 1 && body.from[0]?.kind === "derived") yield body.from[0].query;
      return;
    case "values":
      for (const rows of fewer(body.rows, 1)) yield { ...body, rows };
      return;
    case "set":
      yield body.left;
      yield body.right;
      for (const left of smallerQuery(body.left)) yield { ...body, left };
      for (const right of smallerQuery(body.right)) yield { ...body, right };
  }
}

function* smallerSelect(block: Select): Generator<Select> {
  for (const from of fewer(block.from, 1)) yield { ...block, from };
  if (block.qualify !== null) yield { ...block, qualify: null };
  if (block.having !== null) yield { ...block, having: null };
  if (block.where !== null) yield { ...block, where: null };
  if (block.distinct) yield { ...block, distinct: false };
  for (const grouping of smallerGrouping(block.grouping)) yield { ...block, grouping };
  for (const items of fewer(block.items, 1)) yield { ...block, items };
  for (const from of each(block.from, smallerInput)) yield { ...block, from };
  for (const items of each(block.items, smallerItem)) yield { ...block, items };
  if (block.where !== null) for (const where of smallerExpression(block.where)) yield { ...block, where };
  if (block.having !== null) for (const having of smallerExpression(block.having)) yield { ...block, having };
}

function* smallerGrouping(grouping: Grouping | null): Generator<Grouping | null> {
  if (grouping === null) return;
  yield null;
  if (grouping.kind === "all") return;
  if (grouping.kind === "sets") {
    yield { kind: "keys", keys: grouping.keys.map((expression) => ({ expression, by: "expression", item: null })) };
    return;
  }
  for (const keys of fewer(grouping.keys, 1)) yield { ...grouping, keys };
  yield* mapped(
    each(grouping.keys, function* (key): Generator<GroupKey> {
      if (key.by !== "expression") yield { ...key, by: "expression" };
      for (const expression of smallerExpression(key.expression)) yield { ...key, expression };
    }),
    (keys): Grouping => ({ ...grouping, keys }),
  );
}

function* smallerItem(item: Item): Generator<Item> {
  if (item.kind === "star") return;
  for (const expression of smallerExpression(item.expression)) yield { ...item, expression };
}

function* smallerInput(input: Input): Generator<Input> {
  switch (input.kind) {
    case "table":
    case "text":
      return;
    case "derived": {
      const { body, ctes } = input.query;
      const only = body.kind === "select" ? body.from[0] : undefined;
      if (only?.kind === "table" && ctes.length === 0) yield { ...only, alias: input.alias };
      for (const query of smallerQuery(input.query)) yield { ...input, query };
      return;
    }
    case "join":
      yield* smallerJoin(input);
  }
}

function* smallerJoin(join: JoinInput): Generator<Input> {
  yield join.left;
  yield join.right;
  if (join.type !== "INNER" && join.condition.kind !== "none") yield { ...join, type: "INNER" };
  for (const left of smallerInput(join.left)) yield { ...join, left };
  for (const right of smallerInput(join.right)) yield { ...join, right };
  const { condition } = join;
  if (condition.kind === "using") {
    for (const columns of fewer(condition.columns, 1)) yield { ...join, condition: { ...condition, columns } };
  }
  if (condition.kind !== "on") return;
  for (const predicate of smallerExpression(condition.predicate))
    yield { ...join, condition: { ...condition, predicate } };
}

function* smallerExpression(expression: Expression): Generator<Expression> {
  if (expression.kind === "column" || expression.kind === "literal") return;
  if (expression.kind === "subquery") {
    yield literal("BOOLEAN", "true");
    for (const query of smallerQuery(expression.query)) yield { ...expression, query };
    return;
  }
  for (const argument of expression.args) if (argument.type === expression.type) yield argument;
  if (expression.type === "BOOLEAN") yield literal("BOOLEAN", "true");
  // Order lists of windows make the answer one bag: a window is kept or dropped as a whole.
  if (expression.role === "window") return;
  if (expression.filter !== null) {
    yield { ...expression, filter: null };
    for (const filter of smallerExpression(expression.filter)) yield { ...expression, filter };
  }
  for (const args of each(expression.args, smallerExpression)) yield { ...expression, args };
}

function* mapped<T, U>(values: Iterable<T>, map: (value: T) => U): Generator<U> {
  for (const value of values) yield map(value);
}
