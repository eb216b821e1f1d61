import pLimit from "p-limit";
import type { Session } from "../engine/session.js";
import type { SweepResult } from "../types.js";
import type { StateTables } from "../view/state.js";
import { isForgotten } from "./manifest.js";
import { isFileOf, isManifest, logFolder, manifestName } from "./names.js";
import { readLogs } from "./registry.js";
import type { LogRoot } from "./root.js";
import { SIDE_BY_SIDE, type StoredObject } from "./store.js";

interface KnownFile {
  readonly id: string;
  readonly file: string | null;
  readonly bytes: bigint;
  /** Retired for longer than the grace time. */
  readonly expired: boolean;
}

/** Removes files that were retired for longer than the grace time. It needs no list of the store. */
export async function sweepRetired(session: Session, root: LogRoot): Promise<SweepResult> {
  const expired = (await knownFiles(session, root)).filter((known) => known.expired);
  if (expired.length === 0) return { files: [], bytes: 0n };
  const lakeId = await root.lakeId(session);
  // The registry is a table of the lake, which others may write: a name of no file of ours could be anybody's.
  const files = expired.flatMap(({ file }) => (file !== null && isFileOf(lakeId, file) ? [file] : []));
  await root.store.remove(files);
  await forget(session, root, expired);
  return { files, bytes: expired.reduce((sum, known) => sum + known.bytes, 0n) };
}

/**
 * Removes what no reader and no run can still need: files that were retired, or are registered nowhere, for longer
 * than the grace time. Every run registers what it wrote well within that time, or writes it again; one that stood still
 * between its last look at the time and its commit loses against the fence.
 */
export async function sweepAll(
  session: Session,
  root: LogRoot,
  options: { readonly dryRun: boolean },
): Promise<SweepResult> {
  const listed = await root.store.list("");
  const before = Date.now() - root.graceMs;
  const lakeId = await root.lakeId(session);
  const ours = listed.filter(({ name }) => isFileOf(lakeId, name));
  // Read after the list, so that whatever was listed and is registered by now is known.
  let known = await knownFiles(session, root);
  const registered = new Set(known.map((row) => row.file));
  const unregistered = ours.some(({ name, modified }) => modified.getTime() < before && !registered.has(name));
  if (unregistered && !options.dryRun) {
    await fence(session, root.tables);
    known = await knownFiles(session, root);
  }
  const kept = new Set(known.filter((row) => !row.expired).map((row) => row.file));
  const expired = new Set(known.filter((row) => row.expired).map((row) => row.file));
  const files = ours.filter(({ name, modified }) => {
    if (kept.has(name)) return false;
    return expired.has(name) || modified.getTime() < before;
  });
  const gone = [...files, ...(await manifestsOfNoLog(session, root, listed, lakeId))];
  if (!options.dryRun) {
    await root.store.remove(gone.map((object) => object.name));
    await forget(
      session,
      root,
      known.filter((row) => row.expired),
    );
  }
  return { files: gone.map((object) => object.name), bytes: gone.reduce((sum, object) => sum + object.bytes, 0n) };
}

/**
 * Makes every transaction that is open now and would register a file fail in a conflict: it wrote its files before. One
 * that begins later finds its files too old, and writes them again.
 */
export async function fence(session: Session, tables: StateTables): Promise<void> {
  await session.transaction(async () => {
    // What refreshes and compactions update in place.
    await session.run(`UPDATE ${tables.table("progress")} SET updated_at = updated_at`);
    await session.run(`UPDATE ${tables.table("logs")} SET generation = generation`);
    await tables.commitMessage(session, "fence before a sweep", {});
  });
}

/** Manifests of logs that ended: their files go, so nobody may find them any more. */
async function manifestsOfNoLog(
  session: Session,
  root: LogRoot,
  listed: readonly StoredObject[],
  lakeId: string,
): Promise<StoredObject[]> {
  const live = new Set([...(await readLogs(session, root.tables)).keys()].map((log) => manifestName(logFolder(log))));
  const limit = pLimit(SIDE_BY_SIDE);
  const candidates = listed.filter(({ name }) => isManifest(name) && !live.has(name));
  const found = await Promise.all(
    candidates.map((object) =>
      limit(async () => ((await isForgotten(root.store, object.name, lakeId)) ? [object] : [])),
    ),
  );
  return found.flat();
}

function knownFiles(session: Session, { tables, graceMs }: LogRoot): Promise<KnownFile[]> {
  return session.rows<KnownFile>(
    `SELECT segment.id, segment.file, segment.bytes,
            coalesce(epoch_ms(retired.retired_at) < ${Date.now() - graceMs}, false) AS expired
     FROM ${tables.table("segments")} AS segment LEFT JOIN ${tables.table("retired")} AS retired ON retired.id = segment.id`,
  );
}

/** The registry forgets files that are gone. */
async function forget(session: Session, { tables }: LogRoot, files: readonly KnownFile[]): Promise<void> {
  if (files.length === 0) return;
  const ids = files.map((known) => known.id);
  await session.transaction(async () => {
    for (const table of ["segments", "retired"]) {
      await session.run(`DELETE FROM ${tables.table(table)} WHERE id IN (SELECT unnest($1))`, [ids]);
    }
    await tables.commitMessage(session, "forget swept files of change logs", { files: ids.length });
  });
}
