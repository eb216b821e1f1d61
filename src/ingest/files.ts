/** How files become queries. DuckDB's guesses about them are kept out wherever a wrong guess would change values. */
import type { Session } from "../engine/session.js";
import { IngestError } from "../errors.js";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import type { FileFormat } from "../types.js";
import { sameName } from "../view/names.js";
import { isNested } from "./convert.js";
import type { TargetColumn } from "./target.js";

export interface FileQuery {
  readonly sql: string;
  /** Whether a column's values come as the text that stands in the file. */
  readonly isText: (column: string) => boolean;
}

const FORMATS: Readonly<Record<string, FileFormat>> = {
  csv: "csv",
  tsv: "tsv",
  tab: "tsv",
  parquet: "parquet",
  pq: "parquet",
  json: "json",
  jsonl: "json",
  ndjson: "json",
};

/** What can be done where a file does not come out as it should. */
export const READ_HINT: Readonly<Record<FileFormat, string>> = {
  csv: "A CSV file needs a line of names first, commas between and double quotes around values; read any other with a query: SELECT * FROM read_csv('…', delim = ';').",
  tsv: "A TSV file needs a line of names first, tabs between and double quotes around values; read any other with a query over read_csv.",
  parquet: "Check that the file exists and is complete.",
  json: "A JSON file needs objects, in one array or one after the other; read any other with a query over read_json.",
};

/** A file's format, by its ending; `.gz` and `.zst` after it are left aside. */
export function fileFormat(file: string): FileFormat | undefined {
  const path = /^https?:/.test(file) ? (file.split("?")[0] ?? file) : file;
  const ending = /\.([a-z]+)(?:\.(?:gz|zst))?$/i.exec(path.trim())?.[1]?.toLowerCase() ?? "";
  return FORMATS[ending];
}

/** The query that reads a file for a table of these columns; null for a table that is still to be made. */
export function fileQuery(
  session: Session,
  file: string,
  format: FileFormat,
  wanted: readonly TargetColumn[] | null,
): Promise<FileQuery> {
  switch (format) {
    case "parquet":
      return Promise.resolve({ sql: `SELECT * FROM read_parquet(${quoteLiteral(file)})`, isText: () => false });
    case "csv":
      return delimitedQuery(session, file, ",", wanted);
    case "tsv":
      return delimitedQuery(session, file, "\t", wanted);
    case "json":
      return jsonQuery(session, file, wanted);
  }
}

/**
 * The dialect is fixed: a guessed one takes lines that begin with # for comments, or leaves lines out. Only "nothing"
 * is NULL; "" is the empty text.
 */
function dialect(delimiter: string): string {
  return `delim = ${quoteLiteral(delimiter)}, quote = '"', escape = '"', comment = '', header = true, skip = 0, allow_quoted_nulls = false`;
}

async function delimitedQuery(
  session: Session,
  file: string,
  delimiter: string,
  wanted: readonly TargetColumn[] | null,
): Promise<FileQuery> {
  const options = `${quoteLiteral(file)}, ${dialect(delimiter)}`;
  if (wanted === null) {
    return { sql: `SELECT * FROM read_csv(${options}, sample_size = -1)`, isText: () => false };
  }
  // Names only, so wrong lines are for the reading itself to find, which tells where they are.
  const lenient = "all_varchar = true, strict_mode = false, null_padding = true, ignore_errors = true";
  const names = (await describe(session, `read_csv(${options}, ${lenient})`)).map(({ name }) => name);
  const columns = structOf(names.map((name) => [name, "VARCHAR"]));
  const sql = `SELECT * FROM read_csv(${options}, auto_detect = false, columns = ${columns})`;
  return { sql, isText: () => true };
}

/** A format that no text has, so that text which looks like a date stays the text that it is. */
const NO_DATES = "dateformat = 'none', timestampformat = 'none'";

async function jsonQuery(session: Session, file: string, wanted: readonly TargetColumn[] | null): Promise<FileQuery> {
  const path = quoteLiteral(file);
  if (wanted === null) return { sql: `SELECT * FROM read_json(${path}, sample_size = -1)`, isText: () => false };
  const found = await describe(session, `read_json(${path}, sample_size = -1, ${NO_DATES})`);
  const nested = (name: string, type: string): boolean =>
    isNested(type) && isNested(wanted.find((column) => sameName(column.name, name))?.type ?? "");
  const columns = found.map(({ name, type }): [string, string] => [name, nested(name, type) ? type : "VARCHAR"]);
  if (columns.length === 0) {
    throw new IngestError("input_unreadable", "The file holds no objects.", { hint: READ_HINT.json });
  }
  const texts = new Set(columns.filter(([, type]) => type === "VARCHAR").map(([name]) => name));
  return {
    sql: `SELECT * FROM read_json(${path}, ${NO_DATES}, columns = ${structOf(columns)})`,
    isText: (name) => texts.has(name),
  };
}

async function describe(session: Session, relation: string): Promise<{ name: string; type: string }[]> {
  const rows = await session.rows<{ column_name: string; column_type: string }>(`DESCRIBE SELECT * FROM ${relation}`);
  return rows.map(({ column_name: name, column_type: type }) => ({ name, type }));
}

function structOf(columns: readonly (readonly [string, string])[]): string {
  return `{${columns.map(([name, type]) => `${quoteIdentifier(name)}: ${quoteLiteral(type)}`).join(", ")}}`;
}
