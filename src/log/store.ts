import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

/** Where the files of change logs are: one folder or bucket prefix, whose objects have names relative to it. */

/** An object's text and the tag that a later swap must name. */
export interface TaggedText {
  readonly text: string;
  readonly tag: string;
}

export interface StoredObject {
  /** The name relative to the log root, with `/` between its parts. */
  readonly name: string;
  readonly bytes: bigint;
  readonly modified: Date;
}

/**
 * Objects are written whole or not at all and never changed, but for manifests, which are swapped.
 * Every method throws LakeError `log_store` where the store can't be reached or refuses, after retries.
 */
export interface ObjectStore {
  /** The object's address as DuckDB reads it. */
  address(name: string): string;
  /**
   * Lets `produce` write a local file at the path that it is given, then makes it the object `name`.
   * @returns what `produce` returned.
   */
  write<Result>(name: string, produce: (path: string) => Promise<Result>): Promise<Result>;
  /** Lets `work` write a local file that is thrown away afterwards. */
  scratch<Result>(work: (path: string) => Promise<Result>): Promise<Result>;
  /** Undefined where there is no such object. */
  readText(name: string): Promise<TaggedText | undefined>;
  /**
   * Replaces a text that still has the tag (`undefined`: that does not exist yet). False where it has another one by
   * now, which can also be this very text, if the answer to an earlier attempt was lost.
   */
  swapText(name: string, text: string, tag: string | undefined): Promise<boolean>;
  /** All objects whose names begin with `prefix`. */
  list(prefix: string): Promise<readonly StoredObject[]>;
  /** Removes objects; those that are gone already are no error. */
  remove(names: readonly string[]): Promise<void>;
  close(): void;
}

/** How many files are copied, sent or removed side by side. */
export const SIDE_BY_SIDE = 8;

/** A folder of its own, for this user's eyes only, around a file that goes elsewhere. */
export async function inScratchFolder<Result>(
  parent: string,
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  // DuckDB makes its own temporary folder when it needs it, and so does this.
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "ducklake-ivm-log-"));
  try {
    return await work(join(folder, "part.parquet"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the store itself says of a failure: its code, and the status where it was an answer over HTTP. */
export function whyStorageFailed(error: unknown): string {
  const { code, name, $metadata } = error as Error & { code?: string; $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  return `${code ?? name}${status === undefined ? "" : ` (${status})`}`;
}
