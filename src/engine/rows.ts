import type { DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { ConfigError } from "../errors.js";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import { hasRowValue, jsonOf, numbered } from "./json.js";
import type { Session } from "./session.js";

/** Rows that are read as they are asked for, on a connection that goes with them. */
export abstract class StreamedRows implements AsyncDisposable {
  private taken = false;

  protected constructor(
    protected readonly session: Session,
    protected readonly sql: string,
  ) {}

  /** The names of all that the SELECT gives, in order. */
  protected abstract get names(): readonly string[];

  /** The rows as an Arrow IPC stream; types without a plain counterpart in Arrow are text. */
  async *arrow(): AsyncGenerator<Uint8Array> {
    this.take();
    // The library for it is loaded with the first use.
    const { ArrowStream } = await import("./arrow.js");
    try {
      const stream = new ArrowStream(this.names, await this.session.typesOf(this.sql));
      const columns = this.names.map((name, index) =>
        stream.asText[index] ? `CAST(${quoteIdentifier(name)} AS VARCHAR)` : quoteIdentifier(name),
      );
      yield* stream.bytes(this.session.stream(`SELECT ${columns.join(", ")} FROM (${this.sql})`));
    } finally {
      this.close();
    }
  }

  /** Frees the connection; reading to the end does so too. */
  close(): void {
    this.taken = true;
    this.session.close();
  }

  /** @throws ConfigError `rows_taken`. */
  protected take(): void {
    if (this.taken) {
      throw new ConfigError("rows_taken", "The rows were read or closed before: they can be read once, in one way.", {
        hint: "Ask for them again, or keep what you read in an array.",
      });
    }
    this.taken = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** The values of each row; the connection is freed with the last one. */
  protected async *values(): AsyncGenerator<readonly DuckDBValue[], void, undefined> {
    this.take();
    yield* this.read(this.sql);
  }

  /** The values of rows that were taken. */
  protected async *read(sql: string): AsyncGenerator<readonly DuckDBValue[], void, undefined> {
    try {
      for await (const rows of this.session.stream(sql)) yield* rows;
    } finally {
      this.close();
    }
  }

  /**
   * Each row as a line of JSON.
   * @param columns those that become fields.
   * @param wrap makes the line's expression from the struct of the fields.
   */
  protected async *lines(
    columns: readonly { readonly name: string }[],
    wrap: (struct: string) => string = (struct) => struct,
  ): AsyncGenerator<string, void, undefined> {
    this.take();
    try {
      const types = await this.session.typesOf(this.sql);
      const fields = columns.map(
        ({ name }, index) => `${quoteIdentifier(name)} := ${jsonOf(quoteIdentifier(name), types[index] as DuckDBType)}`,
      );
      const line = `to_json(${wrap(`struct_pack(${fields.join(", ")})`)})`;
      for await (const [text] of this.read(`SELECT CAST(${line} AS VARCHAR) FROM (${this.sql})`)) yield text as string;
    } finally {
      this.close();
    }
  }

  /** Writes the rows of a SELECT over these to a file of this machine. */
  protected async copy(select: string, path: string, format: "csv" | "parquet"): Promise<bigint> {
    this.take();
    const options = format === "csv" ? "FORMAT csv, HEADER" : "FORMAT parquet, COMPRESSION zstd";
    try {
      return await this.session.change(`COPY (${select}) TO ${quoteLiteral(path)} (${options})`);
    } finally {
      this.close();
    }
  }
}

/** A row of a query, with DuckDB's own exact types: bigint for BIGINT, objects for decimals, timestamps and lists. */
export type Row = Readonly<Record<string, DuckDBValue>>;

/**
 * Rows of a query, read as they are asked for: a slow reader holds up the reading, not the memory. Take them in one way,
 * once; closing, or reading to the end, frees the connection.
 */
export class Rows extends StreamedRows implements AsyncIterable<Row> {
  private constructor(
    session: Session,
    sql: string,
    /** Names are unique: of several columns with one name, DuckDB numbers all but the first. */
    readonly columns: readonly { readonly name: string; readonly type: string }[],
  ) {
    super(session, sql);
  }

  /** @internal Rows of one SELECT on a connection that is theirs from now on. */
  static async open(session: Session, select: string, limit?: number): Promise<Rows> {
    const sql = `SELECT * FROM (\n${select}\n) AS rows${limit === undefined ? "" : ` LIMIT ${limit}`}`;
    const columns = await session.rows<{ name: string; type: string }>(
      `SELECT column_name AS name, column_type AS type FROM (DESCRIBE ${sql})`,
    );
    return new Rows(session, sql, columns);
  }

  protected override get names(): readonly string[] {
    return this.columns.map(({ name }) => name);
  }

  /** Fields of row values, `(a, b)`, which have no names, are named "1", "2" and so on. */
  [Symbol.asyncIterator](): AsyncIterator<Row> {
    return this.objects(numbered);
  }

  /** The rows as people read them: row values are text, as DuckDB prints them. */
  printed(): AsyncIterable<Row> {
    return this.objects((value) => `CAST(${value} AS VARCHAR)`);
  }

  private async *objects(ofRowValue: (value: string, type: DuckDBType) => string): AsyncGenerator<Row> {
    this.take();
    const sql = await this.withRowValues(ofRowValue);
    for await (const values of this.read(sql)) {
      yield Object.fromEntries(this.names.map((name, index) => [name, values[index] ?? null]));
    }
  }

  /** JavaScript's objects would keep one of the fields without names. */
  private async withRowValues(change: (value: string, type: DuckDBType) => string): Promise<string> {
    if (!this.columns.some(({ type }) => type.includes("STRUCT("))) return this.sql;
    const types = await this.session.typesOf(this.sql);
    if (!types.some(hasRowValue)) return this.sql;
    const columns = this.names.map((name, index) => {
      const [value, type] = [quoteIdentifier(name), types[index] as DuckDBType];
      return hasRowValue(type) ? `${change(value, type)} AS ${value}` : value;
    });
    return `SELECT ${columns.join(", ")} FROM (${this.sql})`;
  }

  /**
   * The rows as lines of JSON, with every number exact. NaN and the infinities, which JSON has no numbers for, are the
   * strings "NaN", "Infinity" and "-Infinity". Fields of row values are named "1", "2" and so on.
   */
  jsonLines(): AsyncIterableIterator<string> {
    return this.lines(this.columns);
  }

  /** Writes the rows to a file of this machine and answers how many there were. */
  copyTo(path: string, format: "csv" | "parquet"): Promise<bigint> {
    return this.copy(this.sql, path, format);
  }
}
