/** `list`: the project's views and their files. */
import { relative } from "node:path";
import type { Command } from "commander";
import { sameName } from "../sql/quote.js";
import type { RefreshMode } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";
import { addSelection, chosenViews, type SelectionOptions } from "./selection.js";
import type { Style } from "./style.js";

interface ListedView {
  readonly view: string;
  /** Relative to the project's folder; null for a view that the lake has and the project does not. */
  readonly file: string | null;
  readonly applied: boolean;
  readonly refresh: RefreshMode;
  readonly primaryKey: readonly string[];
  readonly tags: readonly string[];
}

export function registerList(program: Command, context: CliContext): void {
  const command = program
    .command("list")
    .description("list the project's views, their files and whether they are applied");
  addSelection(command)
    .addHelpText("after", "\nExample:\n  ducklake-ivm list --select tag:finance")
    .action((options: SelectionOptions, own: Command) => context.run(own, (session) => list(session, options)));
}

async function list(session: Session, options: SelectionOptions): Promise<Outcome> {
  const views = await withLake(session, async (lake, project): Promise<ListedView[]> => {
    const chosen = await chosenViews(lake, [], options);
    const isChosen = ({ view }: ListedView): boolean =>
      chosen === undefined || chosen.some((name) => sameName(name, view));
    const applied = await lake.status();
    const isApplied = (name: string): boolean => applied.some((view) => sameName(view.view, name));
    const defined = project.views.map((view) => ({
      view: view.name,
      file: view.file === undefined ? null : relative(project.directory, view.file),
      applied: isApplied(view.name),
      refresh: view.refresh ?? "auto",
      primaryKey: view.primaryKey ?? [],
      tags: view.tags ?? [],
    }));
    const orphans = applied
      .filter((view) => !project.views.some((definition) => sameName(definition.name, view.view)))
      .map((view) => ({
        view: view.view,
        file: null,
        applied: true,
        refresh: view.refresh,
        primaryKey: [],
        tags: view.tags,
      }));
    return [...defined, ...orphans].filter(isChosen);
  });
  return { json: { views }, lines: await listLines(views, session.style) };
}

async function listLines(views: readonly ListedView[], style: Style): Promise<string[]> {
  if (views.length === 0) {
    return ["The project has no views, and neither has the lake."];
  }
  const { orDash, table } = await import("./format.js");
  const rows = views.map((view) => [
    view.view,
    view.file ?? "no file",
    view.applied ? style.green("yes") : style.yellow("no"),
    view.refresh,
    orDash(view.primaryKey.join(", ")),
    orDash(view.tags.join(", ")),
  ]);
  return table(["VIEW", "FILE", "APPLIED", "REFRESH", "PRIMARY KEY", "TAGS"], rows, style);
}
