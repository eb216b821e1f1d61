/** Merges that are killed: the table is as it was, or as it should be, and a rerun ends in the same state. */

import type { DuckDBConnection } from "@duckdb/node-api";
import { expect } from "vitest";
import type { Lake } from "../../src/index.js";
import type { Task } from "./process.js";
import { ENGINE } from "./scene.js";

export { ENGINE };

export const VIEW = { name: "totals", sql: "SELECT v, count(*) AS n, sum(k) AS s FROM t GROUP BY v" };
export const START = ["CREATE TABLE t(k INTEGER, v INTEGER)", "INSERT INTO t SELECT i, i % 3 FROM range(50) r(i)"];

/** Each round's state has new, changed, unchanged and missing rows. */
export function state(round: number): string {
  return `SELECT i::INTEGER AS k, ((i + CASE WHEN i % 7 = ${round % 7} THEN ${round + 1} ELSE 0 END) % 3)::INTEGER AS v FROM range(${round % 5}, ${50 + (round % 11)}) r(i)`;
}

export function mergeOf(round: number): Task {
  return { action: "merge", table: "t", from: state(round), options: { key: ["k"], deleteMissing: true } };
}

export async function rows(connection: DuckDBConnection, relation: string): Promise<string> {
  const reader = await connection.runAndReadAll(`SELECT k, v FROM ${relation} ORDER BY ALL`);
  return JSON.stringify(reader.getRowsJson());
}

/** What must hold after a death, and what the next process does. */
export async function recover(
  lake: Lake,
  connection: DuckDBConnection,
  round: number,
  before: string,
): Promise<"old" | "new"> {
  const wanted = await rows(connection, `(${state(round)})`);
  const found = await rows(connection, "t");
  expect([before, wanted]).toContain(found);
  await lake.merge("t", state(round), { key: ["k"], deleteMissing: true });
  expect(await rows(connection, "t")).toBe(wanted);
  const result = await lake.refresh();
  expect(result.views.flatMap((view) => view.error ?? [])).toEqual([]);
  const differing = `(FROM totals EXCEPT ALL ${VIEW.sql}) UNION ALL (${VIEW.sql} EXCEPT ALL FROM totals)`;
  const reader = await connection.runAndReadAll(`SELECT count(*) FROM (${differing})`);
  expect(reader.getRowsJS()).toEqual([[0n]]);
  return found === wanted ? "new" : "old";
}
