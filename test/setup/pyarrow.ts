import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "../../infra/process.mjs";

const VERSION = "26.0.1";
const run = promisify(execFile);

/** A folder with pyarrow for `PYTHONPATH`, from pip and kept in the cache: the machine's own Python stays as it is. */
export async function pyarrow(): Promise<string> {
  const folder = join(cacheFolder(), `pyarrow-${VERSION}`);
  if (await isThere(folder)) return folder;
  await mkdir(cacheFolder(), { recursive: true });
  const work = await mkdtemp(join(cacheFolder(), ".pyarrow-"));
  try {
    const options = ["--no-input", "--disable-pip-version-check", "--quiet", "--only-binary=:all:"];
    await run("python3", ["-m", "pip", "install", ...options, "--target", work, `pyarrow==${VERSION}`]);
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
