import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { DemoView } from "./views.js";

/** The lake's files, relative to the demo's folder. */
export const CATALOG = "lake.ducklake";
export const DATA = "data";

/** Writes the demo as a project, so that every other command can be tried on it. */
export async function writeProject(folder: string, views: readonly DemoView[]): Promise<void> {
  const config = { lake: { catalog: CATALOG, data_path: DATA }, views: "views" };
  await writeFile(join(folder, "ducklake-ivm.yaml"), stringify(config));
  await mkdir(join(folder, "views"), { recursive: true });
  for (const view of views) {
    const header = view.refresh === undefined ? "" : `/* ---\nrefresh: ${view.refresh}\n--- */\n`;
    await writeFile(join(folder, "views", `${view.name}.sql`), `${header}-- ${view.question}\n${view.sql}\n`);
  }
}
