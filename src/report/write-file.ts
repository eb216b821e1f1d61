import { randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { ConfigError } from "../errors.js";

/**
 * Writes a file so that its readers see the old content or the new one, never a part.
 * @throws ConfigError `file_not_written`.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(unfinished, text, { flag: "wx" });
    await rename(unfinished, path);
  } catch (error) {
    // What is in the way of the file may be in the way of this too; the first error is the one that matters.
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw new ConfigError("file_not_written", `${path} could not be written: ${(error as Error).message}`, {
      subject: { file: path },
      hint: "Name a file in a folder that exists and may be written to.",
    });
  }
}
