/** What `append` and `merge` share: their arguments, their options and what they print. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Lake } from "../index.js";
import type { CallOptions, FileFormat, IngestEvent, IngestResult, IngestSource, ProgressOptions } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import { dryRunOption } from "./options.js";
import { ingestListener } from "./progress-events.js";
import type { Style } from "./style.js";

const FORMATS: readonly FileFormat[] = ["csv", "tsv", "parquet", "json"];

export interface IngestCommandOptions {
  readonly key?: readonly string[];
  readonly create?: boolean;
  readonly dryRun?: boolean;
  readonly format?: FileFormat;
}

/** What tells `append` from `merge`. */
export interface IngestCommand<Options extends IngestCommandOptions> {
  readonly name: "append" | "merge";
  readonly description: string;
  /** The options that come before those that both have. */
  readonly options: readonly Option[];
  readonly examples: string;
  readonly ingest: (
    lake: Lake,
    table: string,
    source: IngestSource,
    options: Omit<Options, "format"> & CallOptions & ProgressOptions<IngestEvent>,
  ) => Promise<IngestResult>;
}

/** Registers `NAME TABLE FROM <query|file>`. */
export function registerIngest<Options extends IngestCommandOptions>(
  program: Command,
  context: CliContext,
  { name, description, options: ownOptions, examples, ingest }: IngestCommand<Options>,
): void {
  const command = program
    .command(name)
    .description(description)
    .argument("<table>", "the table, as in SQL: orders, sales.orders")
    .argument("<from>", 'the word "from"', parseFrom)
    .argument("<query|file>", "a SELECT that runs in the lake; or a file, a pattern of files, s3://…, https://…");
  const create = new Option("--create", "create the table with the input's columns where it does not exist");
  const format = new Option("--format <format>", "how the file is written, where its ending does not tell");
  for (const option of [...ownOptions, create, format.choices(FORMATS), dryRunOption()]) command.addOption(option);
  command
    .addHelpText("after", examples)
    .action((table: string, _from: string, input: string, options: Options, self: Command) =>
      context.run(self, async (session): Promise<Outcome> => {
        const { format, ...rest } = options;
        const onProgress = ingestListener(await session.progress(), name);
        const call = { signal: session.stopSignal(), onProgress };
        const result = await withLake(
          session,
          (lake) => ingest(lake, table, sourceOf(input, format), { ...rest, ...call }),
          { makes: rest.create === true && rest.dryRun !== true },
        );
        return { json: result, lines: [ingestLine(result, session.style)] };
      }),
    );
}

export function keyOption(description: string): Option {
  return new Option("--key <columns>", description).argParser(parseKey);
}

/** With a format the text is a file; without one the library tells it from a query. */
function sourceOf(text: string, format: FileFormat | undefined): IngestSource {
  return format === undefined ? text : { file: text, format };
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
