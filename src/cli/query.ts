/** `query`: rows of a view, or of a SELECT over views and tables. */
import type { Command } from "commander";
import type { QueryOptions } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";
import { countOption } from "./options.js";
import { outOption, writeRows } from "./rows.js";

interface CommandOptions {
  readonly limit?: number;
  readonly out?: string;
}

const EXAMPLES = `
Examples:
  ducklake-ivm query daily_sales --limit 20
  ducklake-ivm query daily_sales "SELECT day, sales FROM daily_sales ORDER BY sales DESC"
  ducklake-ivm query "SELECT count(*) FROM orders AT (VERSION => 120)" --output json
  ducklake-ivm query daily_sales --out daily_sales.parquet`;

export function registerQuery(program: Command, context: CliContext): void {
  program
    .command("query")
    .description("print the rows of a view, or of a SELECT over views and tables; the lake is attached read-only")
    .argument("<view|sql>", "the view, or one SELECT in which views and tables stand by name")
    .argument("[sql]", "a SELECT that is about the view")
    .addOption(countOption("--limit <n>", "print so many rows at most"))
    .addOption(outOption())
    .addHelpText("after", EXAMPLES)
    .action((first: string, second: string | undefined, options: CommandOptions, command: Command) =>
      context.run(command, (session) => query(session, first, second, options)),
    );
}

async function query(
  session: Session,
  first: string,
  second: string | undefined,
  { limit, out }: CommandOptions,
): Promise<Outcome> {
  const request: QueryOptions = {
    ...(second === undefined ? {} : { view: first }),
    ...(limit === undefined ? {} : { limit }),
    signal: session.stopSignal(),
  };
  const count = await withLake(
    session,
    async (lake) => {
      await using rows = await lake.query(second ?? first, request);
      return await writeRows(session, rows, out);
    },
    { readOnly: true },
  );
  const { count: counted } = await import("./format.js");
  const lines = count === null ? [] : ["", counted(count, "row")];
  return { json: { query: { rows: count } }, lines };
}
