/** `list`: the project's views and their files. */
import { relative } from "node:path";
import type { Command } from "commander";
import { sameName } from "../sql/quote.js";
import type { RefreshMode } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";
import type { Style } from "./style.js";

interface ListedView {
  readonly view: string;
  /** Relative to the project's folder; null for a view that the lake has and the project does not. */
  readonly file: string | null;
  readonly applied: boolean;
  readonly refresh: RefreshMode;
  readonly primaryKey: readonly string[];
}

export function registerList(program: Command, context: CliContext): void {
  program
    .command("list")
    .description("list the project's views, their files and whether they are applied")
    .action((_options: object, command: Command) => context.run(command, list));
}

async function list(session: Session): Promise<Outcome> {
  const views = await withLake(session, async (lake, project): Promise<ListedView[]> => {
    const applied = await lake.status();
    const isApplied = (name: string): boolean => applied.some((view) => sameName(view.view, name));
    const defined = project.views.map((view) => ({
      view: view.name,
      file: view.file === undefined ? null : relative(project.directory, view.file),
      applied: isApplied(view.name),
      refresh: view.refresh ?? "auto",
      primaryKey: view.primaryKey ?? [],
    }));
    const orphans = applied
      .filter((view) => !project.views.some((definition) => sameName(definition.name, view.view)))
      .map((view) => ({ view: view.view, file: null, applied: true, refresh: view.refresh, primaryKey: [] }));
    return [...defined, ...orphans];
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
  ]);
  return table(["VIEW", "FILE", "APPLIED", "REFRESH", "PRIMARY KEY"], rows, style);
}
