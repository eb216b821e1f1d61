/**
 * The folder with the view files, in any subfolder: one `.sql` file a view, named after it, and modules called `views.ts`
 * or `views.js`, which export any number of them.
 */
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ViewDefinition } from "../types.js";
import { describeSystemError, readText } from "./files.js";
import { readHeader } from "./header.js";
import { isViewModule, readViewModule } from "./modules.js";
import { formatPlace, Problems } from "./problems.js";

const EXTENSION = /\.sql$/i;

/** Reads all views under a folder, by name; what is wrong is added to `problems`. */
export async function readViews(folder: string, problems: Problems): Promise<ViewDefinition[]> {
  const files = await findFiles(folder, new Set(), problems);
  const views: ViewDefinition[] = [];
  const fileByName = new Map<string, string>();
  for (const file of files) {
    if (isViewModule(file)) {
      for (const view of await readViewModule(file, problems)) {
        takeName(view.name, file, fileByName, problems);
        if (checkName(view.name, file, problems)) views.push(view);
      }
      continue;
    }
    const name = basename(file).replace(EXTENSION, "");
    takeName(name, file, fileByName, problems);
    const view = await readView(name, file, problems);
    if (view !== undefined) {
      views.push(view);
    }
  }
  return views.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A view as far as its file's name and header tell. */
export interface ViewOutline {
  readonly name: string;
  readonly tags: readonly string[];
}

/** The views in `.sql` files under a folder; nothing is checked, nothing fails, and no module is run. */
export async function outlineViews(folder: string): Promise<ViewOutline[]> {
  const ignored = new Problems();
  const files = await findFiles(folder, new Set(), ignored);
  const outlines = files
    .filter((file) => !isViewModule(file))
    .map(async (file) => {
      const read = await readText(file);
      const header = "problem" in read ? undefined : readHeader(file, read.text, ignored);
      return { name: basename(file).replace(EXTENSION, ""), tags: header?.tags ?? [] };
    });
  return Promise.all(outlines);
}

function takeName(name: string, file: string, fileByName: Map<string, string>, problems: Problems): void {
  const other = fileByName.get(name.toLowerCase());
  if (other !== undefined) {
    problems.add({
      code: "view_duplicate",
      message: `view "${name}" is also defined by ${formatPlace({ file: other })}`,
      hint: "A view is named after its file, and names that differ only in case are the same: rename one.",
      file,
    });
  }
  fileByName.set(name.toLowerCase(), file);
}

function checkName(name: string, file: string, problems: Problems): boolean {
  if (!name.includes(".")) return true;
  const hint = "A dot stands between schema and name; the schema is set in ducklake-ivm.yaml.";
  problems.add({ code: "view_name", message: `"${name}" can't be a view's name: it has a dot`, hint, file });
  return false;
}

async function readView(name: string, file: string, problems: Problems): Promise<ViewDefinition | undefined> {
  if (!checkName(name, file, problems)) return undefined;
  const read = await readText(file);
  if ("problem" in read) {
    problems.add(read.problem);
    return undefined;
  }
  if (read.text.trim() === "") {
    problems.add({ code: "view_empty", message: "the file is empty", hint: "Write one SELECT statement.", file });
    return undefined;
  }
  const header = readHeader(file, read.text, problems);
  // The header stays in the SQL, where it is a comment, so that the lines of the two are the same.
  return header === undefined ? undefined : { name, sql: read.text, ...header, file, lineOffset: 0 };
}

/** All view files under a folder, in a stable order. Hidden files and folders are left out, links are followed. */
async function findFiles(folder: string, seen: Set<string>, problems: Problems): Promise<string[]> {
  let names: string[];
  try {
    const real = await realpath(folder);
    if (seen.has(real)) {
      return [];
    }
    seen.add(real);
    names = await readdir(folder);
  } catch (error) {
    const { message, hint } = describeSystemError(error);
    problems.add({ code: "views_unreadable", message: `the folder of the views ${message}`, hint, file: folder });
    return [];
  }
  const found: string[] = [];
  for (const name of names.filter((entry) => !entry.startsWith(".")).sort()) {
    const path = join(folder, name);
    const isFolder = await isDirectory(path);
    if (isFolder) {
      found.push(...(await findFiles(path, seen, problems)));
    } else if (EXTENSION.test(name) || isViewModule(path)) {
      found.push(path);
    }
  }
  return found;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    // A link to nowhere: reading it as a file says so.
    return false;
  }
}
