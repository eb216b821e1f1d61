import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { EngineError } from "../errors.js";
import { quoteLiteral } from "../sql/quote.js";

const FLIGHTS = 336_776n;

/** Reads the CSV files into temporary tables: the world that the lake hears of month by month. */
export async function readDataset(connection: DuckDBConnection, folder: string): Promise<void> {
  const csv = (name: string, options = "") =>
    `read_csv(${quoteLiteral(join(folder, `${name}.csv`))}, nullstr = 'NA'${options})`;
  const times = ", types = {'time_hour': 'TIMESTAMP'}";
  await connection.run(`
    CREATE TEMP TABLE world_airlines AS FROM ${csv("airlines")};
    CREATE TEMP TABLE world_airports AS FROM ${csv("airports")};
    CREATE TEMP TABLE world_weather AS SELECT *, row_number() OVER () AS reading FROM ${csv("weather", times)};
    CREATE TEMP TABLE world_flights AS
      SELECT *, row_number() OVER (ORDER BY month, day, line) AS flight_id
      FROM (SELECT *, row_number() OVER () AS line FROM ${csv("flights", times)});
    CREATE TEMP TABLE world_planes AS
      SELECT p.*, row_number() OVER (ORDER BY p.tailnum) AS plane, first_month
      FROM ${csv("planes")} p
      JOIN (SELECT tailnum, min(month) AS first_month FROM world_flights GROUP BY tailnum) USING (tailnum);
  `);
  const reader = await connection.runAndReadAll("SELECT count(*) FROM world_flights");
  if (reader.value(0, 0) !== FLIGHTS) {
    throw new EngineError(
      "demo_data_damaged",
      `The demo's data in ${folder} does not hold the ${FLIGHTS} flights that it should.`,
      {
        hint: "Delete that folder and run the demo again; it fetches the data anew.",
      },
    );
  }
}

/** Creates the five tables of the lake and fills the two that are known from the start. */
export async function createTables(connection: DuckDBConnection): Promise<void> {
  const statements = [
    "CREATE TABLE airlines (carrier VARCHAR, name VARCHAR)",
    "CREATE TABLE airports (faa VARCHAR, name VARCHAR, tzone VARCHAR)",
    "CREATE TABLE planes (tailnum VARCHAR, built INTEGER, manufacturer VARCHAR, model VARCHAR, seats INTEGER)",
    `CREATE TABLE weather (origin VARCHAR, time_hour TIMESTAMP, temp DECIMAL(5, 2), wind_speed DECIMAL(6, 2),
      precip DECIMAL(4, 2), visib DECIMAL(4, 2))`,
    `CREATE TABLE flights (flight_id BIGINT, flight_date DATE, scheduled TIMESTAMP, time_hour TIMESTAMP,
      carrier VARCHAR, flight INTEGER, tailnum VARCHAR, origin VARCHAR, dest VARCHAR, distance INTEGER,
      dep_time INTEGER, dep_delay INTEGER, arr_delay INTEGER, air_time INTEGER)`,
    // Two names as they stood at the year's beginning; they change in the course of it.
    `INSERT INTO airlines SELECT carrier,
      CASE carrier WHEN 'B6' THEN 'Jetblue Airways' WHEN '9E' THEN 'Pinnacle Airlines Corp.' ELSE name END
      FROM world_airlines`,
    "INSERT INTO airports SELECT faa, name, tzone FROM world_airports",
  ];
  for (const statement of statements) await connection.run(statement);
}
