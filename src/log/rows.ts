import type { DuckDBValue } from "@duckdb/node-api";
import { StreamedRows } from "../engine/rows.js";
import type { Session } from "../engine/session.js";
import { quoteIdentifier } from "../sql/quote.js";
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
export class LogRows extends StreamedRows implements AsyncIterable<LogRow> {
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
    session: Session,
    private readonly schema: LogSchema,
    sql: string,
    read: LogRead,
    view: string,
  ) {
    super(session, sql);
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

  protected override get names(): readonly string[] {
    const names = this.columns.map((column) => column.name);
    return this.weightColumn === null ? names : [...names, this.weightColumn];
  }

  async *[Symbol.asyncIterator](): AsyncIterator<LogRow> {
    const { columns } = this;
    for await (const values of this.values()) {
      const row = Object.fromEntries(columns.map(({ name }, index) => [name, values[index] ?? null]));
      yield { weight: this.weightColumn === null ? 1n : (values[columns.length] as bigint), row };
    }
  }

  /**
   * The rows as lines of JSON: `{"row": {…}, "weight": n}`, with every number exact. NaN and the infinities, which JSON
   * has no numbers for, are the strings "NaN", "Infinity" and "-Infinity".
   */
  jsonLines(): AsyncIterableIterator<string> {
    const weight = this.weightColumn === null ? "" : `, weight := ${quoteIdentifier(this.weightColumn)}`;
    return this.lines(this.columns, (struct) => `struct_pack("row" := ${struct}${weight})`);
  }

  /** The rows as lines of JSON with their columns alone, the weight in changes as the last one. */
  flatJsonLines(): AsyncIterableIterator<string> {
    return this.lines(this.names.map((name) => ({ name })));
  }

  /** Writes the rows to a file of this machine and answers how many there were. */
  copyTo(path: string, format: LogFileFormat): Promise<bigint> {
    // As in the log's own files: Parquet would change values of some types.
    const weight = this.weightColumn === null ? "" : `, ${quoteIdentifier(this.weightColumn)}`;
    const rows = format === "csv" ? this.sql : `SELECT ${encodedColumns(this.schema)}${weight} FROM (${this.sql})`;
    return this.copy(rows, path, format);
  }
}
