/** Reading text files, with the system's errors put in the reader's words. */
import { readFile } from "node:fs/promises";
import type { Problem } from "./problems.js";

const BYTE_ORDER_MARK = /^\uFEFF/;

/** The text of a UTF-8 file without its byte order mark, or what keeps it from being read. */
export async function readText(file: string): Promise<{ readonly text: string } | { readonly problem: Problem }> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    return { problem: { code: "file_unreadable", file, ...describeSystemError(error) } };
  }
  try {
    return {
      text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).replace(BYTE_ORDER_MARK, ""),
    };
  } catch {
    return { problem: { code: "file_unreadable", file, message: "is not UTF-8 text", hint: "Save it as UTF-8." } };
  }
}

/** What the system said, without its jargon. */
export function describeSystemError(error: unknown): { message: string; hint: string } {
  switch (systemCode(error)) {
    case "ENOENT":
      return { message: "does not exist", hint: "Create it, or correct the path." };
    case "EACCES":
    case "EPERM":
      return { message: "may not be read", hint: "Give this user the right to read it." };
    case "EISDIR":
      return { message: "is a folder, not a file", hint: "Put a file in its place." };
    case "ENOTDIR":
      return { message: "is not a folder", hint: "Correct the path." };
    default:
      return {
        message: `can't be read: ${error instanceof Error ? error.message : String(error)}`,
        hint: "Correct the path.",
      };
  }
}

export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
