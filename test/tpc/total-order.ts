import type { Session } from "../../src/engine/session.js";
import { type Ast, children } from "../../src/sql/ast.js";
import { parseSelect, printStatement } from "../../src/sql/parse.js";
import type { Query } from "./benchmark.js";

/**
 * The query with all of its columns as last keys of its ORDER BY, where a LIMIT follows: rows that still tie are equal,
 * so that any of them is the right one.
 */
export async function totallyOrdered(session: Session, query: Query): Promise<Query> {
  const statement = await parseSelect(session, query.sql, { view: query.name });
  const node = statement["node"] as Ast;
  const modifiers = children(node, "modifiers");
  if (!modifiers.some((modifier) => modifier["type"] === "LIMIT_MODIFIER")) return query;
  const described = await session.rows(`DESCRIBE ${query.sql}`);
  const [order] = await orderOf(session, described.length);
  const keys = order === undefined ? [] : children(order, "orders");
  const ordered = modifiers.some((modifier) => modifier["type"] === "ORDER_MODIFIER")
    ? modifiers.map((modifier) =>
        modifier["type"] === "ORDER_MODIFIER"
          ? { ...modifier, orders: [...children(modifier, "orders"), ...keys] }
          : modifier,
      )
    : [...(order === undefined ? [] : [order]), ...modifiers];
  const total = { ...statement, node: { ...node, modifiers: ordered } };
  return { name: query.name, sql: await printStatement(session, total) };
}

/** ORDER BY 1, 2, … as DuckDB parses it. */
async function orderOf(session: Session, columns: number): Promise<readonly Ast[]> {
  const positions = Array.from({ length: columns }, (_, index) => index + 1).join(", ");
  const statement = await parseSelect(session, `SELECT 1 ORDER BY ${positions}`, { view: "order" });
  return children(statement["node"] as Ast, "modifiers");
}
