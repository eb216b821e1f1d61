import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import type { ColumnVersion } from "./tables.js";

/** DuckLake's types whose values stand in a Parquet file as they are, with DuckDB's names. */
const PLAIN_TYPES: Readonly<Record<string, string>> = {
  boolean: "BOOLEAN",
  int8: "TINYINT",
  int16: "SMALLINT",
  int32: "INTEGER",
  int64: "BIGINT",
  uint8: "UTINYINT",
  uint16: "USMALLINT",
  uint32: "UINTEGER",
  uint64: "UBIGINT",
  float32: "FLOAT",
  float64: "DOUBLE",
  varchar: "VARCHAR",
  blob: "BLOB",
  date: "DATE",
  timestamp: "TIMESTAMP",
  timestamptz: "TIMESTAMP WITH TIME ZONE",
  uuid: "UUID",
};
const DECIMAL = /^decimal\(\d+,\s*\d+\)$/;

/** A data file as it has to be known before it is read without DuckLake. */
export interface DirectFile {
  readonly path: string;
  /** The snapshot that its rows came with. */
  readonly begin: bigint;
  /** True where its columns are found by a mapping of names: somebody else wrote it. */
  readonly mapped: boolean;
}

/**
 * Reads columns of single data files. DuckLake opens every file of a table before it leaves out those that a condition on
 * `filename` does not name, so that what a read of one file costs grows with the table; this costs what the file does. It
 * is for the columns that files have just as the table has them, found by the ids that DuckLake gives to both; for
 * others, such as those that came with a default or whose type was changed after a file was written, it is null.
 * @param columns those of the table at the end of the window; `used` are the names of those to be read.
 */
export class DirectRead {
  private constructor(private readonly columns: readonly ColumnVersion[]) {}

  static of(columns: readonly ColumnVersion[], used: readonly string[]): DirectRead | null {
    const found: ColumnVersion[] = [];
    for (const name of used) {
      const column = columns.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
      if (column === undefined || typeOf(column) === undefined) return null;
      found.push(column);
    }
    return new DirectRead(found);
  }

  /** True where the file holds the columns as the table has them. */
  reads({ begin, mapped }: DirectFile): boolean {
    return !mapped && this.columns.every(({ since }) => since <= begin);
  }

  /** A SELECT of the columns of the files' rows. */
  select(files: readonly DirectFile[], where?: string): string {
    const paths = files.map(({ path }) => quoteLiteral(path)).join(", ");
    const fields = this.columns.map(
      (column) =>
        `${column.id}: {name: ${quoteLiteral(column.name)}, type: ${quoteLiteral(typeOf(column) ?? "")}, default_value: NULL}`,
    );
    const schema = fields.length === 0 ? "" : `, schema = MAP {${fields.join(", ")}}`;
    const list = this.columns.length === 0 ? "NULL" : this.columns.map(({ name }) => quoteIdentifier(name)).join(", ");
    return `SELECT ${list} FROM read_parquet([${paths}], hive_partitioning = false${schema})${where === undefined ? "" : ` WHERE ${where}`}`;
  }
}

function typeOf({ type }: ColumnVersion): string | undefined {
  return DECIMAL.test(type) ? type : PLAIN_TYPES[type];
}
