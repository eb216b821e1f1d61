import { mkdir, mkdtemp, readdir, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ConfigError } from "../errors.js";

/** A folder of the demo's own. */
export interface DemoFolder {
  readonly path: string;
  /** Removes all that the demo made; what was there before stays. */
  remove(): Promise<void>;
}

/** Makes a temporary folder, or takes the given one, which must be new or empty. */
export async function makeFolder(wanted: string | undefined): Promise<DemoFolder> {
  if (wanted === undefined) {
    const path = await mkdtemp(join(tmpdir(), "ducklake-ivm-demo-"));
    return { path, remove: () => rm(path, { recursive: true, force: true }) };
  }
  const path = resolve(wanted);
  const made = await mkdir(path, { recursive: true });
  if ((await readdir(path)).length > 0) {
    throw new ConfigError("demo_folder_not_empty", `The folder ${path} is not empty.`, {
      subject: { file: path },
      hint: "Give --dir a folder that is empty or does not exist; the demo never overwrites anything.",
    });
  }
  const remove = async () => {
    for (const entry of await readdir(path)) await rm(join(path, entry), { recursive: true, force: true });
    if (made !== undefined) await rmdir(path);
  };
  return { path, remove };
}
