/** Random queries: a body of one SELECT, VALUES or a set operation, with CTEs before it and ORDER BY after it. */

import { type CommonTable, type Query, type SetOperation, type SqlType, simpleQuery } from "../ast.js";
import { type Context, inner, type MadeQuery, type Source } from "./context.js";
import { recursiveTable } from "./recursive.js";
import { makeSelect } from "./select.js";
import { TABLE_TYPES, typedLiteral } from "./values.js";

/** `want` are the types that the columns must have. */
export function makeQuery(outer: Context, want?: readonly SqlType[]): MadeQuery {
  const { draw } = outer;
  const ctes: CommonTable[] = [];
  let context = outer;
  let recursive = false;
  if (outer.depth > 0 && draw.chance(25)) {
    for (let count = draw.integer(1, 2); count > 0; count--) {
      const made = makeQuery(inner(context));
      // Sometimes the name of a table, which the CTE then hides.
      const name = draw.chance(6) ? (draw.pick(outer.sources).path.at(-1) ?? "") : outer.fresh("w");
      if (ctes.some((cte) => cte.name === name)) continue;
      const renamed = draw.chance(15) ? made.columns.map((_, index) => `w${index}`) : null;
      ctes.push({ name, columns: renamed, materialized: draw.chance(10), query: made.query });
      const columns = made.columns.map((column, index) => ({ ...column, name: renamed?.[index] ?? column.name }));
      context = withSource(context, { path: [name], columns, size: made.size, weight: 12 });
    }
  }
  if (outer.features.has("recursive") && draw.chance(60)) {
    const made = recursiveTable(context);
    ctes.push(made.cte);
    recursive = true;
    context = withSource(context, made.source);
  }
  const body = makeBody(context, want);
  return { ...body, query: { ...body.query, recursive, ctes, tail: makeTail(context) } };
}

function withSource(context: Context, source: Source): Context {
  const others = context.sources.filter((other) => other.path.at(-1) !== source.path[0]);
  return { ...context, sources: [...others, source] };
}

function makeBody(context: Context, want?: readonly SqlType[]): MadeQuery {
  const { draw, features } = context;
  const sets = features.has("setOperation");
  if (context.depth > 0 && draw.chance(sets ? 55 : 12)) return makeSet(context, want);
  if (draw.chance(2)) return makeValues(context, want);
  const made = makeSelect(context, want);
  return { query: simpleQuery(made.select), columns: made.columns, size: made.size };
}

function makeSet(context: Context, want?: readonly SqlType[]): MadeQuery {
  const { draw, features } = context;
  const left = makeQuery(inner(context), want);
  const right = makeQuery(
    inner(context),
    left.columns.map((column) => column.type),
  );
  const operators: (readonly [number, SetOperation["operator"]])[] = [[30, "UNION ALL"]];
  if (features.has("setOperation")) {
    operators.push([20, "UNION"], [15, "INTERSECT"], [10, "INTERSECT ALL"], [15, "EXCEPT"], [15, "EXCEPT ALL"]);
  }
  const operator = draw.weighted(operators);
  const columns = left.columns.map((column, index) => ({
    ...column,
    exact: column.exact && right.columns[index]?.exact === true,
  }));
  const query = simpleQuery({ kind: "set", operator, left: left.query, right: right.query });
  return { query, columns, size: left.size + right.size };
}

function makeValues(context: Context, want?: readonly SqlType[]): MadeQuery {
  const { draw } = context;
  const types = want ?? draw.sample(TABLE_TYPES, draw.integer(1, 3));
  const rows = draw.times(1, 3, () => types.map((type) => typedLiteral(draw, type)));
  const columns = types.map((type, index) => ({ name: `col${index}`, type, exact: true }));
  return { query: simpleQuery({ kind: "values", rows }), columns, size: rows.length };
}

function makeTail(context: Context): Query["tail"] {
  const { draw, features } = context;
  const descending = draw.chance(50);
  if (features.has("limit") && draw.chance(50)) {
    return { descending, limit: draw.integer(0, 6), offset: draw.chance(25) ? draw.integer(1, 3) : 0 };
  }
  return draw.chance(3) ? { descending, limit: null, offset: 0 } : null;
}
