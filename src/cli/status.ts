/** `status`: where the lake's views stand, and whether their definitions are still those of the project. */
import type { Command } from "commander";
import { DefinitionError } from "../errors.js";
import { sameName } from "../sql/quote.js";
import type { DefineAction, ViewStatus } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";
import { addSelection, chosenViews, type SelectionOptions } from "./selection.js";
import type { Style } from "./style.js";

/** How the applied definition of a view relates to its file. */
type DefinitionState = "applied" | "changed" | "no_file" | "unknown";

interface StatusResult {
  readonly views: readonly (ViewStatus & { readonly definition: DefinitionState })[];
  /** Views that have a file but are not applied. */
  readonly notApplied: readonly string[];
  /** Why the files could not be compared, where a definition is wrong. */
  readonly definitionError: { readonly code: string; readonly message: string } | null;
}

export function registerStatus(program: Command, context: CliContext): void {
  const command = program
    .command("status")
    .description("show where each view stands, and which definitions wait for an apply")
    .argument("[view...]", "the views; all where none is named");
  addSelection(command)
    .addHelpText("after", "\nExample:\n  ducklake-ivm status --select tag:daily")
    .action((views: string[], options: SelectionOptions, own: Command) =>
      context.run(own, (session) => status(session, views, options)),
    );
}

async function status(session: Session, views: readonly string[], options: SelectionOptions): Promise<Outcome> {
  const result = await withLake(session, async (lake, project): Promise<StatusResult> => {
    const chosen = await chosenViews(lake, [], { ...options, select: [...views, ...(options.select ?? [])] });
    const isChosen = (name: string): boolean => chosen === undefined || chosen.some((view) => sameName(view, name));
    const statuses = (await lake.status()).filter(({ view }) => isChosen(view));
    const compared = await lake.define(project.views, { dryRun: true }).catch((error: unknown) => {
      if (error instanceof DefinitionError) {
        return error;
      }
      throw error;
    });
    const actions = compared instanceof DefinitionError ? [] : compared.actions;
    return {
      views: statuses.map((view) => ({ ...view, definition: definitionState(view, actions) })),
      notApplied: actions.filter(({ action }) => action === "create").map(({ view }) => view),
      definitionError: compared instanceof DefinitionError ? { code: compared.code, message: compared.message } : null,
    };
  });
  return { json: result, lines: await statusLines(result, session.style) };
}

const STATES: Readonly<Record<DefineAction["action"], DefinitionState>> = {
  create: "unknown",
  rebuild: "changed",
  keep: "applied",
  drop: "no_file",
  orphan: "no_file",
};

function definitionState(view: ViewStatus, actions: readonly DefineAction[]): DefinitionState {
  const action = actions.find((candidate) => candidate.view.toLowerCase() === view.view.toLowerCase());
  return action === undefined ? "unknown" : STATES[action.action];
}

async function statusLines(result: StatusResult, style: Style): Promise<string[]> {
  const { age, orDash, table } = await import("./format.js");
  const lagText = ({ lagMs, targetLagMs }: ViewStatus): string => {
    if (lagMs === null || lagMs === 0) return "-";
    return targetLagMs !== null && lagMs > targetLagMs ? style.red(age(lagMs)) : age(lagMs);
  };
  const rows = result.views.map((view) => [
    view.view,
    view.state === "fresh" ? style.green(view.state) : style.yellow(view.state),
    orDash(view.horizon),
    lagText(view),
    view.rows === null ? "-" : view.rows.toLocaleString("en-US"),
    view.strategy,
    view.definition === "no_file" ? "no file" : view.definition,
    view.sources
      .filter((source) => source.changed)
      .map((source) => source.source)
      .join(", "),
  ]);
  const titles = ["VIEW", "STATE", "SNAPSHOT#", "BEHIND#", "ROWS#", "STRATEGY", "DEFINITION", "CHANGED SOURCES"];
  const lines = rows.length === 0 ? ["No view is applied."] : table(titles, rows, style);
  if (result.notApplied.length > 0) {
    lines.push("", `Not applied yet: ${result.notApplied.join(", ")}`);
  }
  if (result.notApplied.length > 0 || result.views.some((view) => view.definition === "changed")) {
    lines.push("", `Next: ${style.bold("ducklake-ivm apply")} takes the definitions over.`);
  }
  if (result.definitionError !== null) {
    const { message } = result.definitionError;
    lines.push("", `${style.red("error:")} the definitions could not be compared: ${message}`);
  }
  return lines;
}
