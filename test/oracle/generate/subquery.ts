/** EXISTS, IN, NOT IN and scalar subqueries over one source, mostly correlated. */

import {
  aggregate,
  type ColumnReference,
  type Expression,
  literal,
  type Query,
  type Subquery,
  scalar,
  select,
  simpleQuery,
} from "../ast.js";
import type { Context } from "./context.js";
import { ExpressionMaker, isOrdered } from "./expression.js";
import { pickSource } from "./from.js";

/** A condition with a subquery over the outer columns `atoms`; null where no column fits. */
export function makeSubquery(context: Context, atoms: readonly Expression[]): Expression | null {
  const { draw } = context;
  const source = pickSource(context);
  const alias = context.fresh("s");
  const columns = source.columns.map((column): ColumnReference => ({ kind: "column", relation: alias, ...column }));
  const pairs = atoms.flatMap((outer) =>
    columns.filter((column) => column.type === outer.type).map((column) => [outer, column] as const),
  );
  if (pairs.length === 0) return null;
  const [outer, column] = draw.pick(pairs);
  const condition = () => new ExpressionMaker(draw, columns).condition(0);
  const filter = draw.chance(40) ? condition() : null;
  const input = { kind: "table", path: source.path, alias } as const;
  const query = (expressions: readonly Expression[], where: Expression | null): Query =>
    simpleQuery(
      select({
        items: expressions.map((expression) => ({ kind: "expression", expression, alias: null })),
        from: [input],
        where,
      }),
    );
  const and = (a: Expression, b: Expression | null) => (b === null ? a : scalar("BOOLEAN")`${a} AND ${b}`);
  // Not by <>: DuckDB 1.5.5 itself takes NULL <> x for true in some correlated subqueries.
  const operator = draw.weighted([
    [70, "="],
    [15, "IS NOT DISTINCT FROM"],
    [15, isOrdered(outer.type) ? "<=" : "="],
  ]);
  const correlation = scalar("BOOLEAN")`${column} ${literal("", operator)} ${outer}`;
  const make = (parts: readonly string[], args: readonly Expression[], inside: Query): Subquery => ({
    kind: "subquery",
    parts,
    args,
    query: inside,
    type: "BOOLEAN",
    exact: true,
  });
  return draw.weighted<() => Expression>([
    [30, () => make(["EXISTS (", ")"], [], query([literal("INTEGER", "1")], and(correlation, filter)))],
    [20, () => make(["NOT EXISTS (", ")"], [], query([literal("INTEGER", "1")], and(correlation, filter)))],
    [20, () => make(["(", " IN (", "))"], [outer], query([column], filter))],
    [15, () => make(["(", " NOT IN (", "))"], [outer], query([column], filter))],
    [
      20,
      () => {
        const [second, other] = draw.pick(pairs);
        const word = draw.pick(["IN", "NOT IN"]);
        return make(["((", ", ", `) ${word} (`, "))"], [outer, second], query([column, other], filter));
      },
    ],
    [
      25,
      () => {
        const [compared, value] = draw.pick(pairs);
        const [word, quantifier] = isOrdered(compared.type)
          ? [draw.pick(["<", "<=", ">", ">="]), draw.pick(["ANY", "ALL"])]
          : ["=", "ANY"];
        const where = draw.chance(60) ? and(correlation, filter) : filter;
        return make(["(", ` ${word} ${quantifier} (`, "))"], [compared], query([value], where));
      },
    ],
    [
      15,
      () => {
        const [compared, value] = draw.pick(pairs);
        const first = { ...query([value], filter), tail: { descending: draw.chance(50), limit: 1, offset: 0 } };
        return make(["(", " IS NOT DISTINCT FROM (", "))"], [compared], first);
      },
    ],
    [
      20,
      () => {
        const ordered = pairs.filter(([atom]) => isOrdered(atom.type));
        if (ordered.length === 0) return make(["(", " IN (", "))"], [outer], query([column], filter));
        const [compared, value] = draw.pick(ordered);
        const maximum = aggregate(value.type, value.exact)`MAX(${value})`;
        const where = draw.chance(70) ? correlation : filter;
        return make(["(", " >= (", "))"], [compared], query([maximum], where));
      },
    ],
  ])();
}
