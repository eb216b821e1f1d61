import { ConflictError, EngineError, IvmError, LakeError, RefreshError } from "../errors.js";

/**
 * DuckDB throws plain errors whose kind is told by the message's prefix; this is the one place that reads them.
 * The text is kept, without secrets.
 */
export function engineError(error: unknown, redact: (text: string) => string): IvmError {
  if (error instanceof IvmError) return error;
  const whole = redact(error instanceof Error ? error.message : String(error));
  const cause = new Error(whole);
  const message = withoutQuery(whole);
  for (const [pattern, make] of KINDS) {
    if (pattern.test(message)) return make(message, cause);
  }
  return new RefreshError("engine_error", message, { cause });
}

/**
 * An error of PostgreSQL repeats the statement that failed. A commit's is long, holds rows of the user's, and whatever
 * words it has are not the error's.
 */
function withoutQuery(message: string): string {
  return message.replace(/Failed to execute query "[\s\S]*": (?=\S)/, "");
}

/** DuckLake keeps a picture of the catalog that only a new attachment corrects (ducklake issue 1305). */
export const STALE_CATALOG = "catalog_stale";

/** Another writer's commit came first: the transaction is gone, and what was read before it is as good as ever. */
export const LOST_RACE = "conflict";

/** The catalog was locked by another writer for longer than it waits. */
export const CATALOG_BUSY = "catalog_busy";

/** A file is gone that the lake's catalog or a change log names. */
export const FILE_MISSING = "data_file_missing";

/** The memory limit was reached. */
export const OUT_OF_MEMORY = "out_of_memory";

/** The code of a DuckDB file that another process has open. */
export const CATALOG_LOCKED = "catalog_locked";

/** What a catalog must allow. */
export const CATALOG_RIGHTS =
  "Give the catalog's user SELECT, INSERT, UPDATE and DELETE on its tables and CREATE on its schema; a file must be writable.";

type Make = (message: string, cause: Error) => IvmError;

const KINDS: readonly (readonly [RegExp, Make])[] = [
  // Before conflicts: a commit that finds no room says that it failed to commit as well.
  [
    /No space left on device|Disk quota exceeded|database or disk is full/i,
    (message, cause) =>
      new EngineError("disk_full", `A disk is full. ${message}`, {
        cause,
        hint: "Make room where the message says, or name another `engine.temp_directory`, then run the same command again.",
      }),
  ],
  // The same: no repetition gives a right that is missing.
  [
    /permission denied for |must be owner of |in a read-only transaction|attempt to write a readonly database/i,
    (message, cause) =>
      new LakeError("database_denied", `The database refuses what its user has no right to. ${message}`, {
        cause,
        hint: `${CATALOG_RIGHTS} The target of a replay needs the same.`,
      }),
  ],
  [
    /Transaction conflict|Failed to commit DuckLake transaction|TransactionContext Error: Conflict/i,
    (message, cause) =>
      new ConflictError(LOST_RACE, `Another writer changed the lake first. ${message}`, {
        cause,
        hint: "Run the same command again.",
      }),
  ],
  [
    /database is locked|could not serialize access|deadlock detected/i,
    (message, cause) =>
      new ConflictError(CATALOG_BUSY, `The catalog is busy. ${message}`, {
        cause,
        hint: "Run the same command again; a PostgreSQL catalog has fewer such waits than a SQLite file.",
      }),
  ],
  [
    /ducklake_inlined_data_\S* does not exist/i,
    (message, cause) =>
      new ConflictError(
        STALE_CATALOG,
        `Another program changed a table's form and moved its inlined rows. ${message}`,
        {
          cause,
          hint: "Run the same command again.",
        },
      ),
  ],
  [
    /Could not set lock on file/i,
    (message, cause) =>
      new ConflictError(CATALOG_LOCKED, `The catalog file is open in another process. ${message}`, {
        cause,
        hint: "A DuckDB-file catalog serves one process at a time; end the other one, or use a PostgreSQL catalog.",
      }),
  ],
  [
    /No snapshot found at version (\d+)/i,
    (message, cause) =>
      new LakeError("snapshot_missing", message, {
        cause,
        hint: "The snapshot was expired or never existed; `FROM <lake>.snapshots()` lists those that are kept.",
      }),
  ],
  [
    /^IO Error: Cannot open file .*No such file or directory|^HTTP Error: .*\b404\b/i,
    (message, cause) =>
      new LakeError(FILE_MISSING, `A file is gone that is still needed. ${message}`, {
        cause,
        hint: "Restore the file from a copy. A view's own tables are built anew by `refresh VIEW --full-refresh`; a change log begins anew after `drop VIEW` and `apply`.",
      }),
  ],
  [
    /^IO Error: No files found that match/i,
    (message, cause) =>
      new LakeError(FILE_MISSING, `A file that is read is not there. ${message}`, {
        cause,
        hint: "Check its path; a change log that has lost a file begins anew after `drop VIEW` and `apply`.",
      }),
  ],
  [
    /HTTP (Error|code).*\b40[13]\b|\b403\b.*(Forbidden|AccessDenied)|InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|HTTP 40[13]/i,
    (message, cause) =>
      new LakeError("storage_denied", `The object storage refuses access. ${message}`, {
        cause,
        hint: "Check the S3 keys, the endpoint and the rights on the bucket.",
      }),
  ],
  [
    /Unable to connect to Postgres|Failed to open.*sqlite|unable to open database file|Cannot open database/i,
    (message, cause) =>
      new LakeError("catalog_unreachable", `The catalog can't be reached. ${message}`, {
        cause,
        hint: "Check `catalog` in the configuration, and that its server is up.",
      }),
  ],
  [
    /Could not (establish|connect)|Connection refused|Could not resolve host|Timeout was reached|connection error for HTTP|Server returned nothing|HTTP (Error|code).*\b5\d\d\b/i,
    (message, cause) =>
      new LakeError("storage_unreachable", `The object storage can't be reached. ${message}`, {
        cause,
        hint: "Check the S3 endpoint, and that its server is up.",
      }),
  ],
  [
    /^Out of Memory Error/i,
    (message, cause) =>
      // What follows are hints for those who write SQL themselves.
      new EngineError(OUT_OF_MEMORY, `DuckDB's memory limit was reached. ${message.split("\n")[0]}`, {
        cause,
        hint: "Raise `engine.memory_limit`, lower `engine.threads`, or name an `engine.temp_directory` with more room.",
      }),
  ],
  [
    /^(FATAL|INTERNAL) Error|database has been invalidated/i,
    (message, cause) =>
      new EngineError("engine_fatal", `DuckDB failed internally. ${message}`, {
        cause,
        hint: "Open the lake again; please report the query if it happens twice.",
      }),
  ],
];
