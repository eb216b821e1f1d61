/** Recursive CTEs: some end after a few rounds, others when they have been everywhere. */

import {
  type Column,
  type CommonTable,
  type Expression,
  type Input,
  literal,
  type Query,
  type Select,
  scalar,
  select,
  simpleQuery,
} from "../ast.js";
import type { Context, Source } from "./context.js";
import { pickSource } from "./from.js";

interface Recursive {
  readonly cte: CommonTable;
  readonly source: Source;
}

export function recursiveTable(context: Context): Recursive {
  return (context.draw.chance(60) ? reached(context) : undefined) ?? counted(context);
}

/** Everything that a value leads to, from one column of a table to another one of the same type. */
function reached(context: Context): Recursive | undefined {
  const { draw } = context;
  const [start, edges] = [pickSource(context), pickSource(context)];
  const comparable = (column: Column): boolean =>
    column.exact && /^(INTEGER|BIGINT|VARCHAR|DATE|BOOLEAN)$/.test(column.type);
  const ends = edges.columns.filter(comparable);
  const from = ends.length === 0 ? undefined : draw.pick(ends);
  const starts = start.columns.filter((column) => comparable(column) && column.type === from?.type);
  if (from === undefined || starts.length === 0) return undefined;
  const to = draw.pick(ends.filter((column) => column.type === from.type));
  const [name, own, edge, alias] = [context.fresh("w"), context.fresh("r"), context.fresh("r"), context.fresh("r")];
  const of = (relation: string, column: Column): Expression => ({ kind: "column", relation, ...column });
  const held: Column = { name: "held", type: from.type, exact: true };
  const tables = {
    own: { kind: "table", path: [name], alias: own },
    edges: { kind: "table", path: edges.path, alias: edge },
  } as const;
  const matches = (left: Column): Expression =>
    scalar("BOOLEAN")`${of(edge, left)} ${literal("", draw.pick(["=", "IS NOT DISTINCT FROM"]))} ${of(own, held)}`;
  const made = (one: Column, other: Column): Select => {
    const form = draw.weighted([
      [45, "join"],
      [15, "left"],
      [20, "in"],
      [20, "not in"],
    ] as const);
    const items = [{ kind: "expression", expression: of(edge, other), alias: null }] as const;
    const all = (column: Column, source: Source | null): Query => {
      const [path, inner] = [source?.path ?? [name], context.fresh("r")];
      const item = { kind: "expression", expression: of(inner, column), alias: null } as const;
      return simpleQuery(select({ items: [item], from: [{ kind: "table", path, alias: inner }] }));
    };
    const among = (negated: boolean, value: Expression, query: Query): Expression => ({
      kind: "subquery",
      parts: ["", negated ? " NOT IN (" : " IN (", ")"],
      args: [value],
      query,
      type: "BOOLEAN",
      exact: true,
    });
    if (form === "in")
      return select({ items, from: [tables.edges], where: among(false, of(edge, one), all(held, null)) });
    const condition = { kind: "on", predicate: matches(one) } as const;
    const joined: Input = {
      kind: "join",
      type: form === "left" ? "LEFT" : "INNER",
      left: tables.own,
      right: tables.edges,
      condition,
    };
    const where = form === "not in" ? among(true, of(edge, other), all(draw.pick(starts), start)) : null;
    return select({ items, from: [joined], where });
  };
  const step = simpleQuery(
    draw.chance(25)
      ? {
          kind: "set",
          operator: draw.pick(["UNION", "UNION ALL"]),
          left: simpleQuery(made(from, to)),
          right: simpleQuery(made(to, from)),
        }
      : made(from, to),
  );
  const first = { kind: "expression", expression: of(alias, draw.pick(starts)), alias: null } as const;
  const anchor = select({ items: [first], from: [{ kind: "table", path: start.path, alias }] });
  const query = simpleQuery({ kind: "set", operator: "UNION", left: simpleQuery(anchor), right: step });
  return {
    cte: { name, columns: [held.name], materialized: false, query },
    source: { path: [name], columns: [held], size: start.size + edges.size, weight: 20 },
  };
}

function counted(context: Context): Recursive {
  const { draw } = context;
  const source = pickSource(context);
  const column = draw.pick(source.columns);
  const name = context.fresh("w");
  const alias = context.fresh("r");
  const own = context.fresh("r");
  const value = { kind: "column", relation: alias, ...column } as const;
  const round = { kind: "column", relation: own, name: "round", type: "INTEGER", exact: true } as const;
  const held = { kind: "column", relation: own, name: "held", type: column.type, exact: column.exact } as const;
  const start = select({
    items: [
      { kind: "expression", expression: literal("INTEGER", "0"), alias: null },
      { kind: "expression", expression: value, alias: null },
    ],
    from: [{ kind: "table", path: source.path, alias }],
  });
  const step = select({
    items: [
      { kind: "expression", expression: scalar("INTEGER")`${round} + 1`, alias: null },
      { kind: "expression", expression: held, alias: null },
    ],
    from: [{ kind: "table", path: [name], alias: own }],
    where: scalar("BOOLEAN")`${round} < 2`,
  });
  const operator = draw.pick(["UNION ALL", "UNION"] as const);
  const query = simpleQuery({ kind: "set", operator, left: simpleQuery(start), right: simpleQuery(step) });
  return {
    cte: { name, columns: ["round", "held"], materialized: false, query },
    source: {
      path: [name],
      columns: [
        { name: "round", type: "INTEGER", exact: true },
        { ...column, name: "held" },
      ],
      size: source.size * 3,
      weight: 20,
    },
  };
}
