/** `merge`: makes a table hold the rows of an input, and writes only what differs. */
import { type Command, Option } from "commander";
import type { CliContext } from "./context.js";
import { type IngestCommandOptions, keyOption, registerIngest } from "./ingest.js";

const EXAMPLES = `
Examples:
  ducklake-ivm merge products from products.csv --key id --delete-missing
  ducklake-ivm merge stock from s3://bucket/stock.parquet --key shop,product
  ducklake-ivm merge customers from "SELECT * FROM staging.customers" --key id`;

interface MergeCommandOptions extends IngestCommandOptions {
  readonly key: readonly string[];
  readonly deleteMissing?: boolean;
}

export function registerMerge(program: Command, context: CliContext): void {
  registerIngest<MergeCommandOptions>(program, context, {
    name: "merge",
    description: "make a table hold the rows of an input, by key; only rows that differ are written",
    options: [
      keyOption("columns that identify a row").makeOptionMandatory(),
      new Option("--delete-missing", "the input is the whole table: delete the rows that it does not have"),
    ],
    examples: EXAMPLES,
    ingest: (lake, table, source, options) => lake.merge(table, source, options),
  });
}
