/** `history`: what runs did to views. */
import type { Command } from "commander";
import type { RunRecord } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import { countOption } from "./options.js";
import type { Style } from "./style.js";

interface CommandOptions {
  readonly limit: number;
}

export function registerHistory(program: Command, context: CliContext): void {
  program
    .command("history")
    .description("show what runs did to views, newest first, with the failures")
    .argument("[view]", "one view, which may have been dropped; all where none is named")
    .addOption(countOption("--limit <n>", "the newest so many records").default(20))
    .addHelpText("after", "\nExample:\n  ducklake-ivm history daily_sales --limit 5")
    .action((view: string | undefined, { limit }: CommandOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const options = view === undefined ? { limit } : { limit, view };
        const runs = await withLake(session, (lake) => lake.history(options));
        return { json: { runs }, lines: await historyLines(runs, session.style) };
      }),
    );
}

async function historyLines(runs: readonly RunRecord[], style: Style): Promise<string[]> {
  if (runs.length === 0) return ["No run has moved a view yet."];
  const { duration, orDash, table } = await import("./format.js");
  const titles = ["STARTED", "VIEW", "RESULT", "WINDOW", "CHANGED#", "INSERTED#", "DELETED#", "TERMS#", "TIME#", "WHY"];
  const rows = runs.map((run) => {
    const done = run.error === null;
    return [
      run.startedAt,
      run.view,
      done ? orDash(run.strategy) : style.red("failed"),
      `(${run.from ?? "start"}, ${run.to}]`,
      run.rows.changed === null ? "-" : run.rows.changed.toLocaleString("en-US"),
      done ? run.rows.inserted.toLocaleString("en-US") : "-",
      done ? run.rows.deleted.toLocaleString("en-US") : "-",
      run.terms.total === 0 ? "-" : `${run.terms.run} of ${run.terms.total}`,
      duration(run.elapsedMs),
      run.error?.message ?? run.reason?.text ?? "",
    ];
  });
  return table(titles, rows, style);
}
