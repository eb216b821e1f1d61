/** `merge`: makes a table hold the rows of an input, and writes only what differs. */
import type { Command } from "commander";
import type { CliContext, Outcome } from "./context.js";
import {
  createOption,
  formatOption,
  type IngestCommandOptions,
  ingestArguments,
  ingestOutcome,
  keyOption,
  sourceOf,
} from "./ingest.js";
import { withLake } from "./lake.js";
import { dryRunOption } from "./options.js";

const EXAMPLES = `
Examples:
  ducklake-ivm merge products from products.csv --key id --delete-missing
  ducklake-ivm merge stock from s3://bucket/stock.parquet --key shop,product
  ducklake-ivm merge customers from "SELECT * FROM staging.customers" --key id`;

interface CommandOptions extends IngestCommandOptions {
  readonly key: readonly string[];
  readonly deleteMissing?: boolean;
}

export function registerMerge(program: Command, context: CliContext): void {
  ingestArguments(program.command("merge"))
    .description("make a table hold the rows of an input, by key; only rows that differ are written")
    .addOption(keyOption("columns that identify a row").makeOptionMandatory())
    .option("--delete-missing", "the input is the whole table: delete the rows that it does not have")
    .addOption(createOption())
    .addOption(formatOption())
    .addOption(dryRunOption())
    .addHelpText("after", EXAMPLES)
    .action((table: string, _from: string, input: string, options: CommandOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const { format, ...rest } = options;
        const result = await withLake(session, (lake) => lake.merge(table, sourceOf(input, format), rest));
        return ingestOutcome(result, session.style);
      }),
    );
}
