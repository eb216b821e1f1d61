/** `plan`: what apply and refresh would do. */
import type { Command } from "commander";
import type { DefineResult, RefreshResult } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";
import { toSnapshotOption } from "./options.js";
import type { Style } from "./style.js";

interface PlanOptions {
  readonly drop?: boolean;
  readonly toSnapshot?: bigint;
}

export function registerPlan(program: Command, context: CliContext): void {
  program
    .command("plan")
    .description("tell what apply and refresh would do, and do nothing")
    .option("--drop", "as for apply --drop")
    .addOption(toSnapshotOption())
    .action((options: PlanOptions, command: Command) => context.run(command, (session) => plan(session, options)));
}

async function plan(session: Session, options: PlanOptions): Promise<Outcome> {
  const result = await withLake(session, async (lake, project) => ({
    apply: await lake.define(project.views, { dryRun: true, drop: options.drop === true }),
    refresh: await lake.refresh({
      dryRun: true,
      ...(options.toSnapshot === undefined ? {} : { toSnapshot: options.toSnapshot }),
    }),
  }));
  return { json: result, lines: await planLines(result.apply, result.refresh, session.style) };
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
