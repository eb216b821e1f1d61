import type { DuckDBConnection } from "@duckdb/node-api";
import { type ExtensionName, loadExtension } from "../../src/engine/extensions.js";

/** A benchmark's tables, as far as its changes need to know them, and where data and queries come from. */
export interface Benchmark {
  readonly extension: ExtensionName;
  /** The table function of the extension that gives the queries. */
  readonly queries: string;
  /** The procedure of the extension that makes the data. */
  readonly generator: string;
  readonly tables: readonly BenchmarkTable[];
  /** Orders that come and go with everything that belongs to them. */
  readonly streams: readonly Stream[];
  /** Queries whose rules take far longer than a recompute: they are left to the choice of cost. */
  readonly dear: readonly string[];
}

export interface BenchmarkTable {
  readonly name: string;
  readonly key: readonly string[];
  /** The columns that updates may change; all but the key where left out. */
  readonly updatable?: readonly string[];
}

/** What the benchmark's refresh functions insert and delete: the rows of several tables that share one number. */
export interface Stream {
  readonly tables: readonly { readonly name: string; readonly number: string }[];
}

export interface Query {
  readonly name: string;
  readonly sql: string;
}

/** Makes the data in the instance's own memory and copies it to the lake. */
export async function loadData(
  connection: DuckDBConnection,
  lake: string,
  benchmark: Benchmark,
  scale: number,
): Promise<void> {
  await connection.run("ATTACH ':memory:' AS generated");
  await connection.run("USE generated");
  await loadExtension(connection, benchmark.extension);
  await connection.run(`CALL ${benchmark.generator}(sf = ${scale})`);
  await connection.run(`USE ${lake}`);
  for (const { name } of benchmark.tables) await connection.run(`CREATE TABLE ${name} AS FROM generated.${name}`);
  await connection.run("DETACH generated");
}

export async function benchmarkQueries(connection: DuckDBConnection, benchmark: Benchmark): Promise<Query[]> {
  await loadExtension(connection, benchmark.extension);
  const reader = await connection.runAndReadAll(`SELECT query_nr, query FROM ${benchmark.queries}() ORDER BY query_nr`);
  return reader.getRowsJS().map(([number, sql]) => ({
    name: `q${String(number).padStart(2, "0")}`,
    sql: String(sql).replace(/;\s*$/, ""),
  }));
}
