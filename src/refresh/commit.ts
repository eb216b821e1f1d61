import { randomUUID } from "node:crypto";
import { snapshotOfCommit } from "../catalog/snapshots.js";
import { CATALOG_BUSY, LOST_RACE } from "../engine/errors.js";
import { retryConflicts } from "../engine/retry.js";
import type { Session } from "../engine/session.js";
import { ConflictError, InternalError, InterruptedError, IvmError } from "../errors.js";
import { type Progress, printCursors } from "../view/state.js";
import type { VisibleCounts } from "./visible-change.js";
import type { WriteInput, Written } from "./write-input.js";

/** Runs of other views update the same table as this one, which is a conflict although their rows are others. */
const COMMIT_CONFLICTS: ReadonlySet<string> = new Set([LOST_RACE, CATALOG_BUSY]);

/**
 * Runs the writes, the cursors, the run's record and the commit's message in one transaction of the lake. What it
 * writes was computed before, from snapshots that stay as they are and for the view as it stands in its progress row: so
 * where another run's commit came first, the transaction alone is run again, as long as that row is still the same.
 */
export async function commit(input: WriteInput, write: () => Promise<VisibleCounts>): Promise<Written> {
  const { session, state, definition, before, horizon, runId } = input;
  const commitId = randomUUID();
  const transaction = async () => {
    // In SQLite everybody waits for a transaction that has read, so one that will come to nothing ends at once.
    if (!input.engine.readsTogether && !(await standsAsPlanned(input))) throw moved(definition.name);
    const written = await write();
    // This row is updated in place by every run that moves the view: of two at once, one gets a conflict. Where another
    // run has moved the view before, the row is not the one that was planned with.
    const costs = input.record.costs();
    const updated = await session.change(
      `UPDATE ${state.table("progress")} SET horizon = $1, run_id = $2, instant = $3, cursors = $4, costs = $5, updated_at = now()
       WHERE view = $6 AND ${UNMOVED}`,
      [
        horizon,
        runId,
        input.instant,
        printCursors(input.cursors),
        costs,
        definition.name,
        before.horizon,
        before.runId,
      ],
    );
    if (updated !== 1n) throw moved(definition.name);
    await writeRun(input, written);
    await input.log?.register();
    await state.commitMessage(session, `refresh ${definition.name} to ${horizon}`, {
      commit: commitId,
      run: runId,
      view: definition.name,
      horizon,
      strategy: input.record.strategy,
      sources: JSON.parse(input.record.sources) as unknown,
    });
    return { written, costs };
  };
  const once = (attempt: number) => {
    if (attempt > 1 && input.log?.lasts === false) throw tooOld(definition.name);
    return input.engine
      .committing(() => session.transaction(transaction))
      .catch(async (error: unknown) => {
        throw await orMoved(input, error);
      });
  };
  const { patience, signal } = session;
  // A log that is begun or caught up is read from files that may be gone by then.
  const isRepeatable = input.log === null || input.log.mode === "append";
  const codes = isRepeatable ? COMMIT_CONFLICTS : new Set<string>();
  const { written, costs } = await retryConflicts(once, async () => undefined, { patience, signal, codes });
  const progress = { view: definition.name, horizon, runId, instant: input.instant, costs };
  state.kept.noteMove(commitId, { progress, cursors: input.cursors });
  let snapshot: Promise<bigint> | undefined;
  const lookUp = (own: Session): Promise<bigint> => (snapshot ??= snapshotOf(input, own, commitId));
  return { ...written, snapshot: lookUp };
}

const UNMOVED = "horizon IS NOT DISTINCT FROM CAST($7 AS BIGINT) AND run_id IS NOT DISTINCT FROM CAST($8 AS VARCHAR)";

async function standsAsPlanned({ session, state, definition, before }: WriteInput): Promise<boolean> {
  const [progress] = await session.rows<Pick<Progress, "horizon" | "runId">>(
    `SELECT horizon, run_id AS "runId" FROM ${state.table("progress")} WHERE view = $1`,
    [definition.name],
  );
  return progress?.horizon === before.horizon && progress.runId === before.runId;
}

/** A view that another run has moved may fail in any way: what was planned for it does not fit any more. */
async function orMoved(input: WriteInput, error: unknown): Promise<unknown> {
  if (!(error instanceof IvmError) || error instanceof ConflictError || error instanceof InterruptedError) return error;
  const stands = await standsAsPlanned(input).catch(() => true);
  return stands ? error : moved(input.definition.name);
}

/** The time of a moment of `performance.now()`, as SQL. */
export function timeOf(moment: number): string {
  return `to_timestamp(${(performance.timeOrigin + moment) / 1000})`;
}

async function writeRun(input: WriteInput, written: VisibleCounts): Promise<void> {
  const { record } = input;
  await input.session.run(
    `INSERT INTO ${input.state.table("runs")}
       (run_id, view, horizon, instant, strategy, reason, sources, terms, rows_inserted, rows_deleted, elapsed_ms, from_horizon, started_at, finished_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ${timeOf(record.startedAt)}, now())`,
    [
      input.runId,
      input.definition.name,
      input.horizon,
      input.instant,
      record.strategy,
      record.reason,
      record.sources,
      record.terms,
      written.inserted,
      written.deleted,
      performance.now() - record.startedAt,
      input.before.horizon,
    ],
  );
}

/** The snapshot of our own commit, found by its id: the newest one may be another writer's. */
async function snapshotOf(input: WriteInput, session: Session, commitId: string): Promise<bigint> {
  const snapshot = await snapshotOfCommit(session, input.engine, input.horizon, commitId);
  if (snapshot === undefined) {
    throw new InternalError(
      "commit_lost",
      `View ${input.definition.name}: its commit ${commitId} is not in the lake's history.`,
      {
        subject: { view: input.definition.name },
        hint: "Run `verify`, and report this with the lake's catalog type.",
      },
    );
  }
  return snapshot;
}

export function moved(view: string): ConflictError {
  return new ConflictError("moved", `View ${view} was moved by another run in the meantime.`, {
    subject: { view },
    hint: "Run the same command again.",
  });
}

function tooOld(view: string): ConflictError {
  return new ConflictError("log_file_old", `View ${view}: what was written for its log may be swept by now.`, {
    subject: { view },
    hint: "Run the same command again.",
  });
}
