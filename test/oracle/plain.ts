/** Plain DuckDB, with no lake in sight: tells valid histories from invalid ones before anything is tested. */

import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { atInstant } from "./generate/time.js";
import type { History, HistoryEvent } from "./history.js";
import { identifier } from "./print.js";

const MANY_ROWS = 2000;
/** Any time will do here: whether a view is valid and has one answer does not depend on it. */
const INSTANT = "2020-01-01 00:00:00+00";

let shared: Promise<DuckDBInstance> | undefined;
let counter = 0;

/** What is wrong with a history, or null. `unstable`: a view has no single answer, so there is nothing to compare. */
export interface Objection {
  readonly kind: "invalid" | "large" | "unstable";
  readonly text: string;
}

/** Runs the whole history on plain DuckDB and evaluates the views wherever they would be refreshed. */
export async function examine(history: History, checkOrder = false): Promise<Objection | null> {
  shared ??= DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await (await shared).connect();
  const catalog = `plain${++counter}`;
  const timer = setTimeout(() => connection.interrupt(), 5000);
  try {
    await connection.run(`ATTACH ':memory:' AS ${catalog}`);
    await connection.run(`USE ${catalog}`);
    return await run(connection, history, checkOrder);
  } catch (error) {
    return { kind: "invalid", text: String(error) };
  } finally {
    clearTimeout(timer);
    await connection.run("USE memory");
    await connection.run(`DETACH DATABASE IF EXISTS ${catalog}`);
    connection.closeSync();
  }
}

async function run(connection: DuckDBConnection, history: History, checkOrder: boolean): Promise<Objection | null> {
  for (const event of history.setup) await apply(connection, event);
  const names = history.views.map((view) => view.name);
  const unknown = history.events.some(
    (event) => event.kind === "refresh" && event.views?.some((view) => !names.includes(view)),
  );
  if (unknown) return { kind: "invalid", text: "a refresh names a view that is not defined" };
  for (const event of history.events) {
    if (event.kind !== "refresh") {
      await apply(connection, event);
      continue;
    }
    for (const view of history.views) {
      await connection.run(`CREATE OR REPLACE TABLE ${identifier(view.name)} AS ${atInstant(view.sql, INSTANT)}`);
      const rows = await count(connection, `FROM ${identifier(view.name)}`);
      if (rows > MANY_ROWS) return { kind: "large", text: `${view.name} has ${rows} rows` };
    }
    if (!checkOrder) continue;
    const view = await firstUnstable(connection, history);
    if (view !== null) return { kind: "unstable", text: `${view} depends on the order of rows` };
  }
  return null;
}

async function apply(connection: DuckDBConnection, event: HistoryEvent): Promise<void> {
  if (event.kind !== "transaction") return;
  for (const sql of event.sql) await connection.run(sql);
}

/** Evaluates the views again over tables whose rows lie in another order. */
async function firstUnstable(connection: DuckDBConnection, history: History): Promise<string | null> {
  const held = new Set(history.views.map((view) => view.name));
  const tables = await connection.runAndReadAll(
    "SELECT table_name FROM duckdb_tables() WHERE database_name = current_catalog() AND schema_name = 'main'",
  );
  await connection.run("CREATE SCHEMA IF NOT EXISTS held");
  for (const view of held) {
    await connection.run(`CREATE OR REPLACE TABLE held.${identifier(view)} AS FROM ${identifier(view)}`);
  }
  for (const [name] of tables.getRowsJS()) {
    if (held.has(String(name))) continue;
    const table = identifier(String(name));
    await connection.run(`CREATE OR REPLACE TABLE ${table} AS FROM ${table} ORDER BY rowid DESC`);
  }
  for (const { name, sql } of history.views) {
    await connection.run(`CREATE OR REPLACE TABLE ${identifier(name)} AS ${atInstant(sql, INSTANT)}`);
    const [a, b] = [`FROM held.${identifier(name)}`, `FROM main.${identifier(name)}`];
    if ((await count(connection, `FROM ((${a} EXCEPT ALL ${b}) UNION ALL (${b} EXCEPT ALL ${a}))`)) > 0) return name;
  }
  return null;
}

async function count(connection: DuckDBConnection, from: string): Promise<number> {
  const reader = await connection.runAndReadAll(`SELECT count(*)::INTEGER ${from}`);
  return Number(reader.getRowsJS()[0]?.[0]);
}
