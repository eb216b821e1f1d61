/** The command line's grammar. Nothing heavy is imported before a command runs. */
import { Command, Option } from "commander";
import { packageVersion } from "../version.js";
import { registerAppend } from "./append.js";
import { registerApply } from "./apply.js";
import { registerChanges, registerState } from "./changes.js";
import { registerCompact, registerSweep } from "./compact.js";
import { registerCompletion } from "./completion.js";
import { registerConsumer } from "./consumer.js";
import { type CliContext, ROW_FORMATS } from "./context.js";
import { registerDemo } from "./demo.js";
import { registerDoctor } from "./doctor.js";
import { registerDrop } from "./drop.js";
import { registerExplain } from "./explain.js";
import { registerGraph } from "./graph.js";
import { registerHelp } from "./help.js";
import { registerHistory } from "./history.js";
import { registerImport } from "./import.js";
import { registerInit } from "./init.js";
import { registerList } from "./list.js";
import { LOG_FORMATS } from "./log.js";
import { registerMaintain, registerRetention } from "./maintain.js";
import { registerMerge } from "./merge.js";
import { periodOption } from "./options.js";
import { registerPlan } from "./plan.js";
import { registerQuery } from "./query.js";
import { registerRefresh } from "./refresh.js";
import { registerReplay } from "./replay.js";
import { registerReport, registerServe } from "./report.js";
import { registerStatus } from "./status.js";
import { registerVerify } from "./verify.js";
import { registerWhy } from "./why.js";

const AFTER_HELP = `
Exit codes:
  0    fine, also when there was nothing to do
  1    a view failed, verify found a difference, an input can't be taken, or the lake could not be reached
  2    wrong usage, configuration or definition
  3    a consumer must take the whole state of its view first
  75   another writer was faster: run the same command again
  130  interrupted

Examples:
  ducklake-ivm init
  ducklake-ivm apply
  ducklake-ivm refresh`;

export function createProgram(context: CliContext): Command {
  const program = new Command("ducklake-ivm")
    .description("Keeps SQL views over a DuckLake lakehouse up to date by reading only what changed.")
    .version(packageVersion(), "--version", "print the version")
    .option("--project-dir <folder>", "the folder with ducklake-ivm.yaml", ".")
    .addOption(
      new Option(
        "--output <format>",
        "text for people; json prints one JSON object as the last line of stdout; rows also as jsonl, csv, parquet or arrow",
      )
        .choices(ROW_FORMATS)
        .default("text"),
    )
    .addOption(
      periodOption("--retry-for <time>", "how long to wait for other writers, such as 2m, before exit code 75"),
    )
    .addOption(
      new Option("--log-format <format>", "how stderr tells what goes on: text, or json with one object a line")
        .choices(LOG_FORMATS)
        .default("text"),
    )
    .option("--debug", "print stack traces of errors, and what the library does")
    .helpOption("--help", "print help")
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    // Errors are printed by the frame, like all others.
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
    .addHelpText("after", AFTER_HELP);
  const registrations = [
    registerInit,
    registerImport,
    registerPlan,
    registerApply,
    registerRefresh,
    registerStatus,
    registerList,
    registerGraph,
    registerHistory,
    registerExplain,
    registerWhy,
    registerReport,
    registerServe,
    registerVerify,
    registerQuery,
    registerAppend,
    registerMerge,
    registerChanges,
    registerState,
    registerConsumer,
    registerReplay,
    registerCompact,
    registerSweep,
    registerRetention,
    registerMaintain,
    registerDoctor,
    registerDrop,
    registerDemo,
    registerCompletion,
    registerHelp,
  ];
  for (const register of registrations) {
    register(program, context);
  }
  return program;
}
