/** What a run did, as a file that other programs find after it. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { type Json, toJson } from "../json.js";
import type { ErrorResult, RefreshResult } from "../types.js";
import { packageVersion } from "../version.js";
import { writeWhole } from "./write-file.js";

/** The package's own schema of the file, as programs import it. */
const SCHEMA = "ducklake-ivm/schemas/run-results.v1.json";

/** What the file says of a run besides its result. */
export interface RunResultsOptions {
  /** The words of the command line, such as `["refresh", "--jobs", "2"]`. */
  readonly command: readonly string[];
  readonly startedAt: Date;
  /** What the process ends with. */
  readonly exitCode: number;
  /** Applied to every text before it is written: takes secrets out. */
  readonly redact?: (text: string) => string;
}

/**
 * Writes a run's result to a file, with the versions, the command and the times: what `refresh --output json` prints,
 * for programs that come later. Readers see the old file or the new one, never a part; missing folders are made.
 * @param outcome the result, or the error that kept the run from having one.
 * @throws ConfigError `file_not_written`.
 */
export async function writeRunResults(
  file: string,
  outcome: RefreshResult | { readonly error: ErrorResult },
  { command, startedAt, exitCode, redact = (text) => text }: RunResultsOptions,
): Promise<void> {
  const { version } = await import("@duckdb/node-api");
  const metadata = {
    schema: SCHEMA,
    versions: { ducklakeIvm: packageVersion(), duckdb: version(), node: process.version },
    command,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    exitCode,
  };
  const content = masked(toJson({ metadata, ...outcome }), redact);
  // Where the folder can't be made, the file can't be written, and that error says it.
  await mkdir(dirname(file), { recursive: true }).catch(() => undefined);
  await writeWhole(file, `${JSON.stringify(content, null, 2)}\n`);
}

function masked(value: Json, redact: (text: string) => string): Json {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => masked(item, redact));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, masked(item, redact)]));
}
