import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { CONFIG_FILE } from "./config.js";
import { outlineViews, type ViewOutline } from "./views.js";

/**
 * The views of a project as far as its files tell, for completion: nothing is checked, no module is run, no variable of
 * the environment looked up. None where there is no project.
 */
export async function outlineProject(directory: string): Promise<ViewOutline[]> {
  try {
    const text = await readFile(join(directory, CONFIG_FILE), "utf8");
    const config = parse(text) as { readonly views?: unknown } | null;
    const folder = typeof config?.views === "string" ? config.views : "views";
    return await outlineViews(resolve(directory, folder));
  } catch {
    return [];
  }
}
