import type { Notify } from "../engine/notify.js";
import type { Session } from "../engine/session.js";
import { ConflictError } from "../errors.js";
import type { CompactedLog, LogEvent, Position } from "../types.js";
import { heldPositions } from "./consumers.js";
import {
  beginningOf,
  consolidate,
  dropConsolidated,
  type FileContext,
  requireYoung,
  writeBase,
  writeSegment,
} from "./files.js";
import { sourceOfLog } from "./names.js";
import { type CompactionStep, nextStep } from "./policy.js";
import { storedRows } from "./read.js";
import { insertEntries, type LogState, type NewEntry, readLog, retireEntries } from "./registry.js";
import type { LogRoot } from "./root.js";

/**
 * Carries out one step: reads the files, writes what takes their place, and swaps them in one transaction of the lake.
 * Killed before that, it leaves files that nothing registers; a refresh that adds a window meanwhile is not disturbed.
 * @throws ConflictError `log_moved` where another compaction was faster; LakeError `log_file_old`.
 */
async function runStep(
  session: Session,
  root: LogRoot,
  runId: string,
  state: LogState,
  step: CompactionStep,
): Promise<readonly NewEntry[]> {
  const { tables } = root;
  const { log, epoch, schema } = state;
  const files = await root.filesOf(session, { log, epoch, schema, runId });
  const startedAt = Date.now();
  const written = await writeStep(files, step);
  await session.transaction(async () => {
    const now = await readLog(session, tables, state.log);
    // Rows that are updated in place by every compaction of the log and by every consumer that moves: of two at once,
    // one gets a conflict.
    await session.run(
      `UPDATE ${tables.table("logs")} SET generation = generation + 1, updated_at = now() WHERE log = $1`,
      [log],
    );
    await session.run(`UPDATE ${tables.table("consumers")} SET moves = moves WHERE log = $1`, [log]);
    const held = await heldPositions(session, root, state);
    if (
      now?.epoch !== epoch ||
      now.generation !== state.generation ||
      held.some((position) => crosses(step, position))
    ) {
      throw new ConflictError("log_moved", `The log of ${state.log} was moved by another run in the meantime.`, {
        subject: { view: state.log },
        hint: "Run the same command again.",
      });
    }
    requireYoung(log, startedAt, root.graceMs);
    await retireEntries(session, tables, step.entries);
    await insertEntries(session, tables, written);
    await tables.commitMessage(session, `${step.kind} change log of ${state.log}`, { log: state.log, run: runId });
  });
  return written;
}

/** True where the step would take away a position. */
function crosses(step: CompactionStep, position: bigint): boolean {
  if (step.kind === "fold") return position < step.at;
  return step.entries.some((entry) => entry.to === position) && step.entries.at(-1)?.to !== position;
}

async function writeStep(files: FileContext, step: CompactionStep): Promise<readonly NewEntry[]> {
  const createdAt =
    step.entries
      .map((entry) => entry.createdAt)
      .sort()
      .at(-1) ?? new Date().toISOString();
  // Nobody asks for the state of a base table, which the lake itself has: its old windows are dropped.
  if (step.kind === "fold" && sourceOfLog(files.log) !== undefined) {
    return [{ ...beginningOf(files, step.at), createdAt }];
  }
  const { rows } = await consolidate(files.session, files.schema, storedRows(files.store, files.schema, step.entries));
  const written = await writeConsolidated(files, step, rows);
  await dropConsolidated(files.session);
  return written.map((entry) => ({ ...entry, createdAt }));
}

async function writeConsolidated(files: FileContext, step: CompactionStep, rows: bigint): Promise<readonly NewEntry[]> {
  if (step.kind === "fold") {
    const levels = step.entries.filter((entry) => entry.kind === "base").map((entry) => entry.level);
    return writeBase(files, step.at, Math.max(0, ...levels) + 1, rows);
  }
  const [first, last] = [step.entries[0], step.entries.at(-1)];
  if (first?.from === undefined || first.from === null || last === undefined)
    throw new TypeError("a merge needs windows");
  return [await writeSegment(files, { from: first.from, to: last.to, level: step.level }, rows)];
}

interface Compaction {
  /** Also rewrites a large base for a few old windows, which a refresh would put off. */
  readonly thorough: boolean;
  readonly notify: Notify<LogEvent>;
  /** The log's place among those that are compacted. */
  readonly position: Position;
}

/** Brings a log in order, step by step, each step a commit of its own. */
export async function compactLog(
  session: Session,
  root: LogRoot,
  runId: string,
  log: string,
  { thorough, notify, position }: Compaction,
): Promise<CompactedLog> {
  notify({ kind: "log_started", log, position });
  const counts = { merge: 0, fold: 0 };
  let rewritten = 0n;
  let state = await readLog(session, root.tables, log);
  while (state !== undefined) {
    const held = await heldPositions(session, root, state);
    const { keep, fanOut } = root;
    const step = nextStep(state, { keep, fanOut, held, now: new Date(), thorough });
    if (step === undefined) break;
    const written = await runStep(session, root, runId, state, step);
    counts[step.kind] += 1;
    const rows = written.reduce((sum, entry) => sum + entry.rows, 0n);
    rewritten += rows;
    notify({ kind: "log_step", log, step: step.kind, rows });
    state = await readLog(session, root.tables, log);
  }
  const entries = state?.entries ?? [];
  const result: CompactedLog = {
    log,
    merges: counts.merge,
    folds: counts.fold,
    files: entries.filter((entry) => entry.file !== null).length,
    rows: entries.reduce((sum, entry) => sum + entry.rows, 0n),
    bytes: entries.reduce((sum, entry) => sum + entry.bytes, 0n),
    rewritten,
  };
  notify({ kind: "log_finished", log, position, result });
  return result;
}
