import type { ColumnId } from "../plan/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import type { Run, RunColumn } from "../view/running.js";

/** The SQL of the values that window functions have behind the stored end of a partition. */

/** Of the last rows of a partition: counted from 1, the last one. */
export const BACK = "back";
/** The number of a row that came. */
export const NUMBER = "number";

/** The columns of stored rows that the next values of a run are made from. */
export function neededOf(run: Run): ColumnId[] {
  const keys = [...run.partition, ...run.orders.map((order) => order.expression)];
  const values = run.columns.flatMap(({ id, expression, next }) => {
    if (next.from === "rows") return expression.columns;
    return next.from === "value" ? [id] : [];
  });
  return [...new Set([...keys.flatMap((key) => key.columns), ...values])];
}

/** Blobs that compare as the rows do in the run's order. */
export function sortKey(run: Run): string {
  const parts = run.orders.map(({ expression, direction }) => `(${expression.sql}), '${direction}'`);
  return `create_sort_key(${parts.join(", ")})`;
}

/** True where rows that are equal in the order have values of their own, of which one is the last. */
export function tellsPeersApart(run: Run): boolean {
  return run.columns.some(({ next }) => next.from === "value" && !next.shared);
}

/**
 * The values of the run's columns for rows that came.
 * @param came a SELECT of them, with their number and the keys of their partitions.
 * @param tail the table with the last rows of those partitions.
 */
export function nextValues(run: Run, came: string, tail: string, keys: readonly string[]): string {
  const fromRows = run.columns.filter(({ next }) => next.from === "rows");
  const fromValue = run.columns.filter(({ next }) => next.from === "value");
  const fromStates = run.columns.filter(({ next }) => next.from === "states");
  const own = `SELECT ${[q(NUMBER), ...keys, ...fromValue.map(windowItem)].join(", ")} FROM (${came})`;
  const match = keys.map((key) => `own.${key} IS NOT DISTINCT FROM tail.${key}`);
  const values = [
    ...fromRows.map(({ id }) => `looked.${q(id)}`),
    ...fromValue.map((column) => `${cast(nextValue(column), column.type)} AS ${q(column.id)}`),
  ];
  const looked =
    fromRows.length === 0 ? "" : `JOIN (${lookBack(run, fromRows, came, tail)}) AS looked USING (${q(NUMBER)})`;
  const joined = `SELECT ${[`own.${q(NUMBER)}`, ...values].join(", ")} FROM (${own}) AS own ${looked}
    LEFT JOIN ${tail} AS tail ON ${[...match, `tail.${q(BACK)} = 1`].join(" AND ")}`;
  const made = fromStates.map(
    ({ id, type, next }) => `${cast(next.from === "states" ? next.value.sql : "NULL", type)} AS ${q(id)}`,
  );
  return `SELECT ${["*", ...made].join(", ")} FROM (${joined})`;
}

/** Window functions that look back a number of rows, over the last rows of a partition and those that came. */
function lookBack(run: Run, columns: readonly RunColumn[], came: string, tail: string): string {
  const keys = [...run.partition, ...run.orders.map((order) => order.expression)];
  const read = [...keys, ...columns.map((column) => column.expression)].flatMap((expression) => expression.columns);
  const names = [...new Set(read)].map(q);
  const before = `SELECT ${[...names, `NULL AS ${q(NUMBER)}`].join(", ")} FROM ${tail} WHERE ${q(BACK)} <= ${run.rows}`;
  const after = `SELECT ${[...names, q(NUMBER)].join(", ")} FROM (${came})`;
  const all = `SELECT ${[q(NUMBER), ...columns.map(windowItem)].join(", ")} FROM (${before} UNION ALL ${after})`;
  return `SELECT * FROM (${all}) WHERE ${q(NUMBER)} IS NOT NULL`;
}

function windowItem({ id, expression }: RunColumn): string {
  return `${expression.sql} AS ${q(id)}`;
}

function cast(value: string, type: string): string {
  return `CAST(${value} AS ${type})`;
}

/** From the value over the rows that came, `own`, and that of the last row before them, `tail`. */
function nextValue({ id, next }: RunColumn): string {
  if (next.from !== "value") throw new TypeError("the value of the last row says nothing");
  const [own, last] = [`own.${q(id)}`, `tail.${q(id)}`];
  const both = (together: string): string =>
    `CASE WHEN ${last} IS NULL THEN ${own} WHEN ${own} IS NULL THEN ${last} ELSE ${together} END`;
  switch (next.function) {
    case "sum":
    case "count":
    case "count_star":
    case "row_number":
    case "dense_rank":
    case "rank_dense":
      return both(`${last} + ${own}`);
    case "rank":
      // As many rows come before as the partition has had.
      return `coalesce(tail.${q(`${id}.count`)}, 0) + ${own}`;
    case "min":
      return both(`least(${last}, ${own})`);
    case "max":
      return both(`greatest(${last}, ${own})`);
    case "bool_and":
      return both(`${last} AND ${own}`);
    case "bool_or":
      return both(`${last} OR ${own}`);
    case "first_value":
      return `CASE WHEN tail.${q(BACK)} IS NULL THEN ${own} ELSE ${last} END`;
    case "first_value ignore nulls":
      return both(last);
    default:
      throw new TypeError(`${next.function} has no next value`);
  }
}
