/** `compact` and `sweep`: the upkeep of change logs. */
import type { Command } from "commander";
import type { CompactResult, SweepResult } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import { dryRunOption } from "./options.js";
import { progressListener } from "./progress-events.js";
import { addSelection, chosenViews, type SelectionOptions } from "./selection.js";
import type { Style } from "./style.js";

export function registerCompact(program: Command, context: CliContext): void {
  const compact = program
    .command("compact")
    .description("merge windows of change logs, fold old ones into bases, repair manifests and sweep files")
    .argument("[view...]", "the views; all where none is named");
  addSelection(compact)
    .addHelpText("after", "\nExample:\n  ducklake-ivm compact daily_sales")
    .action((views: string[], options: SelectionOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const result = await withLake(session, async (lake) => {
          const chosen = await chosenViews(lake, views, options);
          const onProgress = progressListener(await session.progress(), "compact");
          return lake.compact({
            signal: session.stopSignal(),
            onProgress,
            ...(chosen === undefined ? {} : { views: chosen }),
          });
        });
        return { json: result, lines: await compactLines(result, session.style) };
      }),
    );
}

export function registerSweep(program: Command, context: CliContext): void {
  program
    .command("sweep")
    .description("remove files of change logs that nothing has needed for longer than `log.grace`")
    .addOption(dryRunOption())
    .addHelpText("after", "\nExample:\n  ducklake-ivm sweep --dry-run")
    .action((options: { readonly dryRun?: boolean }, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const result = await withLake(session, (lake) => lake.sweep({ ...options, signal: session.stopSignal() }));
        const { sizeText } = await import("./format.js");
        const verb = options.dryRun === true ? "would be removed" : "removed";
        return {
          json: { ...result, dryRun: options.dryRun === true },
          lines: [...result.files, sweepLine(result, verb, sizeText)],
        };
      }),
    );
}

async function compactLines(result: CompactResult, style: Style): Promise<string[]> {
  const { sizeText, table } = await import("./format.js");
  if (result.logs.length === 0) return ["No view has a change log."];
  const rows = result.logs.map((log) => [
    log.log,
    log.merges.toString(),
    log.folds.toString(),
    log.files.toString(),
    log.rows.toLocaleString("en-US"),
    sizeText(log.bytes),
  ]);
  return [
    ...table(["LOG", "MERGES#", "FOLDS#", "FILES#", "ROWS#", "SIZE#"], rows, style),
    "",
    sweepLine(result.swept, "removed", sizeText),
  ];
}

function sweepLine(swept: SweepResult, verb: string, sizeText: (bytes: bigint) => string): string {
  const files = swept.files.length;
  return `${files} file${files === 1 ? "" : "s"} ${verb}, ${sizeText(swept.bytes)}`;
}
