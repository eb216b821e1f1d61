import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { inject } from "vitest";
import { loadProject, type Project } from "../../src/project/load.js";
import { type Problem, ProjectError } from "../../src/project/problems.js";

/** A temporary folder with these files; it goes when the run of tests ends. */
export async function folder(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<string> {
  const directory = await realpath(await mkdtemp(join(inject("workspace"), "project-")));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  return directory;
}

/** A project whose configuration is this text, with one view unless other files are given. */
export async function load(
  config: string,
  files: Readonly<Record<string, string | Uint8Array>> = { "views/v.sql": "SELECT 1 AS one" },
  env: Readonly<Record<string, string>> = {},
): Promise<Project> {
  return loadProject(await folder({ "ducklake-ivm.yaml": config, ...files }), env);
}

/** One line a problem: `file:line:column code: message | hint`, the file relative to the project. */
export async function problemsOf(loading: Promise<unknown>, directory?: string): Promise<string[]> {
  const error = await loading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProjectError)) {
    throw new Error(`expected a ProjectError, got ${String(error)}`);
  }
  return error.problems.map((problem) => describe(problem, directory));
}

function describe(problem: Problem, directory: string | undefined): string {
  const file = relativeFile(problem.file, directory);
  const place = [file, problem.line, problem.column].filter((part) => part !== undefined).join(":");
  return `${place} ${problem.code}: ${problem.message} | ${problem.hint ?? ""}`;
}

function relativeFile(file: string, directory: string | undefined): string {
  const root = directory ?? /^.*[/\\]project-[^/\\]+/.exec(file)?.[0] ?? "/";
  return relative(root, file).replaceAll("\\", "/") || ".";
}
