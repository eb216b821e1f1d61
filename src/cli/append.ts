/** `append`: adds rows to a table. */
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
  ducklake-ivm append orders from 'exports/orders-2024-*.csv'
  ducklake-ivm append events from s3://bucket/events.parquet --key id
  ducklake-ivm append totals from "SELECT current_date AS day, count(*) AS n FROM orders"`;

export function registerAppend(program: Command, context: CliContext): void {
  ingestArguments(program.command("append"))
    .description("add rows to a table; with a key only those that it does not have")
    .addOption(
      keyOption("columns that identify a row: rows that the table has are left out, so a call can be repeated"),
    )
    .addOption(createOption())
    .addOption(formatOption())
    .addOption(dryRunOption())
    .addHelpText("after", EXAMPLES)
    .action((table: string, _from: string, input: string, options: IngestCommandOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const { format, ...rest } = options;
        const result = await withLake(session, (lake) => lake.append(table, sourceOf(input, format), rest));
        return ingestOutcome(result, session.style);
      }),
    );
}
