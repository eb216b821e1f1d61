/** `apply`: makes the lake's definitions those of the project. */
import type { Command } from "commander";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import { dryRunOption, requireIncrementalOption } from "./options.js";

interface ApplyOptions {
  readonly drop?: boolean;
  readonly requireIncremental?: boolean;
  readonly dryRun?: boolean;
}

export function registerApply(program: Command, context: CliContext): void {
  program
    .command("apply")
    .description("create new views and take over changed definitions; the next refresh builds them")
    .option("--drop", "drop views that have no file any more")
    .addOption(requireIncrementalOption())
    .addOption(dryRunOption())
    .addHelpText("after", "\nExample:\n  ducklake-ivm apply --dry-run")
    .action((options: ApplyOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const result = await withLake(
          session,
          (lake, project) => lake.define(project.views, { ...options, signal: session.stopSignal() }),
          { makes: options.dryRun !== true },
        );
        const { definitionLines } = await import("./define-lines.js");
        return { json: result, lines: definitionLines(result, session.style) };
      }),
    );
}
