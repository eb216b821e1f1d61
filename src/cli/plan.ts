/** `plan`: what apply and refresh would do. */
import type { Command } from "commander";
import type { Lake } from "../index.js";
import type { DefineResult, RefreshOptions, RefreshResult } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";
import { periodOption, requireIncrementalOption, toSnapshotOption } from "./options.js";
import { addSelection, chosenViews, type SelectionOptions } from "./selection.js";
import type { Style } from "./style.js";

interface PlanOptions extends SelectionOptions {
  readonly drop?: boolean;
  readonly toSnapshot?: bigint;
  readonly fullRefresh?: boolean;
  readonly ifOlderThan?: number;
  readonly requireIncremental?: boolean;
}

export function registerPlan(program: Command, context: CliContext): void {
  const command = program.command("plan").description("tell what apply and refresh would do, and do nothing");
  addSelection(command)
    .option("--drop", "as for apply --drop")
    .addOption(toSnapshotOption())
    .option("--full-refresh", "as for refresh --full-refresh")
    .addOption(periodOption("--if-older-than <time>", "as for refresh --if-older-than"))
    .addOption(requireIncrementalOption())
    .addHelpText("after", "\nExample:\n  ducklake-ivm plan --output json")
    .action((options: PlanOptions, command: Command) => context.run(command, (session) => plan(session, options)));
}

async function plan(session: Session, options: PlanOptions): Promise<Outcome> {
  const result = await withLake(session, async (lake, project) => ({
    apply: await lake.define(project.views, {
      dryRun: true,
      drop: options.drop === true,
      requireIncremental: options.requireIncremental === true,
    }),
    refresh: await lake.refresh({ dryRun: true, ...(await refreshOptions(lake, options)) }),
  }));
  return { json: result, lines: await planLines(result.apply, result.refresh, session.style) };
}

async function refreshOptions(lake: Lake, options: PlanOptions): Promise<RefreshOptions> {
  const { toSnapshot, fullRefresh = false, ifOlderThan, requireIncremental = false } = options;
  const views = await chosenViews(lake, [], options);
  return {
    fullRefresh,
    requireIncremental,
    ...(views === undefined ? {} : { views }),
    ...(toSnapshot === undefined ? {} : { toSnapshot }),
    ...(ifOlderThan === undefined ? {} : { ifOlderThanMs: ifOlderThan }),
  };
}

async function planLines(apply: DefineResult, refresh: RefreshResult, style: Style): Promise<string[]> {
  const { definitionLines } = await import("./define-lines.js");
  const { dryRefreshLines } = await import("./refresh-lines.js");
  const pending = apply.actions.filter(({ action }) => action === "create" || action === "rebuild");
  return [
    style.bold("ducklake-ivm apply would do:"),
    ...definitionLines(apply, style),
    "",
    style.bold("ducklake-ivm refresh would do, with the definitions that are applied now:"),
    ...dryRefreshLines(refresh, style),
    ...(pending.length === 0
      ? []
      : ["", `After an apply it would also build: ${pending.map(({ view }) => view).join(", ")}`]),
  ];
}
