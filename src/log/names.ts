import { createHash } from "node:crypto";

/** The names of a log's objects, relative to the log root. */

/** Logs of base tables stand beside those of views under names that no view can have. */
const SOURCE_LOG_PREFIX = "source:";

/** @param source the table as `schema.table`. */
export function sourceLog(source: string): string {
  return `${SOURCE_LOG_PREFIX}${source}`;
}

/** The table of a source's log; undefined for the log of a view. */
export function sourceOfLog(log: string): string | undefined {
  return log.startsWith(SOURCE_LOG_PREFIX) ? log.slice(SOURCE_LOG_PREFIX.length) : undefined;
}

/**
 * A view's folder. Letters, digits, `-` and `_` stand for themselves and every other byte of UTF-8 as `%XX`, so that
 * no name can leave the root or mean something to a file system. Names compare without case, and so do some file
 * systems, so the folder is in lower case.
 */
export function logFolder(view: string): string {
  return `${encodeName(view)}/`;
}

/** File systems take names of up to 255 bytes; a longer one is cut and told apart by its hash. */
const LONGEST = 200;

function encodeName(name: string): string {
  const bytes = [...Buffer.from(name.toLowerCase(), "utf8")];
  const letters = bytes.map((byte) => {
    const letter = String.fromCharCode(byte);
    return /[a-z0-9_-]/.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  });
  const encoded = letters.join("");
  if (encoded.length <= LONGEST) return encoded;
  const hash = createHash("sha256").update(encoded).digest("hex").slice(0, 16);
  return `${encoded.slice(0, LONGEST - hash.length - 1)}~${hash}`;
}

/**
 * What tells the files of one lake from those of another that was given the same log root: no lake ever touches the
 * other's.
 */
function mark(lakeId: string): string {
  return lakeId.replaceAll("-", "").slice(0, 12);
}

export function segmentName(folder: string, lakeId: string, from: bigint, to: bigint, id: string): string {
  return `${folder}segment-${from}-${to}-${mark(lakeId)}-${id}.parquet`;
}

export function baseName(folder: string, lakeId: string, at: bigint, part: number, id: string): string {
  return `${folder}base-${at}-${part}-${mark(lakeId)}-${id}.parquet`;
}

/** True for names that this project gives to files of this lake; whatever else lies there is somebody else's. */
export function isFileOf(lakeId: string, name: string): boolean {
  if (/^\.\.?\/|\\/.test(name)) return false;
  // A manifest that was not finished has no mark; it is nobody's.
  if (/^[^/]+\/manifest\.json-[0-9a-f-]{36}\.parquet$/.test(name)) return true;
  return /^[^/]+\/(segment|base)-\d+-\d+-[^/]+\.parquet$/.test(name) && name.includes(`-${mark(lakeId)}-`);
}

export function manifestName(folder: string): string {
  return `${folder}manifest.json`;
}

export function isManifest(name: string): boolean {
  return /^[^/]+\/manifest\.json$/.test(name);
}
