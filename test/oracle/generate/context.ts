/** What a query generator knows while it descends. */

import type { Column, Query, SqlType } from "../ast.js";
import type { Draw } from "./draw.js";

/** A relation that a FROM clause can name. */
export interface Source {
  readonly path: readonly string[];
  readonly columns: readonly Column[];
  /** A guess at the row count, which keeps joins small. */
  readonly size: number;
  readonly weight: number;
}

/** Operators that a view may hold beyond projections, filters, inner joins, UNION ALL and the plain aggregates. */
export const FEATURES = [
  "outerJoin",
  "semiJoin",
  "subquery",
  "distinct",
  "setOperation",
  "window",
  "qualify",
  "limit",
  "otherAggregate",
  "groupingSets",
  "recursive",
  "lateral",
  "unnest",
  "time",
  "asof",
  "pivot",
] as const;
/** Rare ones of the above, which views hold only where they are asked for. */
export const RARE = ["distinctAggregate", "momentAggregate", "bitAggregate", "subqueryValue"] as const;
export type Feature = (typeof FEATURES)[number] | (typeof RARE)[number];

export interface MadeQuery {
  readonly query: Query;
  readonly columns: readonly Column[];
  readonly size: number;
}

export interface Context {
  readonly draw: Draw;
  /** Makes a query below this one; `want` are the types that its columns must have. */
  readonly nested: (context: Context, want?: readonly SqlType[]) => MadeQuery;
  readonly features: ReadonlySet<Feature>;
  readonly sources: readonly Source[];
  /** A name that this view has not used yet. */
  readonly fresh: (prefix: string) => string;
  /** How many more levels of subqueries in FROM. */
  readonly depth: number;
}

export function inner(context: Context): Context {
  return { ...context, depth: context.depth - 1 };
}
