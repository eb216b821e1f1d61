import type { DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { arrowOf, jsonField } from "../engine/rows.js";
import type { Session } from "../engine/session.js";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import { decodedRows, entriesForKeys, type KeyFilter } from "./read.js";
import type { LogState } from "./registry.js";
import type { LogRoot } from "./root.js";
import { encodedColumns, type LogSchema } from "./schema.js";
import type { LogRead } from "./window.js";

/** A row of a change log: in changes the signed number of its copies, in a state always 1. */
export interface LogRow {
  readonly weight: bigint;
  /** Values with DuckDB's own exact types: bigint for BIGINT and HUGEINT, objects for decimals, timestamps and lists. */
  readonly row: Readonly<Record<string, DuckDBValue>>;
}

/** How `LogRows.copyTo` writes a file. */
export type LogFileFormat = "csv" | "parquet";

/**
 * Rows of a log, sorted by key, read as they are asked for: a slow reader holds up the reading, not the memory. What it
 * reads stays what it was, whatever is refreshed or compacted meanwhile. Close it, or iterate to the end, to free its
 * connection.
 */
export class LogRows implements AsyncIterable<LogRow>, AsyncDisposable {
  readonly view: string;
  /** The position that the rows begin after; null for a whole state. */
  readonly from: bigint | null;
  /** The position that they lead to. */
  readonly to: bigint;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly key: readonly string[];
  /** The name of the weight column in files; a state has none. */
  readonly weightColumn: string | null;

  private constructor(
    private readonly session: Session,
    private readonly schema: LogSchema,
    private readonly sql: string,
    read: LogRead,
    view: string,
  ) {
    this.view = view;
    this.from = read.from;
    this.to = read.to;
    this.columns = schema.columns.map(({ name, type }) => ({ name, type }));
    this.key = schema.key;
    this.weightColumn = read.from === null ? null : schema.weight;
  }

  /** @throws ConfigError `key_invalid`. */
  static async open(
    session: Session,
    root: LogRoot,
    state: LogState,
    read: LogRead,
    keys: readonly KeyFilter[],
  ): Promise<LogRows> {
    const { schema } = state;
    const entries = await entriesForKeys(session, schema, read.entries, keys);
    const sql = decodedRows(root.store, schema, entries, keys, read.from === null ? "state" : "changes");
    return new LogRows(session, schema, sql, read, state.log);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<LogRow> {
    try {
      const names = this.columns.map((column) => column.name);
      for await (const rows of this.session.stream(this.sql)) {
        for (const values of rows) {
          const row = Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]));
          yield { weight: this.weightColumn === null ? 1n : (values[names.length] as bigint), row };
        }
      }
    } finally {
      this.close();
    }
  }

  /**
   * The rows as lines of JSON: `{"row": {…}, "weight": n}`, with every number exact. NaN and the infinities, which JSON
   * has no numbers for, are the strings "NaN", "Infinity" and "-Infinity".
   */
  async *jsonLines(): AsyncIterableIterator<string> {
    try {
      const types = await this.session.typesOf(this.sql);
      const fields = this.columns.map(({ name }, index) => jsonField(name, types[index] as DuckDBType));
      const weight = this.weightColumn === null ? "" : `, weight := ${quoteIdentifier(this.weightColumn)}`;
      const lines = this.session.stream(
        `SELECT CAST(to_json(struct_pack("row" := struct_pack(${fields.join(", ")})${weight})) AS VARCHAR) FROM (${this.sql})`,
      );
      for await (const rows of lines) {
        for (const [line] of rows) yield line as string;
      }
    } finally {
      this.close();
    }
  }

  /** The rows as an Arrow IPC stream; types without a plain counterpart in Arrow are text. */
  async *arrow(): AsyncGenerator<Uint8Array> {
    try {
      const names = [
        ...this.columns.map((column) => column.name),
        ...(this.weightColumn === null ? [] : [this.weightColumn]),
      ];
      yield* arrowOf(this.session, this.sql, names);
    } finally {
      this.close();
    }
  }

  /** Writes the rows to a file of this machine and answers how many there were. */
  async copyTo(path: string, format: LogFileFormat): Promise<bigint> {
    const options = format === "csv" ? "FORMAT csv, HEADER" : "FORMAT parquet, COMPRESSION zstd";
    // As in the log's own files: Parquet would change values of some types.
    const weight = this.weightColumn === null ? "" : `, ${quoteIdentifier(this.weightColumn)}`;
    const rows = format === "csv" ? this.sql : `SELECT ${encodedColumns(this.schema)}${weight} FROM (${this.sql})`;
    try {
      return await this.session.change(`COPY (${rows}) TO ${quoteLiteral(path)} (${options})`);
    } finally {
      this.close();
    }
  }

  /** Frees the connection; reading to the end does so too. */
  close(): void {
    this.session.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
