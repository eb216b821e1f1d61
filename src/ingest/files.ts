/** How files become queries. DuckDB's guesses about them are kept out wherever a wrong guess would change values. */
import type { Session } from "../engine/session.js";
import { IngestError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, sameName } from "../sql/quote.js";
import type { FileFormat } from "../types.js";
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

/**
 * The query that reads a file, or all files of a pattern, for a table of these columns; null for a table that is still
 * to be made.
 * @throws IngestError `files_differ` where files of a pattern have not the same columns: DuckDB reads them by the form
 * of the first, and leaves out or rounds what does not fit it.
 */
export function fileQuery(
  session: Session,
  file: string,
  format: FileFormat,
  wanted: readonly TargetColumn[] | null,
): Promise<FileQuery> {
  switch (format) {
    case "parquet":
      return parquetQuery(session, file);
    case "csv":
      return delimitedQuery(session, file, ",", wanted);
    case "tsv":
      return delimitedQuery(session, file, "\t", wanted);
    case "json":
      return jsonQuery(session, file, wanted);
  }
}

async function parquetQuery(session: Session, file: string): Promise<FileQuery> {
  const path = quoteLiteral(file);
  const element = "row(name, type, converted_type, CAST(logical_type AS VARCHAR), precision, scale, num_children)";
  const forms = await session.rows<{ file: string }>(`
    SELECT min(file_name) AS file FROM (
      SELECT file_name, list(${element} ORDER BY ${element}) AS form FROM parquet_schema(${path}) GROUP BY file_name
    ) GROUP BY form ORDER BY 1 LIMIT 2`);
  const [first, second] = forms;
  if (first !== undefined && second !== undefined) throw filesDiffer(first.file, second.file);
  return { sql: `SELECT * FROM read_parquet(${path})`, isText: () => false };
}

function filesDiffer(one: string, other: string): IngestError {
  return new IngestError("files_differ", `The files ${one} and ${other} have not the same columns.`, {
    subject: { file: other },
    hint: "Read them one by one, or with a query: SELECT * FROM read_parquet('…', union_by_name = true), or read_csv.",
  });
}

/**
 * The dialect is fixed: a guessed one takes lines that begin with # for comments, or leaves lines out. Only "nothing"
 * is NULL; "" is the empty text.
 */
function dialect(delimiter: string): string {
  return `delim = ${quoteLiteral(delimiter)}, quote = '"', escape = '"', comment = '', header = true, skip = 0, allow_quoted_nulls = false, hive_partitioning = false`;
}

async function delimitedQuery(
  session: Session,
  file: string,
  delimiter: string,
  wanted: readonly TargetColumn[] | null,
): Promise<FileQuery> {
  const options = `${quoteLiteral(file)}, ${dialect(delimiter)}`;
  const names = await namesOf(session, file, delimiter);
  if (wanted === null) {
    return { sql: `SELECT * FROM read_csv(${options}, sample_size = -1)`, isText: () => false };
  }
  requireColumns(
    file,
    names.map((name) => ({ name })),
    "column0",
    wanted,
    "no line of names",
  );
  const columns = structOf(names.map((name) => [name, "VARCHAR"]));
  const sql = `SELECT * FROM read_csv(${options}, auto_detect = false, columns = ${columns})`;
  return { sql, isText: () => true };
}

/** The line of names, which all files of a pattern must share: DuckDB would read the others by position. */
async function namesOf(session: Session, file: string, delimiter: string): Promise<string[]> {
  // Wrong lines are for the reading itself to find, which tells where they are.
  const lenient = "all_varchar = true, strict_mode = false, null_padding = true, ignore_errors = true";
  const names = async (path: string): Promise<string[]> => {
    const found = await describe(session, `read_csv(${quoteLiteral(path)}, ${dialect(delimiter)}, ${lenient})`);
    return found.map(({ name }) => name);
  };
  // The web has no patterns, and question marks of its own.
  const isPattern = /[*?[]/.test(file) && !/^https?:/.test(file);
  const [first = file, ...others] = isPattern ? await filesOf(session, file) : [file];
  const expected = await names(first);
  for (const other of others) {
    if (JSON.stringify(await names(other)) !== JSON.stringify(expected)) throw filesDiffer(first, other);
  }
  return expected;
}

async function filesOf(session: Session, pattern: string): Promise<string[]> {
  const files = await session.rows<{ file: string }>(`SELECT file FROM glob(${quoteLiteral(pattern)}) ORDER BY 1`);
  return files.map((row) => row.file);
}

/** A format that no text has, so that text which looks like a date stays the text that it is. */
const NO_DATES = "dateformat = 'none', timestampformat = 'none'";

/** All objects are looked at, since a name that is seen too late is left out without a word. */
const WHOLE = "sample_size = -1, maximum_sample_files = 2147483647, hive_partitioning = false";

async function jsonQuery(session: Session, file: string, wanted: readonly TargetColumn[] | null): Promise<FileQuery> {
  const path = quoteLiteral(file);
  if (wanted === null) return { sql: `SELECT * FROM read_json(${path}, ${WHOLE})`, isText: () => false };
  const found = await describe(session, `read_json(${path}, ${WHOLE}, ${NO_DATES})`);
  requireColumns(file, found, "json", wanted, "no objects");
  const nested = (name: string, type: string): boolean =>
    isNested(type) && isNested(wanted.find((column) => sameName(column.name, name))?.type ?? "");
  const columns = found.map(({ name, type }): [string, string] => [name, nested(name, type) ? type : "VARCHAR"]);
  const texts = new Set(columns.filter(([, type]) => type === "VARCHAR").map(([name]) => name));
  return {
    sql: `SELECT * FROM read_json(${path}, ${NO_DATES}, hive_partitioning = false, columns = ${structOf(columns)})`,
    isText: (name) => texts.has(name),
  };
}

/** DuckDB gives a file that holds nothing one column of its own making. An empty state is no reason to delete a table. */
function requireColumns(
  file: string,
  found: readonly { readonly name: string }[],
  placeholder: string,
  wanted: readonly TargetColumn[],
  missing: string,
): void {
  const isEmpty = found.length === 0 || (found.length === 1 && found[0]?.name === placeholder);
  if (!isEmpty || wanted.some((column) => sameName(column.name, placeholder))) return;
  throw new IngestError("input_unreadable", `${file} holds ${missing}.`, { subject: { file } });
}

async function describe(session: Session, relation: string): Promise<{ name: string; type: string }[]> {
  const rows = await session.rows<{ column_name: string; column_type: string }>(`DESCRIBE SELECT * FROM ${relation}`);
  return rows.map(({ column_name: name, column_type: type }) => ({ name, type }));
}

function structOf(columns: readonly (readonly [string, string])[]): string {
  return `{${columns.map(([name, type]) => `${quoteIdentifier(name)}: ${quoteLiteral(type)}`).join(", ")}}`;
}
