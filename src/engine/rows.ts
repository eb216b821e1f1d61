import type { DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import { jsonOf } from "./json.js";
import type { Session } from "./session.js";

/** A field of a struct that becomes JSON. */
export function jsonField(name: string, type: DuckDBType): string {
  const column = quoteIdentifier(name);
  return `${column} := ${jsonOf(column, type)}`;
}

/** A SELECT's rows as an Arrow IPC stream; the library for it is loaded with the first use. */
export async function* arrowOf(session: Session, sql: string, names: readonly string[]): AsyncGenerator<Uint8Array> {
  const { ArrowStream } = await import("./arrow.js");
  const stream = new ArrowStream(names, await session.typesOf(sql));
  const columns = names.map((name, index) =>
    stream.asText[index] ? `CAST(${quoteIdentifier(name)} AS VARCHAR)` : quoteIdentifier(name),
  );
  yield* stream.bytes(session.stream(`SELECT ${columns.join(", ")} FROM (${sql})`));
}

/** A row of a query, with DuckDB's own exact types: bigint for BIGINT, objects for decimals, timestamps and lists. */
export type Row = Readonly<Record<string, DuckDBValue>>;

/**
 * Rows of a query, read as they are asked for: a slow reader holds up the reading, not the memory. Take them in one way,
 * once; closing, or reading to the end, frees the connection.
 */
export class Rows implements AsyncIterable<Row>, AsyncDisposable {
  private constructor(
    private readonly session: Session,
    private readonly sql: string,
    /** Names are unique: of several columns with one name, DuckDB numbers all but the first. */
    readonly columns: readonly { readonly name: string; readonly type: string }[],
  ) {}

  /** @internal Rows of one SELECT on a connection that is theirs from now on. */
  static async open(session: Session, select: string): Promise<Rows> {
    const sql = `SELECT * FROM (\n${select}\n) AS rows`;
    const columns = await session.rows<{ name: string; type: string }>(
      `SELECT column_name AS name, column_type AS type FROM (DESCRIBE ${sql})`,
    );
    return new Rows(session, sql, columns);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Row> {
    try {
      for await (const rows of this.session.stream(this.sql)) {
        for (const values of rows) {
          yield Object.fromEntries(this.columns.map(({ name }, index) => [name, values[index] ?? null]));
        }
      }
    } finally {
      this.close();
    }
  }

  /**
   * The rows as lines of JSON, with every number exact. NaN and the infinities, which JSON has no numbers for, are the
   * strings "NaN", "Infinity" and "-Infinity".
   */
  async *jsonLines(): AsyncIterableIterator<string> {
    try {
      const types = await this.session.typesOf(this.sql);
      const fields = this.columns.map(({ name }, index) => jsonField(name, types[index] as DuckDBType));
      const lines = `SELECT CAST(to_json(struct_pack(${fields.join(", ")})) AS VARCHAR) FROM (${this.sql})`;
      for await (const rows of this.session.stream(lines)) {
        for (const [line] of rows) yield line as string;
      }
    } finally {
      this.close();
    }
  }

  /** The rows as an Arrow IPC stream; types without a plain counterpart in Arrow are text. */
  async *arrow(): AsyncGenerator<Uint8Array> {
    try {
      const names = this.columns.map(({ name }) => name);
      yield* arrowOf(this.session, this.sql, names);
    } finally {
      this.close();
    }
  }

  /** Writes the rows to a file of this machine and answers how many there were. */
  async copyTo(path: string, format: "csv" | "parquet"): Promise<bigint> {
    const options = format === "csv" ? "FORMAT csv, HEADER" : "FORMAT parquet, COMPRESSION zstd";
    try {
      return await this.session.change(`COPY (${this.sql}) TO ${quoteLiteral(path)} (${options})`);
    } finally {
      this.close();
    }
  }

  /** Frees the connection. */
  close(): void {
    this.session.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
