/** What `append` and `merge` share: their arguments, their options and what they print. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { FileFormat, IngestResult, IngestSource } from "../types.js";
import type { Outcome } from "./context.js";
import type { Style } from "./style.js";

const FORMATS: readonly FileFormat[] = ["csv", "tsv", "parquet", "json"];

export interface IngestCommandOptions {
  readonly key?: readonly string[];
  readonly create?: boolean;
  readonly dryRun?: boolean;
  readonly format?: FileFormat;
}

/** Adds `TABLE FROM <query|file>`. */
export function ingestArguments(command: Command): Command {
  return command
    .argument("<table>", "the table, as in SQL: orders, sales.orders")
    .argument("<from>", 'the word "from"', parseFrom)
    .argument("<query|file>", "a SELECT that runs in the lake; or a file, a pattern of files, s3://…, https://…");
}

export function keyOption(description: string): Option {
  return new Option("--key <columns>", description).argParser(parseKey);
}

export function createOption(): Option {
  return new Option("--create", "create the table with the input's columns where it does not exist");
}

export function formatOption(): Option {
  return new Option("--format <format>", "how the file is written, where its ending does not tell").choices(FORMATS);
}

/** With a format the text is a file; without one the library tells it from a query. */
export function sourceOf(text: string, format: FileFormat | undefined): IngestSource {
  return format === undefined ? text : { file: text, format };
}

export function ingestOutcome(result: IngestResult, style: Style): Outcome {
  return { json: result, lines: [ingestLine(result, style)] };
}

function ingestLine(result: IngestResult, style: Style): string {
  const { table, rows } = result;
  const number = (value: bigint): string => value.toLocaleString("en-US");
  if (result.status === "unchanged") {
    const why =
      rows.input === 0n ? "the input has no rows" : `all ${number(rows.input)} rows of the input are there already`;
    return `${style.bold(table)}: unchanged, ${why}`;
  }
  const counts: readonly (readonly [bigint, string])[] = [
    [rows.inserted, "inserted"],
    [rows.updated, "updated"],
    [rows.deleted, "deleted"],
    [rows.unchanged, "unchanged"],
  ];
  const parts = counts.filter(([count]) => count > 0n).map(([count, what]) => `${number(count)} ${what}`);
  const told = parts.length === 0 ? "no rows" : parts.join(", ");
  const created = result.created ? `${result.dryRun ? "would be created" : "created"}, ` : "";
  const end = result.dryRun ? "dry run, nothing was written" : `snapshot ${result.snapshot}`;
  return `${style.bold(table)}: ${created}${told} (${end})`;
}

function parseFrom(word: string): string {
  if (word.toLowerCase() === "from") return "from";
  throw new InvalidArgumentError('Write the word "from" between the table and the query or file.');
}

function parseKey(text: string, before: readonly string[] | undefined): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.some((name) => name === "")) throw new InvalidArgumentError("Write column names with commas between.");
  return [...(before ?? []), ...names];
}
