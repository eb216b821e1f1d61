/** `replay`: a mirror of a view in another database follows the view's change log. */
import type { Command } from "commander";
import type { ReplayOptions, ReplayResult } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import { progressListener } from "./progress-events.js";

type CommandOptions = Omit<ReplayOptions, "view">;

const EXAMPLES = `
Examples:
  ducklake-ivm replay daily_sales --consumer shop --into postgres://etl@db/shop --table reporting.daily_sales
  ducklake-ivm replay daily_sales --consumer shop --into "postgres:dbname=shop host=db" --table daily_sales
  ducklake-ivm replay daily_sales --consumer copy --into duckdb:mirror.db.daily_sales`;

export function registerReplay(program: Command, context: CliContext): void {
  program
    .command("replay")
    .description("bring a table in a DuckDB file, another lake or PostgreSQL to the end of a view's change log")
    .argument("[view]", "the view; a consumer has one of its own")
    .requiredOption("--into <target>", "duckdb:FILE, ducklake:CATALOG or postgres:…; .TABLE at its end names the table")
    .option("--table <table>", "the table, where the target does not name it; created where it does not exist")
    .requiredOption("--consumer <name>", "the registered consumer whose changes are replayed")
    .option("--reset", "make the table hold the view's whole state, whatever it holds now")
    .addHelpText("after", EXAMPLES)
    .action((view: string | undefined, options: CommandOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const request = view === undefined ? options : { ...options, view };
        const onProgress = progressListener(await session.progress(), "replay");
        const call = { signal: session.stopSignal(), onProgress };
        const result = await withLake(session, (lake) => lake.replay({ ...request, ...call }));
        return { json: result, lines: [await resultLine(result)] };
      }),
    );
}

async function resultLine(result: ReplayResult): Promise<string> {
  const { count, duration } = await import("./format.js");
  const mirror = `${result.target.table} (${result.target.kind})`;
  if (result.status === "unchanged") return `${mirror} stands at snapshot ${result.to} already.`;
  const what =
    result.took === "state"
      ? `took the whole state of ${result.view}, because ${result.reason?.text}`
      : `took the changes of ${result.view} since ${result.from}`;
  const { inserted, deleted } = result.rows;
  return `${mirror} ${what}: ${count(inserted, "row")} inserted, ${deleted.toLocaleString("en-US")} deleted; snapshot ${result.to}, ${duration(result.elapsedMs)}`;
}
