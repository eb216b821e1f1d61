import { type Ast, child, children } from "../sql/ast.js";
import type { Lowering } from "./lower.js";
import { direction } from "./lower-limit.js";
import { columnExpression, type Expression, expression, keepColumns, type Relation } from "./relation.js";
import { Resolver } from "./resolve.js";
import { Scope } from "./scope.js";
import { Unsupported } from "./unsupported.js";

/** DISTINCT ON: the first row of each group in the order of ORDER BY, as a window function says it. */
export function lowerDistinctOn(
  lowering: Lowering,
  input: Relation,
  columns: readonly { readonly name: string; readonly id: string }[],
  node: Ast,
): Relation {
  const resolver = new Resolver(lowering.functions, new Scope([{ alias: "", columns }]));
  const take = (ast: Ast): Expression => {
    const position = columns[ordinal(ast) - 1];
    return position === undefined ? lowering.expression(resolver.resolve(ast)) : columnExpression(position.id);
  };
  const modifiers = children(node, "modifiers");
  const orders = modifiers
    .filter((modifier) => modifier["type"] === "ORDER_MODIFIER")
    .flatMap((modifier) => children(modifier, "orders"));
  if (orders.length === 0) {
    throw new Unsupported("order_sensitive", "DISTINCT ON without ORDER BY depends on an order that a table has not");
  }
  const targets = modifiers.flatMap((modifier) => children(modifier, "distinct_on_targets")).map(take);
  const sorted = orders.map((order) => ({ expression: take(child(order, "expression")), direction: direction(order) }));
  const number = lowering.id("row_number");
  const ranked: Relation = {
    kind: "window",
    input,
    partition: targets,
    columns: [
      {
        id: number,
        expression: {
          get sql() {
            const partition = targets.map((target) => target.sql).join(", ");
            const order = sorted.map((item) => `${item.expression.sql} ${item.direction}`).join(", ");
            return `row_number() OVER (PARTITION BY ${partition} ORDER BY ${order})`;
          },
          columns: [...targets, ...sorted.map((item) => item.expression)].flatMap((part) => part.columns),
        },
      },
    ],
  };
  const first: Relation = { kind: "filter", input: ranked, predicate: expression`${columnExpression(number)} = 1` };
  return { kind: "project", input: first, columns: keepColumns(columns.map((column) => column.id)) };
}

function ordinal(ast: Ast): number {
  const value = ast["class"] === "CONSTANT" ? child(ast, "value")["value"] : undefined;
  return typeof value === "number" ? value : 0;
}
