import { access, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { cacheFolder } from "../../infra/process.mjs";

/** A folder of this project's cache, made where it is not there yet: whole, or not at all. */
export async function cachedFolder(name: string, make: (work: string) => Promise<void>): Promise<string> {
  const folder = join(cacheFolder(), name);
  if (await isThere(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const work = await mkdtemp(join(cacheFolder(), ".making-"));
  try {
    await make(work);
    await rename(work, folder).catch(async (error: unknown) => {
      // Another run was faster.
      if (!(await isThere(folder))) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
