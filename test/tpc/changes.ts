import type { DuckDBConnection } from "@duckdb/node-api";
import type { Benchmark, BenchmarkTable, Stream } from "./benchmark.js";

/** The share of a stream's orders that a round inserts, and that it deletes: that of TPC-H's refresh functions. */
const STREAM_SHARE = 1000;
const MOST_UPDATES = 100;

/** One round: new orders, old orders that go, and updates of some rows of every table. Equal for equal rounds. */
export async function changeEverything(
  connection: DuckDBConnection,
  benchmark: Benchmark,
  round: number,
): Promise<void> {
  for (const stream of benchmark.streams) {
    await insertOrders(connection, stream, round);
    await deleteOrders(connection, stream, round);
  }
  for (const table of benchmark.tables) await updateRows(connection, table, round);
}

/** Copies of some orders under new numbers. */
async function insertOrders(connection: DuckDBConnection, stream: Stream, round: number): Promise<void> {
  const [head] = stream.tables;
  if (head === undefined) return;
  const shift = await value(connection, `SELECT max(${head.number}) FROM ${head.name}`);
  await connection.run("BEGIN");
  for (const { name, number } of stream.tables) {
    await connection.run(
      `INSERT INTO ${name} SELECT * REPLACE (${number} + ${shift} AS ${number}) FROM ${name} WHERE ${picked(number, 2 * round)}`,
    );
  }
  await connection.run("COMMIT");
}

async function deleteOrders(connection: DuckDBConnection, stream: Stream, round: number): Promise<void> {
  await connection.run("BEGIN");
  for (const { name, number } of stream.tables) {
    await connection.run(`DELETE FROM ${name} WHERE ${picked(number, 2 * round + 1)}`);
  }
  await connection.run("COMMIT");
}

function picked(number: string, salt: number): string {
  return `hash(${number}, ${salt}) % ${STREAM_SHARE} = 0`;
}

/** Some rows take over columns of other rows of the table, so that all values stay ones that the benchmark knows. */
async function updateRows(connection: DuckDBConnection, table: BenchmarkTable, round: number): Promise<void> {
  const { name, key } = table;
  const columns = table.updatable ?? (await otherColumns(connection, table));
  // A third of the columns each round, so that three rounds change all of them.
  const chosen = columns.filter((_, index) => index % 3 === round % 3 || columns.length < 3);
  const rows = await value(connection, `SELECT count(*) FROM ${name}`);
  const updates = Math.max(1, Math.min(MOST_UPDATES, Math.floor(rows / 1000)));
  const order = (salt: number): string => `ORDER BY hash(${key.join(", ")}, ${salt}), ${key.join(", ")}`;
  await connection.run(`CREATE OR REPLACE TEMP TABLE picks AS
    SELECT ${[...key.map((column) => `old.${column}`), ...chosen.map((column) => `other.${column} AS new_${column}`)].join(", ")}
    FROM (SELECT ${key.join(", ")}, row_number() OVER (${order(round)}) AS n FROM ${name} QUALIFY n <= ${updates}) AS old
    JOIN (SELECT ${chosen.join(", ")}, row_number() OVER (${order(round + 1000)}) AS n FROM ${name} QUALIFY n <= ${updates}) AS other USING (n)`);
  await connection.run(`UPDATE ${name} SET ${chosen.map((column) => `${column} = picks.new_${column}`).join(", ")}
    FROM picks WHERE ${key.map((column) => `${name}.${column} = picks.${column}`).join(" AND ")}`);
}

async function otherColumns(connection: DuckDBConnection, { name, key }: BenchmarkTable): Promise<string[]> {
  const reader = await connection.runAndReadAll(`DESCRIBE ${name}`);
  return reader
    .getRowsJS()
    .map(([column]) => String(column))
    .filter((column) => !key.includes(column));
}

async function value(connection: DuckDBConnection, sql: string): Promise<number> {
  return Number((await connection.runAndReadAll(sql)).getRowsJS()[0]?.[0]);
}
