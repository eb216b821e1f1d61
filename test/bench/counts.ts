/** What work does, counted by DuckDB's own log: numbers that are the same on every machine. */
import type { DuckDBConnection } from "@duckdb/node-api";
import { vi } from "vitest";
import { Engine } from "../../src/engine/lake.js";
import type { Session } from "../../src/engine/session.js";
import { quoteLiteral } from "../../src/sql/quote.js";

export interface Counts {
  /** Statements that this project sent to DuckDB. */
  readonly statements: number;
  /** Queries that DuckLake sent to its catalog by itself; each is a round trip where that is a server. */
  readonly catalog: number;
  /** Of each table that was read, by schema and name: files, row groups with values, and row groups of which rows were only counted. */
  readonly read: Readonly<Record<string, string>>;
}

interface TableCounts {
  readonly table: string;
  readonly files: bigint;
  readonly read: bigint;
  readonly counted: bigint;
}

const session = Engine.prototype.session;

/** Sees every session that a lake opens, from now on until it is disposed of. */
export class Counter implements Disposable {
  private readonly sessions: Session[] = [];
  private readonly spy = vi.spyOn(Engine.prototype, "session");

  constructor() {
    const { sessions } = this;
    this.spy.mockImplementation(async function (this: Engine, ...args) {
      const opened = await session.apply(this, args);
      sessions.push(opened);
      return opened;
    });
  }

  /**
   * Counts some work, once for each lake: a lake's extension reports only to the first log that it finds switched on.
   * @param connection to the same instance, and not used by the work.
   * @param folder with the lake's data files.
   */
  async count(connection: DuckDBConnection, folder: string, work: () => Promise<unknown>): Promise<Counts> {
    await connection.run("CALL enable_logging(level => 'trace')");
    const before = this.statements;
    await work();
    const statements = this.statements - before;
    await connection.run("CALL disable_logging()");
    return { statements, ...(await readLog(connection, folder)) };
  }

  private get statements(): number {
    return this.sessions.reduce((sum, { statements }) => sum + statements, 0);
  }

  [Symbol.dispose](): void {
    this.spy.mockRestore();
  }
}

async function readLog(connection: DuckDBConnection, folder: string): Promise<Omit<Counts, "statements">> {
  const rows = async <Row>(sql: string): Promise<Row[]> =>
    (await connection.runAndReadAll(sql)).getRowObjectsJS() as Row[];
  const [queries] = await rows<{ n: bigint }>("SELECT count(*) AS n FROM duckdb_logs WHERE type = 'DuckLakeMetadata'");
  const tables = await rows<TableCounts>(`
    WITH opened AS (
      SELECT message->>'path' AS path, 0 AS read, 0 AS counted FROM duckdb_logs WHERE type = 'FileSystem'
      GROUP BY path HAVING bool_and(message->>'op' <> 'WRITE')
    ), groups AS (
      SELECT info['file'] AS path, CAST(parameters['Projections'] <> '' AS INTEGER) AS read, 1 - read AS counted
      FROM duckdb_logs_parsed('PhysicalOperator') WHERE class = 'ParquetReader' AND event = 'ReadRowGroup'
    )
    SELECT regexp_extract(path, '([^/]+/[^/]+)/[^/]+$', 1) AS "table", count(DISTINCT path) AS files,
      CAST(sum(read) AS BIGINT) AS read, CAST(sum(counted) AS BIGINT) AS counted
    FROM (FROM opened UNION ALL FROM groups) WHERE starts_with(path, ${quoteLiteral(folder)}) AND path LIKE '%.parquet'
    GROUP BY "table" ORDER BY "table"`);
  const told = tables.map(({ table, files, read, counted }) => [
    table,
    `files ${files}, row groups ${read}${counted === 0n ? "" : `, counted ${counted}`}`,
  ]);
  return { catalog: Number(queries?.n), read: Object.fromEntries(told) };
}
