import { Patience, retryConflicts } from "../engine/retry.js";
import { IvmError } from "../errors.js";
import type { Reason, ViewResult } from "../types.js";
import { timeOf } from "./commit.js";
import { OVERTAKEN } from "./overtaken.js";
import type { RunContext } from "./plan-run.js";

/** The code of a view that was left alone because one that it reads failed. */
export const UPSTREAM_FAILED = "upstream_failed";

/** The run's own patience may be what has ended. */
const PATIENCE_MS = 10_000;

/**
 * Records the views that failed, in one commit, so that the history tells of them as well. Where that fails too, the
 * run's result says so: nothing of it may hide the failures themselves.
 */
export async function recordFailures(
  run: RunContext,
  runId: string,
  results: readonly ViewResult[],
): Promise<Reason[]> {
  const overtaken = results.some(({ error }) => error?.code === OVERTAKEN);
  // A run that was overtaken goes on, and with it the views that wait for the one that it was overtaken at.
  const passing = overtaken ? [OVERTAKEN, UPSTREAM_FAILED] : [];
  const failures = results.filter(({ error }) => error !== null && !passing.includes(error.code));
  if (failures.length === 0) return [];
  const { session, tables } = run;
  const record = (): Promise<void> =>
    session.transaction(async () => {
      for (const failure of failures) await recordFailure(run, runId, failure);
      await tables.commitMessage(session, `record failures of run ${runId}`, {
        run: runId,
        failed: failures.map(({ view }) => view),
      });
    });
  try {
    await retryConflicts(record, () => run.engine.reattach(session), { patience: new Patience(PATIENCE_MS) });
    return [];
  } catch (error) {
    if (!(error instanceof IvmError)) throw error;
    return [{ code: "failure_not_recorded", text: `the failures could not be recorded in the lake: ${error.message}` }];
  }
}

async function recordFailure(run: RunContext, runId: string, failure: ViewResult): Promise<void> {
  const { session, tables, state, horizon, instant } = run;
  await session.run(
    `INSERT INTO ${tables.table("runs")}
       (run_id, view, horizon, instant, error, rows_inserted, rows_deleted, elapsed_ms, from_horizon, started_at, finished_at)
     VALUES ($1, $2, $3, $4, $5, 0, 0, $6, $7, ${timeOf(performance.now() - failure.elapsedMs)}, now())`,
    [
      runId,
      failure.view,
      horizon,
      instant,
      JSON.stringify(failure.error),
      failure.elapsedMs,
      state.progress.get(failure.view)?.horizon ?? null,
    ],
  );
}
