import { randomUUID } from "node:crypto";
import { open, rename, rm, stat, writeFile } from "node:fs/promises";
import { ConfigError, EngineError, type IvmError } from "../errors.js";

/**
 * Writes a file so that its readers see the old content or the new one, never a part.
 * @throws ConfigError `file_not_written`, EngineError `disk_full`.
 */
export function writeWhole(path: string, text: string): Promise<void> {
  return replace(path, "tmp", (unfinished) => writeFile(unfinished, text, { flag: "wx" }));
}

/**
 * Lets a file be written beside its place and moves it there when it is whole. Pipes and devices stay where they are.
 * @throws ConfigError `file_not_written` before `write` is asked for anything, where the place can't be written to;
 * EngineError `disk_full`; what `write` throws.
 */
export async function writeBeside<Result>(path: string, write: (part: string) => Promise<Result>): Promise<Result> {
  const found = await stat(path).catch(() => undefined);
  // Who opens a folder is told so by the system.
  const isFolder = found?.isDirectory() === true;
  if (found?.isFile() === false && !isFolder) {
    return write(path).catch((error: unknown) => {
      throw told(path, error);
    });
  }
  return replace(path, "part", async (part) => {
    await tryWriting(isFolder ? path : part);
    return write(part);
  });
}

/** Has a file written under another name, with this ending, and gives it its own when it is whole. */
async function replace<Result>(
  path: string,
  ending: string,
  write: (unfinished: string) => Promise<Result>,
): Promise<Result> {
  const unfinished = `${path}.${randomUUID()}.${ending}`;
  try {
    const result = await write(unfinished);
    await rename(unfinished, path);
    return result;
  } catch (error) {
    // What is in the way of the file may be in the way of this too; the first error is the one that matters.
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw told(path, error);
  }
}

/** DuckDB tells of a missing folder as of a file that is gone, so it is found out before. */
async function tryWriting(path: string): Promise<void> {
  await (await open(path, "w")).close();
  await rm(path);
}

/** Errors of others than the system are told as they are. */
function told(path: string, error: unknown): unknown {
  return isSystemError(error) ? notWritten(path, error) : error;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

function notWritten(path: string, error: NodeJS.ErrnoException): IvmError {
  // The rest names the call, and the unfinished file, which nobody knows of.
  const [why] = error.message.split(", ");
  const message = `${path} could not be written: ${why}`;
  const subject = { file: path };
  if (error.code === "ENOSPC" || error.code === "EDQUOT") {
    return new EngineError("disk_full", `A disk is full. ${message}.`, {
      subject,
      hint: "Make room there, or name a file elsewhere, then run the same command again.",
      cause: error,
    });
  }
  return new ConfigError("file_not_written", `${message}.`, {
    subject,
    hint: "Name a file in a folder that exists and may be written to.",
    cause: error,
  });
}
