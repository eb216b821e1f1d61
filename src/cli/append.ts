/** `append`: adds rows to a table. */
import type { Command } from "commander";
import type { CliContext } from "./context.js";
import { keyOption, registerIngest } from "./ingest.js";

const EXAMPLES = `
Examples:
  ducklake-ivm append orders from 'exports/orders-2024-*.csv'
  ducklake-ivm append events from s3://bucket/events.parquet --key id
  ducklake-ivm append totals from "SELECT current_date AS day, count(*) AS n FROM orders"`;

export function registerAppend(program: Command, context: CliContext): void {
  registerIngest(program, context, {
    name: "append",
    description: "add rows to a table; with a key only those that it does not have",
    options: [
      keyOption("columns that identify a row: rows that the table has are left out, so a call can be repeated"),
    ],
    examples: EXAMPLES,
    ingest: (lake, table, source, options) => lake.append(table, source, options),
  });
}
