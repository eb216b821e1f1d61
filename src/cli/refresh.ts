/** `refresh`: brings views to one horizon. */
import type { Command } from "commander";
import type { RefreshOptions } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { refreshExitCode } from "./exit.js";
import { withLake } from "./lake.js";
import { dryRunOption, toSnapshotOption } from "./options.js";

interface CommandOptions {
  readonly toSnapshot?: bigint;
  readonly dryRun?: boolean;
  readonly upstream: boolean;
}

export function registerRefresh(program: Command, context: CliContext): void {
  program
    .command("refresh")
    .description("bring views up to date, with everything they read")
    .argument("[view...]", "the views; all where none is named")
    .addOption(toSnapshotOption())
    .option("--no-upstream", "refresh the named views alone; those they read must stand at the snapshot already")
    .addOption(dryRunOption())
    .action((views: string[], options: CommandOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const result = await withLake(session, (lake) => {
          const refresh: RefreshOptions = { ...options, signal: session.stopSignal() };
          return lake.refresh(views.length === 0 ? refresh : { ...refresh, views });
        });
        const { dryRefreshLines, refreshLines } = await import("./refresh-lines.js");
        const lines = options.dryRun === true ? dryRefreshLines : refreshLines;
        return {
          json: result,
          lines: lines(result, session.style),
          exitCode: refreshExitCode(result),
        };
      }),
    );
}
