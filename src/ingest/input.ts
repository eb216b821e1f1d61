import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { FILE_MISSING } from "../engine/errors.js";
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { ConfigError, IngestError, IvmError } from "../errors.js";
import { type Ast, hasLimit, hasRecursion } from "../sql/ast.js";
import { type Parsed, parseStatements } from "../sql/parse.js";
import { quoteIdentifier, quotePath, sameName } from "../sql/quote.js";
import type { FileFormat, IngestSource } from "../types.js";
import { fileFormat, fileQuery, READ_HINT } from "./files.js";
import type { TargetColumn } from "./target.js";

/** The temporary table with the input's rows as they were read. */
export const INPUT = quotePath(["temp", "ivm_input"]);

export type Input =
  | { readonly kind: "query"; readonly sql: string; readonly statement: Ast }
  | { readonly kind: "file"; readonly file: string; readonly format: FileFormat };

export interface InputColumn {
  readonly name: string;
  /** The column's name in INPUT. */
  readonly stored: string;
  readonly type: string;
  /** True where the value was written as text in a file that has no type for it. */
  readonly text: boolean;
}

/** Tells what is meant by a source. @throws ConfigError where it is neither a query nor a file. */
export async function understand(session: Session, source: IngestSource): Promise<Input> {
  if (typeof source === "object" && "file" in source) {
    const format = source.format ?? fileFormat(source.file);
    if (format === undefined) throw formatUnknown(source.file);
    return { kind: "file", file: source.file, format };
  }
  const sql = typeof source === "string" ? source : source.query;
  const parsed = await parseStatements(session, sql);
  if (parsed.kind === "statements") {
    const [statement] = parsed.statements;
    if (statement !== undefined && parsed.statements.length === 1) return { kind: "query", sql, statement };
    throw notOneQuery(`expected one query, found ${parsed.statements.length}.`);
  }
  if (parsed.kind === "not_a_select") throw notOneQuery("only a query can be read.");
  const format = typeof source === "string" ? fileFormat(sql) : undefined;
  if (format !== undefined) return { kind: "file", file: sql, format };
  if (typeof source === "string" && (await fileThere(sql)) !== undefined) throw formatUnknown(sql);
  throw syntaxError(parsed);
}

function formatUnknown(file: string): ConfigError {
  return new ConfigError("format_unknown", `${shown(file)}: how this file is written can't be told.`, {
    subject: { file: shown(file) },
    hint: "Name the format (csv, tsv, parquet or json); endings such as .csv, .parquet, .json and .ndjson are known.",
  });
}

function fileThere(file: string): Promise<Stats | undefined> {
  return stat(file).catch(() => undefined);
}

function notOneQuery(text: string): ConfigError {
  return new ConfigError("input_not_a_query", `The input: ${text}`, {
    hint: "Write one SELECT, FROM, VALUES or WITH query, or name a file.",
  });
}

function syntaxError(parsed: Extract<Parsed, { kind: "syntax_error" }>): ConfigError {
  const { place } = parsed;
  const where = place === undefined ? "" : ` at line ${place.line}, column ${place.column}`;
  return new ConfigError("input_syntax", `The input is no query that DuckDB can read: ${parsed.message}${where}.`, {
    hint: "Write a query such as SELECT * FROM staging, or a file whose ending tells its format, such as orders.csv.",
  });
}

/** Reads the input once, into a temporary table. `wanted` are the table's columns, null where there is no table yet. */
export async function stage(
  session: Session,
  engine: Engine,
  input: Input,
  wanted: readonly TargetColumn[] | null,
): Promise<InputColumn[]> {
  await reachFiles(session, engine, input);
  if (input.kind === "query") {
    // Without brackets, so that a comment or a semicolon at the end does no harm.
    const read = () => reading("The input's query failed.", undefined, () => create(session, input.sql));
    const limited = () => (hasLimit(input.statement) ? engine.rules.readingLimits(session, read) : read());
    await (hasRecursion(input.statement) ? engine.rules.recursing(session, limited) : limited());
    return columnsOf(session, () => false);
  }
  // Text without a time zone must mean the same wherever it is read.
  await session.run("SET SESSION TimeZone = 'UTC'");
  const place = shown(input.file);
  await requireFile(input.file);
  return reading(`${place} can't be read.`, input, async () => {
    const { sql, isText } = await fileQuery(session, input.file, input.format, wanted);
    await create(session, sql);
    return columnsOf(session, isText);
  });
}

/** @throws ConfigError for a folder, and for a pipe, which gives its content to the first look only. */
async function requireFile(file: string): Promise<void> {
  const found = await fileThere(file);
  if (found === undefined || found.isFile()) return;
  throw new ConfigError("not_a_file", `${file} is ${found.isDirectory() ? "a folder" : "a pipe or a device"}.`, {
    subject: { file },
    hint: "Name a file, or files by a pattern such as 'exports/*.csv'.",
  });
}

async function create(session: Session, sql: string): Promise<void> {
  await session.run(`CREATE OR REPLACE TEMP TABLE ${INPUT} AS\n${sql}`);
}

/** DuckDB's own words about the input become an error about the input. */
async function reading<Result>(
  what: string,
  input: Extract<Input, { kind: "file" }> | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof IvmError)) throw error;
    if (error.code !== "engine_error" && error.code !== FILE_MISSING) throw error;
    const message = ownWords(error.message);
    if (input !== undefined && error.code === FILE_MISSING) {
      throw new ConfigError("file_missing", `There is no file ${shown(input.file)}.`, {
        subject: { file: shown(input.file) },
        hint: "Check the path; it counts from the folder in which the command runs.",
        cause: error,
      });
    }
    throw new IngestError("input_unreadable", `${what} ${message}`, {
      ...(input === undefined ? {} : { subject: { file: shown(input.file) }, hint: READ_HINT[input.format] }),
      cause: error,
    });
  }
}

/** DuckDB's message without the place in a statement that nobody wrote, and without advice about options. */
function ownWords(message: string): string {
  const [words = ""] = message.split(/\n\n|\n(?:Possible |It was not possible)/);
  return words.trim();
}

async function reachFiles(session: Session, engine: Engine, input: Input): Promise<void> {
  const text = input.kind === "query" ? input.sql : input.file;
  // Signed addresses carry their signature behind the question mark.
  for (const [, signature] of text.matchAll(/https?:\/\/[^\s'"?]+\?([^\s'"]+)/g)) engine.hide(signature ?? "");
  if (text.includes("s3://")) {
    await engine.reachStorage(session, "s3").catch((error: unknown) => {
      // In a query it may be any text; where keys are needed, DuckDB says so itself.
      if (input.kind === "file") throw error;
    });
  } else if (/https?:\/\//.test(text)) await engine.reachStorage(session, "https");
}

async function columnsOf(session: Session, isText: (column: string) => boolean): Promise<InputColumn[]> {
  const columns = await session.rows<{ column_name: string; column_type: string }>(`DESCRIBE ${INPUT}`);
  const result = columns.map(({ column_name: name, column_type: type }) => {
    // A column of this name hides the row's id.
    const stored = sameName(name, "rowid") ? "_ivm_rowid_of_input" : name;
    return { name, stored, type, text: isText(name) };
  });
  for (const { name, stored } of result) {
    if (name !== stored) {
      await session.run(`ALTER TABLE ${INPUT} RENAME COLUMN ${quoteIdentifier(name)} TO ${quoteIdentifier(stored)}`);
    }
  }
  return result;
}

/** A file's name for messages: a signed address keeps its secrets behind the question mark. */
function shown(file: string): string {
  return /^https?:/.test(file) ? (file.split("?")[0] ?? file) : file;
}

/** What the commit says of where the rows came from. */
export function originOf(input: Input): string {
  return input.kind === "query" ? "query" : shown(input.file);
}
