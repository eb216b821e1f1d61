import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Session } from "../engine/session.js";
import { ConflictError, LakeError } from "../errors.js";
import { parseJson, printJson } from "../sql/json.js";
import { FORMAT_VERSION } from "./files.js";
import { logFolder, manifestName } from "./names.js";
import { type LogEntry, type LogState, readLog, readLogs } from "./registry.js";
import type { LogRoot } from "./root.js";
import type { ObjectStore } from "./store.js";

/**
 * The picture of a log for readers that have no lake: `manifest.json` beside its files, described in
 * `docs/change-log.md`. The lake's own tables are the truth; whatever else stands here is replaced.
 */
interface Manifest {
  readonly format_version: number;
  /** The id of the lake that keeps the log. */
  readonly lake: string;
  readonly log: string;
  readonly epoch: string;
  /** Names one attempt to publish, so that it is known again where the answer to it was lost. */
  readonly commit: string;
  readonly generation: bigint;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly stored: string }[];
  readonly key: readonly string[];
  readonly key_kind: string;
  readonly weight_column: string;
  /** The snapshot that the log has come to. */
  readonly end: bigint;
  readonly bases: readonly { readonly at: bigint; readonly files: readonly ManifestFile[] }[];
  readonly segments: readonly ManifestSegment[];
}

interface ManifestFile {
  /** Relative to the manifest's own folder; null where there are no rows. */
  readonly file: string | null;
  readonly rows: bigint;
  readonly bytes: bigint;
  readonly least: string | null;
  readonly greatest: string | null;
}

interface ManifestSegment extends ManifestFile {
  readonly from: bigint;
  readonly to: bigint;
  readonly level: number;
  readonly created_at: string;
}

function manifestOf(state: LogState, lake: string, commit: string): Manifest {
  const folder = logFolder(state.log);
  const { schema } = state;
  return {
    format_version: FORMAT_VERSION,
    lake,
    log: state.log,
    epoch: state.epoch,
    commit,
    generation: state.generation,
    columns: schema.columns.map(({ name, type, stored }) => ({ name, type, stored })),
    key: schema.key,
    key_kind: schema.keyKind,
    weight_column: schema.weight,
    end: state.end,
    bases: basesOf(state, folder),
    segments: state.entries
      .filter((entry) => entry.kind === "segment")
      .map((entry) => ({
        from: entry.from ?? 0n,
        to: entry.to,
        level: entry.level,
        created_at: entry.createdAt,
        ...fileOf(entry, folder),
      })),
  };
}

function basesOf(state: LogState, folder: string): Manifest["bases"] {
  const bases = state.entries.filter((entry) => entry.kind === "base");
  const positions = [...new Set(bases.map((entry) => entry.to))];
  return positions.map((at) => ({
    at,
    files: bases.filter((entry) => entry.to === at && entry.file !== null).map((entry) => fileOf(entry, folder)),
  }));
}

function fileOf(entry: LogEntry, folder: string): ManifestFile {
  const { rows, bytes, least, greatest } = entry;
  return { file: entry.file === null ? null : entry.file.slice(folder.length), rows, bytes, least, greatest };
}

const ATTEMPTS = 8;

/**
 * Makes the manifest say what the lake says, by compare-and-swap. Publishers may come in any order: each one writes
 * the truth as it finds it, and one that is overtaken looks again.
 * @throws ConflictError `manifest_busy` where others kept overtaking this one; LakeError of the store.
 */
export async function publishManifest(
  session: Session,
  root: LogRoot,
  log: string,
): Promise<"published" | "current" | "removed"> {
  const { tables, store } = root;
  const lake = await root.lakeId(session);
  const name = manifestName(logFolder(log));
  const commit = randomUUID();
  let published = false;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const truth = await readLog(session, tables, log);
    const found = await store.readText(name);
    requireOwn(found?.text, lake, log, store.address(name));
    if (truth === undefined) {
      await store.remove([name]);
      return "removed";
    }
    if (found !== undefined && saysTheSame(found.text, truth, lake)) return published ? "published" : "current";
    const text = `${printJson(manifestOf(truth, lake, commit) as never)}\n`;
    published = (await store.swapText(name, text, found?.tag)) || (await isOurs(store, name, commit));
  }
  throw new ConflictError("manifest_busy", `The manifest of ${log} was changed by others ${ATTEMPTS} times in a row.`, {
    subject: { view: log },
    hint: "Run the same command again.",
  });
}

/**
 * Publishes the manifests of logs as the caller has just read them, with one more look at all of them for what has changed
 * meanwhile.
 * @param each runs the work on one log, and keeps its failure from the others.
 */
export async function publishManifests(
  session: Session,
  root: LogRoot,
  states: readonly LogState[],
  each: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const offered: LogState[] = [];
  const lost: string[] = [];
  for (const state of states) {
    await each(async () => {
      const outcome = await offerManifest(session, root, state);
      if (outcome === "won") offered.push(state);
      if (outcome === "lost") lost.push(state.log);
    });
  }
  const names = offered.map(({ log }) => log);
  const now = names.length === 0 ? new Map<string, LogState>() : await readLogs(session, root.tables, names);
  const moved = offered.filter(
    (state) => printJson(state as never) !== printJson((now.get(state.log) ?? null) as never),
  );
  for (const log of [...lost, ...moved.map((state) => state.log)]) {
    await each(async () => {
      await publishManifest(session, root, log);
    });
  }
}

/** One attempt to publish. What it wrote is old where the log has moved since it was read. */
async function offerManifest(session: Session, root: LogRoot, state: LogState): Promise<"current" | "won" | "lost"> {
  const lake = await root.lakeId(session);
  const name = manifestName(logFolder(state.log));
  const found = await root.store.readText(name);
  requireOwn(found?.text, lake, state.log, root.store.address(name));
  if (found !== undefined && saysTheSame(found.text, state, lake)) return "current";
  const commit = randomUUID();
  const text = `${printJson(manifestOf(state, lake, commit) as never)}\n`;
  const won = (await root.store.swapText(name, text, found?.tag)) || (await isOurs(root.store, name, commit));
  return won ? "won" : "lost";
}

/** @throws LakeError `log_of_other_lake`: readers without a lake would take the one log for the other. */
function requireOwn(text: string | undefined, lake: string, log: string, place: string): void {
  const found = text === undefined ? undefined : factsOf(text)?.lake;
  if (found === undefined || found === lake) return;
  throw new LakeError("log_of_other_lake", `The manifest of ${log} is another lake's: ${place}.`, {
    subject: { view: log },
    hint: "Give each lake a `log.path` of its own; if that other lake is gone, delete the file.",
  });
}

/** A conditional write can have won although its answer says that it lost: the SDK sends it again by itself. */
async function isOurs(store: ObjectStore, name: string, commit: string): Promise<boolean> {
  const found = await store.readText(name);
  return found !== undefined && factsOf(found.text)?.commit === commit;
}

function saysTheSame(text: string, truth: LogState, lake: string): boolean {
  const commit = factsOf(text)?.commit;
  return commit !== undefined && text === `${printJson(manifestOf(truth, lake, commit) as never)}\n`;
}

/** True for the manifest of a log that this lake kept once and does not know any more. */
export async function isForgotten(store: ObjectStore, name: string, lake: string): Promise<boolean> {
  const found = await store.readText(name);
  return found !== undefined && factsOf(found.text)?.lake === lake;
}

const anyManifest = z.looseObject({ commit: z.string().max(100), lake: z.string().max(100) });

/** Undefined for a text that is no manifest of ours, whatever it is. */
function factsOf(text: string): { readonly commit: string; readonly lake: string } | undefined {
  try {
    const parsed = anyManifest.safeParse(parseJson(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
