/** What a place for files allows, tried with small objects that do not stay. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rmdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Session } from "./engine/session.js";
import { IvmError } from "./errors.js";
import { openStore } from "./log/open-store.js";
import { type ObjectStore, whyStorageFailed } from "./log/store.js";
import { quoteLiteral } from "./sql/quote.js";
import type { DoctorCheck, LakeConfig } from "./types.js";

export interface ExaminedPlace {
  /** What the names of its checks begin with. */
  readonly name: "data" | "log";
  readonly path: string;
  /** DuckDB's own connection, which reads the place in a way of its own; left out where the lake could not be opened. */
  readonly session?: Session | undefined;
  /** Told how far the storage's clock is ahead of this machine's. */
  readonly clock: (skewMs: number) => void;
}

type Right = "put" | "conditional_put" | "get" | "list" | "delete";

const S3_RIGHTS: Readonly<Record<Right, string>> = {
  put: "s3:PutObject",
  conditional_put: "s3:PutObject and s3:GetObject",
  get: "s3:GetObject",
  list: "s3:ListBucket",
  delete: "s3:DeleteObject",
};

const SWAP_REMEDY = "Use storage that obeys If-Match and If-None-Match in PUT: manifests would otherwise lose updates.";
const READ_REMEDY =
  "Check `s3.endpoint`, `s3.url_style` (most servers other than AWS want path) and the right to s3:GetObject.";

/** Writes, swaps, reads, lists and removes small objects of its own. */
export async function examineStorage(
  config: LakeConfig,
  place: ExaminedPlace,
  tell: (check: DoctorCheck) => void,
): Promise<void> {
  const { name, path } = place;
  const store = openStore({ ...config, log: { path } });
  if (store === undefined) return;
  const isRemote = path.startsWith("s3://");
  const made = isRemote ? [] : missingFolders(path);
  const probe = `ivm_doctor_${randomUUID()}`;
  const words = name === "data" ? "data path" : "log root";
  /** @param work answers what is wrong with what was allowed, and the remedy. */
  const attempt = async (right: Right, work: () => Promise<Wrong | undefined>): Promise<boolean> => {
    const check = { name: `${name}_${right}` };
    const what = right.replace("_", " ");
    try {
      const wrong = await work();
      if (wrong === undefined) tell({ ...check, status: "ok", message: `The ${words} allows: ${what}.`, remedy: null });
      else tell({ ...check, status: "error", ...wrong });
      return wrong === undefined;
    } catch (error) {
      const message = `The ${words} refuses: ${what}. ${whyOf(error)}`;
      const remedy = remedyFor(error, isRemote, `${what} at the ${words}${isRemote ? ` (${S3_RIGHTS[right]})` : ""}`);
      tell({ ...check, status: "error", message, remedy });
      return false;
    }
  };
  try {
    const put = await attempt("put", async () => {
      await store.write(`${probe}.put`, (file) => writeFile(file, TEXT));
      return undefined;
    });
    const swapped = name === "log" && (await attempt("conditional_put", () => swaps(store, `${probe}.swap`)));
    if (put) await attempt("get", () => reads(store, `${probe}.put`, isRemote ? place.session : undefined));
    await attempt("list", async () => {
      const [found] = await store.list(probe);
      if (found !== undefined && isRemote) place.clock(found.modified.getTime() - Date.now());
      return undefined;
    });
    if (put || swapped) {
      await attempt("delete", async () => {
        await store.remove([`${probe}.put`, `${probe}.swap`]);
        return undefined;
      });
    }
  } finally {
    store.close();
    for (const folder of made) await rmdir(folder).catch(() => undefined);
  }
}

const TEXT = "doctor";

type Wrong = Pick<DoctorCheck, "message" | "remedy">;

/** What is wrong with conditional writes; undefined where nothing is. */
async function swaps(store: ObjectStore, name: string): Promise<Wrong | undefined> {
  const wrong = (message: string): Wrong => ({ message, remedy: SWAP_REMEDY });
  if (!(await store.swapText(name, "one", undefined))) return wrong("A conditional put of a new object was refused.");
  if (await store.swapText(name, "two", undefined))
    return wrong("A conditional put overwrote an object that was there.");
  const tag = (await store.readText(name))?.tag;
  if (!(await store.swapText(name, "three", tag))) return wrong("A conditional put of an object's tag was refused.");
  if (await store.swapText(name, "four", tag)) return wrong("A conditional put overwrote an object that had changed.");
  return undefined;
}

/** Reads what was written, in DuckDB's way too: it finds a bucket by rules of its own. */
async function reads(store: ObjectStore, name: string, session: Session | undefined): Promise<Wrong | undefined> {
  if ((await store.readText(name))?.text !== TEXT) {
    return { message: "What was written is not what is read.", remedy: "Use storage that reads what was written." };
  }
  if (session === undefined) return undefined;
  try {
    await session.run(`SELECT content FROM read_text(${quoteLiteral(store.address(name))})`);
    return undefined;
  } catch (error) {
    if (!(error instanceof IvmError)) throw error;
    return { message: `DuckDB can't read what was written. ${error.message}`, remedy: READ_REMEDY };
  }
}

/** The folder and those above it that are not there yet, the innermost first. */
function missingFolders(path: string): string[] {
  if (existsSync(path) || dirname(path) === path) return [];
  return [path, ...missingFolders(dirname(path))];
}

function whyOf(error: unknown): string {
  return `${whyStorageFailed(error instanceof IvmError ? error.cause : error)}.`;
}

/** Keys and places that are wrong are no rights that are missing. */
function remedyFor(error: unknown, isRemote: boolean, right: string): string {
  const why = whyOf(error);
  if (/AccessDenied|EACCES|EPERM|EROFS/.test(why)) return `Give this user the right to ${right}.`;
  if (/NoSuchBucket/.test(why)) return "Make the bucket, or correct the path.";
  if (/\(40[13]\)/.test(why)) return `Check the S3 keys, and the right to ${right}.`;
  if (isRemote) return "Check the path, the S3 endpoint and `s3.region`, and that the server is up.";
  return "Check the path, the folder's rights and the space on its disk.";
}
