/**
 * What views should hold: plain DuckDB evaluates their definitions over copies of the base tables at one snapshot,
 * on a connection of its own.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import { quoteIdentifier, quoteLiteral, quotePath } from "../../src/sql/quote.js";

export interface NamedQuery {
  readonly name: string;
  readonly sql: string;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

const ORACLE = "oracle";

export class Oracle {
  private constructor(
    private readonly connection: DuckDBConnection,
    private readonly lake: string,
    private readonly schema: string,
    private readonly stateSchema: string,
  ) {}

  /** `connection` is on an instance that has the lake as `lake`; it is the oracle's own from now on. */
  static async create(
    connection: DuckDBConnection,
    lake: string,
    schemas: { readonly schema: string; readonly stateSchema: string },
  ): Promise<Oracle> {
    await connection.run("SET disabled_optimizers = 'statistics_propagation,compressed_materialization'");
    await connection.run(`ATTACH IF NOT EXISTS ':memory:' AS ${ORACLE}`);
    await connection.run(`USE ${ORACLE}`);
    return new Oracle(connection, lake, schemas.schema, schemas.stateSchema);
  }

  /**
   * How the views in the lake differ from their definitions evaluated at the horizon, a text for each difference.
   * `queries` come in the order in which they read each other; those that the lake has no view of are only helpers.
   */
  async differences(
    queries: readonly NamedQuery[],
    horizon: bigint,
    views: readonly string[] = queries.map((query) => query.name),
  ): Promise<string[]> {
    await this.copyTables(horizon);
    const found: string[] = [];
    for (const { name, sql } of queries) {
      const expected = quotePath([ORACLE, "main", name]);
      await this.connection.run(`CREATE OR REPLACE TABLE ${expected} AS ${sql}`);
      if (!views.includes(name)) continue;
      found.push(...(await this.compare(name, quotePath([this.lake, this.schema, name]), expected)));
    }
    for (const { name } of queries) await this.connection.run(`DROP TABLE ${quotePath([ORACLE, "main", name])}`);
    return found;
  }

  private async copyTables(horizon: bigint): Promise<void> {
    const tables = await this.rows(
      `SELECT schema_name, table_name FROM duckdb_tables()
       WHERE database_name = ${quoteLiteral(this.lake)} AND schema_name <> ${quoteLiteral(this.stateSchema)}`,
    );
    const stale = await this.rows(
      `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ${quoteLiteral(ORACLE)}`,
    );
    for (const table of stale) await this.connection.run(`DROP TABLE ${quotePath([ORACLE, ...table])}`);
    for (const [schema = "", table = ""] of tables) {
      await this.connection.run(`CREATE SCHEMA IF NOT EXISTS ${quotePath([ORACLE, schema])}`);
      await this.connection.run(
        `CREATE TABLE ${quotePath([ORACLE, schema, table])} AS
         FROM ${quotePath([this.lake, schema, table])} AT (VERSION => ${horizon})`,
      );
    }
  }

  private async compare(view: string, actual: string, expected: string): Promise<string[]> {
    const [have, want] = [await this.columns(actual), await this.columns(expected)];
    if (JSON.stringify(have) !== JSON.stringify(want)) {
      return [`${view}: columns ${JSON.stringify(have)} instead of ${JSON.stringify(want)}`];
    }
    const list = want.map(({ name, type }, index) => `${comparable(quoteIdentifier(name), type)} AS c${index}`);
    const rows = (from: string) => `SELECT ${list.join(", ")} FROM ${from}`;
    const sides = [
      ["too many", rows(actual), rows(expected)],
      ["missing", rows(expected), rows(actual)],
    ] as const;
    const found: string[] = [];
    for (const [what, left, right] of sides) {
      const sample = await this.rows(
        `SELECT row(columns(*)::VARCHAR)::VARCHAR FROM (${left} EXCEPT ALL ${right}) ORDER BY ALL LIMIT 5`,
      );
      found.push(...sample.map((row) => `${view}: ${what} ${row.join(" ")}`));
    }
    return found;
  }

  private async columns(relation: string): Promise<Column[]> {
    const rows = await this.rows(`SELECT column_name, column_type FROM (DESCRIBE FROM ${relation})`);
    return rows.map(([name = "", type = ""]) => ({ name, type }));
  }

  private async rows(sql: string): Promise<string[][]> {
    return (await this.connection.runAndReadAll(sql)).getRowsJS().map((row) => row.map(String));
  }
}

/** An average over values that come in another order may differ in its last bit, and zero has two signs. */
function comparable(column: string, type: string): string {
  if (type !== "DOUBLE" && type !== "FLOAT") return column;
  return `CASE WHEN ${column} = 0 THEN '0' ELSE format('{:.9e}', ${column}) END`;
}
