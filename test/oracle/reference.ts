/**
 * The oracle: DuckDB evaluates the definitions over copies of the base tables at one snapshot. The copies are taken
 * row by row, without a filter, so that nothing but the definitions decides what the views should hold.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import { describe, differences } from "./compare.js";
import { atInstant } from "./generate/time.js";
import { identifier } from "./print.js";

export interface ReferenceView {
  readonly name: string;
  readonly sql: string;
}

export class Reference {
  private constructor(
    private readonly connection: DuckDBConnection,
    private readonly lake: string,
    private readonly views: readonly ReferenceView[],
    private readonly ordinaryViews: readonly string[],
  ) {}

  /**
   * `connection` is on the lake's instance and is the oracle's own from now on. `views` come in the order in which
   * they read each other; `ordinaryViews` are CREATE VIEW statements.
   */
  static async create(
    connection: DuckDBConnection,
    lake: string,
    views: readonly ReferenceView[],
    ordinaryViews: readonly string[] = [],
  ): Promise<Reference> {
    // Reads of older snapshots are wrong after a rewrite of files when these rules are on.
    await connection.run("SET disabled_optimizers = 'statistics_propagation,compressed_materialization'");
    await connection.run("ATTACH ':memory:' AS oracle");
    await connection.run("USE oracle");
    await connection.run("CREATE SCHEMA held");
    return new Reference(connection, lake, views, ordinaryViews);
  }

  /** Evaluates the definitions at the snapshot, and holds the answers of the given views for comparison. */
  async evaluate(snapshot: bigint, held: readonly string[]): Promise<void> {
    for (const table of await this.tables()) {
      const source = [this.lake, "main", table].map(identifier).join(".");
      await this.connection.run(
        `CREATE OR REPLACE TABLE ${identifier(table)} AS FROM ${source} AT (VERSION => ${snapshot})`,
      );
    }
    for (const sql of this.ordinaryViews)
      await this.connection.run(sql.replace(/^CREATE VIEW/, "CREATE OR REPLACE VIEW"));
    const instant = await this.commitTime(snapshot);
    // DuckDB's other way of ASOF joins finds partners for NULLs. The setting is the whole instance's.
    await this.connection.run("SET asof_loop_join_threshold = 1000000");
    // With several threads recursions end too early now and then (see src/engine/lake.ts).
    const recursive = this.views.some(({ sql }) => /\bRECURSIVE\b/i.test(sql));
    const threads = await this.connection.runAndReadAll("SELECT current_setting('threads')");
    if (recursive) await this.connection.run("SET threads = 1");
    for (const { name, sql } of this.views) {
      await this.connection.run(`CREATE OR REPLACE TABLE ${identifier(name)} AS ${atInstant(sql, instant)}`);
      if (!held.includes(name)) continue;
      await this.connection.run(`CREATE OR REPLACE TABLE held.${identifier(name)} AS FROM ${identifier(name)}`);
    }
    if (recursive) await this.connection.run(`SET threads = ${threads.getRowsJS()[0]?.[0]}`);
    await this.connection.run("RESET asof_loop_join_threshold");
  }

  /** How the view in the lake differs from its answer at its last refresh; null where it does not. */
  async compare(view: string): Promise<string | null> {
    const expected = `held.${identifier(view)}`;
    const actual = [this.lake, "main", view].map(identifier).join(".");
    const [have, want] = [await describe(this.connection, actual), await describe(this.connection, expected)];
    const print = (columns: readonly { name: string; type: string }[]) =>
      columns.map(({ name, type }) => `${identifier(name)} ${type}`).join(", ");
    if (print(have) !== print(want)) return `columns: expected (${print(want)}), got (${print(have)})`;
    const rows = await differences(this.connection, actual, expected);
    return rows.length === 0 ? null : `rows (+ too many, - missing):\n${rows.map((row) => `    ${row}`).join("\n")}`;
  }

  private async commitTime(snapshot: bigint): Promise<string> {
    const reader = await this.connection.runAndReadAll(
      `SELECT snapshot_time::VARCHAR FROM ducklake_snapshots('${this.lake}') WHERE snapshot_id = ${snapshot}`,
    );
    return String(reader.getRowsJS()[0]?.[0]);
  }

  /** The base tables that the lake has now. */
  private async tables(): Promise<string[]> {
    const reader = await this.connection.runAndReadAll(
      `SELECT table_name FROM duckdb_tables() WHERE database_name = '${this.lake}' AND schema_name = 'main'`,
    );
    return reader.getRowsJS().map(([name]) => String(name));
  }
}
