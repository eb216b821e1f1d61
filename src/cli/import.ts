/** `import dbt`: view files from a dbt project. */
import { join, relative } from "node:path";
import type { Command } from "commander";
import type { DbtImportOptions, DbtImportResult } from "../types/dbt.js";
import type { CliContext, Outcome, Session } from "./context.js";
import type { Style } from "./style.js";

interface ImportOptions extends DbtImportOptions {
  readonly into?: string;
}

const EXAMPLE = `
Example:
  ducklake-ivm import dbt ../shop --into views/shop`;

export function registerImport(program: Command, context: CliContext): void {
  const parent = program
    .command("import")
    .description("write view files from another tool's project")
    .addHelpText("after", EXAMPLE);
  parent
    .command("dbt")
    .description("write a view file for each model of a compiled dbt project that a view can be, and list the rest")
    .argument("<project>", "the dbt project's folder, or its target/manifest.json")
    .option("--into <folder>", "where the files go; by default the folder views of this project")
    .option("--force", "overwrite files that are there")
    .option("--dry-run", "tell what would be written, and write nothing")
    .addHelpText("after", EXAMPLE)
    .action((from: string, options: ImportOptions, command: Command) =>
      context.run(command, (session) => importModels(session, from, options)),
    );
}

async function importModels(session: Session, from: string, options: ImportOptions): Promise<Outcome> {
  const { importDbt } = await import("../index.js");
  const result = await importDbt(from, options.into ?? join(session.projectDirectory, "views"), options);
  return { json: result, lines: await lines(result, session.style) };
}

async function lines({ models, left }: DbtImportResult, style: Style): Promise<string[]> {
  const { table } = await import("./format.js");
  const views = models.map(({ view, file, notes }) => [style.green(view), relative("", file), notes.join("; ")]);
  const others = left.map(({ model, kind, reason }) => [style.yellow(model), kind, reason]);
  return [
    ...(views.length === 0 ? ["No model became a view."] : table(["VIEW", "FILE", "NOTES"], views, style)),
    ...(others.length === 0 ? [] : ["", ...table(["LEFT", "KIND", "WHY"], others, style)]),
  ];
}
