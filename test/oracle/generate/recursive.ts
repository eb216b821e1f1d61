/** Recursive CTEs that end after a few rounds. */

import { type CommonTable, literal, scalar, select, simpleQuery } from "../ast.js";
import type { Context, Source } from "./context.js";
import { pickSource } from "./from.js";

export function recursiveTable(context: Context): { cte: CommonTable; source: Source } {
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
