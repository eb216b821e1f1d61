/** `refresh`: brings views to one horizon. */
import { join } from "node:path";
import type { Command } from "commander";
import type { Lake } from "../index.js";
import type { ErrorResult, RefreshResult } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { refreshExitCode } from "./exit.js";
import { readProject, withLake } from "./lake.js";
import {
  countOption,
  dryRunOption,
  exitCodeOption,
  periodOption,
  requireIncrementalOption,
  toSnapshotOption,
} from "./options.js";
import { progressListener } from "./progress-events.js";
import { addSelection, chosenViews, type SelectionOptions } from "./selection.js";

interface CommandOptions extends SelectionOptions {
  readonly toSnapshot?: bigint;
  readonly dryRun?: boolean;
  readonly upstream: boolean;
  readonly fullRefresh?: boolean;
  readonly failFast?: boolean;
  readonly jobs?: number;
  readonly ifOlderThan?: number;
  readonly requireIncremental?: boolean;
  /** What `--no-change-exit-code` sets: commander takes its name for the negation of another. */
  readonly changeExitCode: number;
  readonly metrics?: string;
  readonly targetPath?: string;
  readonly writeJson: boolean;
}

const RUN_RESULTS = "run_results.json";

const EXAMPLES = `
Examples:
  ducklake-ivm refresh
  ducklake-ivm refresh --select tag:daily --exclude 'tmp_*'
  ducklake-ivm refresh --if-older-than 15m --no-change-exit-code 99`;

export function registerRefresh(program: Command, context: CliContext): void {
  const refresh = program
    .command("refresh")
    .description("bring views up to date, with everything they read")
    .argument("[view...]", "the views; all where none is named");
  addSelection(refresh)
    .addOption(toSnapshotOption())
    .option("--no-upstream", "refresh the named views alone; those they read must stand at the snapshot already")
    .option("--full-refresh", "compute the views anew and write what differs; readers have them all the time")
    .addOption(periodOption("--if-older-than <time>", "leave out views that are behind by less (90s, 15m, 12h, 7d)"))
    .addOption(requireIncrementalOption())
    .addOption(countOption("--jobs <n>", "refresh so many views side by side"))
    .option("--fail-fast", "begin no further view once one has failed")
    .addOption(exitCodeOption("--no-change-exit-code <n>", "the exit code where nothing had to be done").default(0))
    .addOption(dryRunOption())
    .option("--metrics <file>", "write metrics of all views to this file, in Prometheus' text format")
    .option("--target-path <folder>", "where run_results.json goes; the project's target_path where left out")
    .option("--no-write-json", "leave no run_results.json")
    .addHelpText("after", EXAMPLES)
    .action((views: string[], options: CommandOptions, command: Command) =>
      context.run(command, (session) => run(session, views, options)),
    );
}

async function run(session: Session, views: readonly string[], options: CommandOptions): Promise<Outcome> {
  const { select, exclude, ifOlderThan, changeExitCode, targetPath, writeJson, ...rest } = options;
  const project = await readProject(session);
  const target = targetPath ?? project.target;
  if (writeJson && target !== undefined && options.dryRun !== true) leaveResults(session, target);
  const refresh = async (lake: Lake): Promise<RefreshResult> => {
    const { metrics, openLineage } = project;
    const chosen = await chosenViews(lake, views, { select, exclude });
    return lake.refresh({
      ...(metrics === undefined ? {} : { metrics }),
      ...(openLineage === undefined ? {} : { openLineage }),
      ...rest,
      ...(chosen === undefined ? {} : { views: chosen }),
      ...(ifOlderThan === undefined ? {} : { ifOlderThanMs: ifOlderThan }),
      onProgress: progressListener(await session.progress(), "refresh"),
      signal: session.stopSignal(),
    });
  };
  const result = await withLake(session, refresh, { project });
  const { dryRefreshLines, refreshLines } = await import("./refresh-lines.js");
  const lines = options.dryRun === true ? dryRefreshLines : refreshLines;
  const exitCode = result.status === "unchanged" ? changeExitCode : refreshExitCode(result);
  return { json: result, lines: lines(result, session.style), exitCode };
}

/** Has the command's result, or its error, written into this folder once it is known. */
function leaveResults(session: Session, target: string): void {
  const { words, redact } = session;
  const startedAt = new Date();
  session.atEnd(async ({ json, exitCode }) => {
    const { writeRunResults } = await import("../report/run-results.js");
    const outcome = json as RefreshResult | { readonly error: ErrorResult };
    await writeRunResults(join(target, RUN_RESULTS), outcome, { command: words, startedAt, exitCode, redact });
  });
}
