import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { fetchDataset } from "../../src/demo/dataset.js";
import { createTables, readDataset } from "../../src/demo/load.js";
import { type AppliedChange, loadMonth } from "../../src/demo/months.js";
import { type Lake, open } from "../../src/index.js";

let lake: Lake;
let writer: DuckDBConnection;
const months: AppliedChange[][] = [];

beforeAll(async () => {
  const folder = await mkdtemp(join(inject("workspace"), "demo-months-"));
  lake = await open({ catalog: join(folder, "lake.ducklake"), dataPath: join(folder, "data") });
  writer = await lake.connect();
  await readDataset(writer, await fetchDataset());
  await createTables(writer);
  for (let month = 1; month <= 12; month++) months.push(await loadMonth(writer, month));
}, 300_000);

afterAll(async () => {
  writer?.closeSync();
  await lake?.close();
});

async function values(sql: string): Promise<unknown[][]> {
  return (await writer.runAndReadAll(sql)).getRowsJS() as unknown[][];
}

test("every month but the first brings rows of each kind, few enough to be inlined and too many for it", () => {
  for (const changes of months.slice(1)) {
    expect(new Set(changes.map(({ kind }) => kind))).toEqual(new Set(["new", "late", "corrected", "removed"]));
    const rows = changes.map((change) => change.rows);
    expect(Math.min(...rows)).toBeGreaterThan(0);
    expect(rows.some((number) => number <= 10)).toBe(true);
    expect(rows.some((number) => number > 10)).toBe(true);
  }
});

test("a month later all is as the data set has it, but for the flights that never left", async () => {
  const known = (table: string) => `SELECT flight_id, dep_delay, arr_delay, air_time FROM ${table}`;
  const world = `${known("world_flights")} WHERE month < 12 AND dep_time IS NOT NULL`;
  const loaded = `${known("flights")} WHERE flight_date < DATE '2013-12-01'`;
  expect(await values(`(${world} EXCEPT ALL ${loaded}) UNION ALL (${loaded} EXCEPT ALL ${world})`)).toEqual([]);
  const readings = "SELECT origin, time_hour, visib::DECIMAL(4, 2) FROM";
  expect(await values(`${readings} world_weather WHERE month < 12 EXCEPT ALL ${readings} weather`)).toEqual([]);
});

test("names and makers end as the data set has them", async () => {
  expect(await values("FROM airlines EXCEPT ALL FROM world_airlines")).toEqual([]);
  expect(await values("SELECT DISTINCT manufacturer FROM planes WHERE manufacturer LIKE 'AIRBUS%'")).toEqual([
    ["AIRBUS"],
  ]);
});
