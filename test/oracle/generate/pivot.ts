/** PIVOT and UNPIVOT of one source, as an input of a FROM clause. */

import type { Column } from "../ast.js";
import { identifier, path } from "../print.js";
import type { Context, Source } from "./context.js";
import { isOrdered } from "./expression.js";
import { value as anyValue } from "./values.js";

export interface MadePivot {
  readonly sql: string;
  readonly columns: readonly Column[];
  readonly size: number;
}

/** Null where the source has no columns for it. */
export function makePivot(context: Context, source: Source): MadePivot | null {
  return context.draw.chance(50) ? pivot(context, source) : unpivot(context, source);
}

function pivot({ draw }: Context, source: Source): MadePivot | null {
  const keys = source.columns.filter((column) => column.type === "INTEGER" || column.type === "VARCHAR");
  if (keys.length === 0) return null;
  const key = draw.pick(keys);
  const others = source.columns.filter((column) => column !== key);
  const ordered = others.filter((column) => isOrdered(column.type));
  const value = ordered.length === 0 ? null : draw.pick(ordered);
  const literals = [...new Set(draw.times(1, 3, () => anyValue(draw, key.type, false)))];
  const aggregates = [{ sql: "count(*)", name: "n", type: "BIGINT", exact: true }];
  if (value !== null) aggregates.push({ ...value, sql: `max(${identifier(value.name)})`, name: "m" });
  const calls = aggregates.map((each) => `${each.sql} AS ${each.name}`).join(", ");
  const values = literals.map((literal, index) => `${literal} AS p${index}`).join(", ");
  const rest = others.filter((column) => column !== value);
  const named =
    rest.length > 0 && draw.chance(60) ? draw.sample(rest, draw.integer(1, Math.min(2, rest.length))) : null;
  const group = named === null ? "" : ` GROUP BY ${named.map((column) => identifier(column.name)).join(", ")}`;
  const made = literals.flatMap((_, index) =>
    aggregates.map(({ name, type, exact }) => ({ name: `p${index}_${name}`, type, exact })),
  );
  return {
    sql: `FROM ${path(source.path)} PIVOT (${calls} FOR ${identifier(key.name)} IN (${values})${group})`,
    columns: [...(named ?? rest), ...made],
    size: source.size / 2,
  };
}

function unpivot({ draw }: Context, source: Source): MadePivot | null {
  const type = draw.pick(source.columns).type;
  const same = source.columns.filter((column) => column.type === type);
  const turned = draw.sample(same, draw.integer(1, same.length));
  const names = turned.map((column) => identifier(column.name)).join(", ");
  const nulls = draw.chance(30) ? "INCLUDE NULLS " : "";
  const rest = source.columns.filter((column) => !turned.includes(column));
  const value = { name: "turned_value", type, exact: turned.every((column) => column.exact) };
  return {
    sql: `FROM ${path(source.path)} UNPIVOT ${nulls}(turned_value FOR turned_name IN (${names}))`,
    columns: [...rest, { name: "turned_name", type: "VARCHAR", exact: true }, value],
    size: source.size * turned.length,
  };
}
