/** A small lake for processes that die: its views, its changes, and what must hold after each death. */

import type { DuckDBConnection } from "@duckdb/node-api";
import { expect } from "vitest";
import type { EngineConfig, Lake, ViewDefinition } from "../../src/index.js";
import type { Oracle } from "../e2e/oracle.js";

export const TABLES: readonly string[] = [
  "CREATE TABLE a (id INTEGER, v INTEGER)",
  "CREATE TABLE b (id INTEGER, w INTEGER)",
  "INSERT INTO a SELECT i, i % 4 FROM range(40) r(i)",
  "INSERT INTO b SELECT i % 30, i % 3 FROM range(60) r(i)",
];

/** So little data is worked on faster by one thread than by several that wait for each other. */
export const ENGINE: EngineConfig = { threads: 1 };

/** Rows with copies, and above them a view whose rows are updated in place. */
export const VIEWS: readonly ViewDefinition[] = [
  { name: "pairs", sql: "SELECT a.v, b.w FROM a JOIN b ON a.id = b.id" },
  { name: "sums", sql: "SELECT v, count(*) AS n, sum(w) AS s, max(w) AS m FROM pairs GROUP BY v" },
];

/** One view, for those who want to die at each statement. */
export const ONE_VIEW: readonly ViewDefinition[] = [
  {
    name: "totals",
    sql: "SELECT a.v, count(*) AS n, sum(b.w) AS s, max(b.w) AS m FROM a JOIN b USING (id) GROUP BY a.v",
  },
];

/** Changes that leave the tables about as large as they are; each is another one. */
export async function change(connection: DuckDBConnection, number: number): Promise<void> {
  for (const sql of [
    `INSERT INTO a SELECT i, ${number % 5} FROM range(${number % 7}, ${(number % 7) + 8}) r(i)`,
    `DELETE FROM a WHERE id = ${(number * 7) % 30} OR v = ${(number + 2) % 5}`,
    `UPDATE b SET w = w + 1 WHERE id % 9 = ${number % 9}`,
  ]) {
    await connection.run(sql);
  }
}

export interface Density {
  /** Every n-th statement of a transaction, its end included, is a step to die at. */
  readonly inside: number;
  /** And every n-th of the others, which only read. */
  readonly outside: number;
}

/** The steps at which to die, numbered from 1, by the statements of an undisturbed run. */
export function stepsOf(statements: readonly string[], density: Density): number[] {
  const counts = { inside: 0, outside: 0 };
  let open = false;
  return statements.flatMap((sql, index) => {
    if (sql === "BEGIN") open = true;
    // Dying before the statement after COMMIT is dying after COMMIT.
    const place = open || statements[index - 1] === "COMMIT" ? "inside" : "outside";
    if (sql === "COMMIT") open = false;
    const due = sql === "COMMIT" || statements[index - 1] === "COMMIT" || counts[place] % density[place] === 0;
    counts[place] += 1;
    return due ? [index + 1] : [];
  });
}

/**
 * Every view holds what its definition gives at the view's own horizon, whatever that is now; where definitions were
 * changed, what its old or its new one gives.
 */
export async function expectConsistent(
  connection: DuckDBConnection,
  oracle: Oracle,
  ...definitions: readonly (readonly ViewDefinition[])[]
): Promise<void> {
  const reader = await connection.runAndReadAll("SELECT view, horizon FROM ivm.progress WHERE horizon IS NOT NULL");
  for (const [view, horizon] of reader.getRowsJS()) {
    const differences: string[][] = [];
    for (const alternative of definitions) {
      if (!alternative.some(({ name }) => name === view)) continue;
      differences.push(await oracle.differences(alternative, horizon as bigint, [String(view)]));
    }
    if (!differences.some((found) => found.length === 0)) expect(differences).toEqual([]);
  }
}

/** A rerun brings every view to the newest snapshot, and its cursors with it: then there is nothing left to do. */
export async function expectRerun(
  lake: Lake,
  connection: DuckDBConnection,
  oracle: Oracle,
  definitions: readonly ViewDefinition[],
): Promise<void> {
  const result = await lake.refresh();
  expect(result.views.flatMap((view) => view.error ?? [])).toEqual([]);
  expect(await oracle.differences(definitions, result.horizon)).toEqual([]);
  expect((await lake.status()).map(({ state }) => state)).toEqual(definitions.map(() => "fresh"));
  const views = await connection.runAndReadAll("SELECT view FROM ivm.progress ORDER BY view");
  expect(views.getRowsJS().flat()).toEqual(definitions.map(({ name }) => name).sort());
  // One cursor for each source, and each at a snapshot that the run has seen.
  const cursors = await connection.runAndReadAll(`SELECT view, json_extract_string("cursor", '$.source')
    FROM (SELECT view, unnest(from_json(cursors, '["JSON"]')) AS "cursor" FROM ivm.progress) ORDER BY ALL`);
  expect(cursors.getRowsJS()).toEqual(
    result.views.flatMap(({ view, sources }) => sources.map(({ source }) => [view, source])).sort(),
  );
}
