import { execFile } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { ConflictError, type ErrorSubject, LakeError } from "../errors.js";
import type { LakeConfig } from "../types.js";

/** What stands beside a catalog file while it is in use. */
const COMPANIONS = ["", ".wal", "-wal", "-journal"];
const ATTEMPTS = 20;
const PAUSE_MS = 50;

/** A catalog file that only its own process has open. */
export interface CatalogCopy extends AsyncDisposable {
  /** The configuration with the copy in the catalog's place. */
  readonly config: LakeConfig;
}

/** The file of a catalog that is one; undefined for a server. */
export function catalogFile(catalog: string): string | undefined {
  const plain = catalog.replace(/^ducklake:/i, "");
  if (/^(postgres(ql)?|mysql):/i.test(plain)) return undefined;
  return plain.replace(/^(sqlite|duckdb):/i, "");
}

/** True for a catalog that is a file of SQLite. */
export function isSqlite(catalog: string): boolean {
  return /^(ducklake:)?sqlite:/i.test(catalog);
}

/** True for a catalog in PostgreSQL. */
export function isPostgres(catalog: string): boolean {
  return /^(ducklake:)?postgres(ql)?:/i.test(catalog);
}

/** Changes with every commit to a catalog file. */
export async function catalogStamp(file: string): Promise<string> {
  const stamps = await Promise.all(
    COMPANIONS.map((ending) =>
      stat(file + ending, { bigint: true }).then(
        ({ mtimeNs, size }) => `${mtimeNs}:${size}`,
        () => "-",
      ),
    ),
  );
  return stamps.join(" ");
}

/**
 * @param redact an address whose kind was forgotten looks like a file's, and may hold a password.
 * @throws LakeError `catalog_unreachable` where a catalog is a file of this machine that is not there.
 */
export async function requireCatalogFile(catalog: string, redact: (text: string) => string): Promise<void> {
  const file = catalogFile(catalog);
  // What is left of an address with a scheme is none of this machine's files.
  if (file === undefined || /^[a-z][a-z0-9]+:/i.test(file)) return;
  if (!(await catalogStamp(file)).startsWith("-")) return;
  const shown = redact(file);
  throw noLake(`there is no catalog file ${shown}`, { file: shown });
}

/** What is told where a lake is only looked for, and is not there. */
export function noLake(why: string, subject: ErrorSubject = {}, cause?: unknown): LakeError {
  return new LakeError("catalog_unreachable", `The lake does not exist: ${why}.`, {
    subject,
    hint: "Check `lake.catalog` in the configuration; where the lake is still to be made, `ducklake-ivm apply` makes it.",
    cause,
  });
}

/**
 * Copies a catalog file without taking its lock, so that no writer waits. A copy during which the file changed is
 * thrown away and made again.
 * @throws ConflictError `catalog_busy` where the file changes all the time.
 */
export async function copyCatalog(config: LakeConfig, file: string): Promise<CatalogCopy> {
  const folder = await mkdtemp(join(tmpdir(), "ducklake-ivm-look-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const copy = join(folder, basename(file));
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await catalogStamp(file);
      await copyFiles(COMPANIONS.map((ending) => [file + ending, copy + ending]));
      if ((await catalogStamp(file)) === before) {
        const kind = isSqlite(config.catalog) ? "sqlite:" : "";
        return { config: { ...config, catalog: `${kind}${copy}` }, [Symbol.asyncDispose]: remove };
      }
      await delay(PAUSE_MS);
    }
  } catch (error) {
    await remove();
    throw error;
  }
  await remove();
  throw new ConflictError("catalog_busy", `The catalog file ${file} changes all the time.`, {
    subject: { file },
    hint: "Try again; a PostgreSQL catalog can be read while it is written.",
  });
}

/** Run by a process of its own. */
const COPY = `const fs = require("node:fs");
for (const [from, to] of JSON.parse(process.argv[1])) {
  fs.rmSync(to, { force: true });
  try { fs.copyFileSync(from, to); } catch (error) { if (error.code !== "ENOENT") throw error; }
}`;

/**
 * Copies those of the files that are there. Not in this process: where it has the catalog open itself, closing the file
 * once more would end the lock that DuckDB holds on it, as is the way of POSIX.
 */
async function copyFiles(files: readonly (readonly [string, string])[]): Promise<void> {
  await promisify(execFile)(process.execPath, ["-e", COPY, JSON.stringify(files)]);
}
