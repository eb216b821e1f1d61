/** Bags compared in SQL. */

import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier } from "./print.js";

export interface ColumnType {
  readonly name: string;
  readonly type: string;
}

export async function describe(connection: DuckDBConnection, relation: string): Promise<ColumnType[]> {
  const reader = await connection.runAndReadAll(`DESCRIBE FROM ${relation}`);
  return reader.getRowsJS().map(([name, type]) => ({ name: String(name), type: String(type) }));
}

/**
 * The rows that two relations have in different numbers, as text: `+2 (…)` where `actual` has two copies too many.
 * Floating-point columns are compared by ten digits down to a billionth, all others exactly.
 */
export async function differences(connection: DuckDBConnection, actual: string, expected: string): Promise<string[]> {
  const columns = await describe(connection, expected);
  const forms = columns.map(({ name, type }, index) => `${comparable(identifier(name), type)} AS c${index}`);
  const names = columns.map((_, index) => `c${index}`);
  const reader = await connection.runAndReadAll(
    `SELECT sum(weight)::BIGINT AS net, row(${names.join(", ")})::VARCHAR FROM (` +
      `SELECT 1 AS weight, ${forms.join(", ")} FROM ${actual} UNION ALL ` +
      `SELECT -1, ${forms.join(", ")} FROM ${expected}` +
      `) GROUP BY ${names.join(", ")} HAVING net <> 0 ORDER BY ALL LIMIT 20`,
  );
  return reader.getRowsJS().map(([net, row]) => `${Number(net) > 0 ? "+" : ""}${net} ${row}`);
}

function comparable(column: string, type: string): string {
  if (type !== "DOUBLE" && type !== "FLOAT") return column;
  // Zero has two signs, an average may differ in its last bit, and what cancels out may leave a rest.
  return `CASE WHEN abs(${column}) < 1e-9 THEN '0' ELSE format('{:.9e}', ${column}) END`;
}
