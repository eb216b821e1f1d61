/**
 * The upkeep of a whole lake, in the order that harms nobody: inlined rows are flushed before files are rewritten,
 * since a rewrite without that damages the change feed, and files are deleted only after the snapshots that read them
 * are gone.
 */
import { LAKE_NAME } from "../engine/lake.js";
import { retryConflicts } from "../engine/retry.js";
import { ConfigError, ConflictError } from "../errors.js";
import { dataPathOf, isInside, LOG_ELSEWHERE } from "../log/place.js";
import { fence } from "../log/sweep.js";
import { compact } from "../log/verbs.js";
import { quoteLiteral } from "../sql/quote.js";
import type { CompactedLog, MaintainOptions, MaintainResult, MaintainStep, RetentionResult } from "../types.js";
import { selectViews } from "./order.js";
import type { RunContext } from "./plan-run.js";
import { retentionOf } from "./retention.js";
import { runRefresh } from "./run.js";
import { standingsOf } from "./status.js";

const DEFAULT_GRACE_MS = 3_600_000;
/** Files that have lost more than this share of their rows are written anew. */
const DELETED_SHARE = 0.5;
const LAKE = quoteLiteral(LAKE_NAME);

/** @param start begins anew with the lake as it is then. */
export async function maintainLake(
  start: () => Promise<RunContext>,
  options: MaintainOptions,
): Promise<MaintainResult> {
  const steps: MaintainStep[] = [];
  const deletes = options.deletes === true;
  const graceMs = options.graceMs ?? DEFAULT_GRACE_MS;
  const run = await start();
  const { session } = run;
  /** One of DuckLake's own calls: what it touched, or null where others were in its way for as long as we wait. */
  const call = async (sql: string): Promise<unknown[] | null> => {
    try {
      return await retryConflicts(
        () => session.rows(sql),
        () => run.engine.reattach(session),
        session,
      );
    } catch (error) {
      if (error instanceof ConflictError) return null;
      throw error;
    }
  };
  const tables = async (step: MaintainStep["step"], sql: string, what: string): Promise<void> => {
    const rows = await call(sql);
    steps.push(told(step, rows === null ? "skipped" : "done", rows?.length ?? 0, what));
  };

  await tables(
    "flush",
    `CALL ducklake_flush_inlined_data(${LAKE})`,
    "tables had rows in the catalog, which are files now",
  );
  const olderThanMs = options.expireOlderThanMs ?? (await retentionOf(run)).expireOlderThanMs;
  let expired: bigint[] = [];
  if (olderThanMs === null) {
    steps.push(told("expire", "skipped", 0, "snapshots: no age is given, and the lake has no expire_older_than"));
  } else {
    const ageMs = Math.max(olderThanMs, graceMs);
    if (deletes) steps.push(await settle(start, ageMs));
    const before = await retentionOf(await start());
    expired = await expendable(run, before, ageMs);
    const isDone = deletes && expired.length > 0;
    const rows = isDone
      ? await call(`CALL ducklake_expire_snapshots(${LAKE}, versions => [${expired.join(", ")}])`)
      : [];
    const status = rows === null ? "skipped" : deletes ? "done" : "told";
    steps.push(told("expire", status, expired.length, "snapshots are old enough and needed by nothing"));
  }
  await tables("merge", `CALL ducklake_merge_adjacent_files(${LAKE})`, "tables had small files, which are merged");
  const threshold = `delete_threshold => ${DELETED_SHARE}`;
  await tables(
    "rewrite",
    `CALL ducklake_rewrite_data_files(${LAKE}, ${threshold})`,
    "tables had files of mostly deleted rows",
  );
  const unused = `older_than => now() - INTERVAL ${Math.trunc(graceMs)} MILLISECOND`;
  const cleaned = await call(`CALL ducklake_cleanup_old_files(${LAKE}, dry_run => ${!deletes}, ${unused})`);
  const cleanStatus = cleaned === null ? "skipped" : deletes ? "done" : "told";
  steps.push(told("clean_up", cleanStatus, cleaned?.length ?? 0, "files that no snapshot reads any more"));
  if (options.orphansOlderThanMs !== undefined) {
    steps.push(await removeOrphans(run, options.orphansOlderThanMs, deletes, call));
  }
  const logs = await compactLogs(run, steps);
  return { steps, expired, logs, retention: await retentionOf(await start()) };
}

/**
 * Data files that the lake knows nothing of: uncommitted ones of writers that were killed. A live writer's look the same,
 * so only their age tells; our own runs that are under way meet a conflict first, and write theirs again.
 */
async function removeOrphans(
  run: RunContext,
  ageMs: number,
  deletes: boolean,
  call: (sql: string) => Promise<unknown[] | null>,
): Promise<MaintainStep> {
  const text = "files that the lake knows nothing of";
  await requireOwnDataPath(run);
  const olderThan = `older_than => now() - INTERVAL ${Math.trunc(ageMs)} MILLISECOND`;
  const find = (dryRun: boolean) =>
    call(`CALL ducklake_delete_orphaned_files(${LAKE}, dry_run => ${dryRun}, ${olderThan})`);
  const found = await find(true);
  if (!deletes || found === null || found.length === 0) {
    return told("orphans", found === null ? "skipped" : deletes ? "done" : "told", found?.length ?? 0, text);
  }
  await fence(run.session, run.tables);
  const deleted = await find(false);
  return told("orphans", deleted === null ? "skipped" : "done", deleted?.length ?? 0, text);
}

/** @throws ConfigError `log_in_data_path`: the lake would take the change logs' files for such that nobody knows. */
async function requireOwnDataPath({ session, logs }: RunContext): Promise<void> {
  if (logs === undefined) return;
  const log = logs.store.address("");
  if (!isInside(log, await dataPathOf(session))) return;
  throw new ConfigError("log_in_data_path", `The change logs are in the lake's data path: ${log}`, {
    hint: LOG_ELSEWHERE,
  });
}

function told(step: MaintainStep["step"], status: MaintainStep["status"], count: number, text: string): MaintainStep {
  return { step, status, count, text };
}

/**
 * A view whose sources have long been quiet still has its cursors where they last changed. Moving those on is all that
 * its next refresh would do, and lets the snapshots in between go.
 */
async function settle(start: () => Promise<RunContext>, ageMs: number): Promise<MaintainStep> {
  const run = await start();
  const due = new Set((await olderThan(run, ageMs)).map(String));
  const holding = new Set(
    run.state.cursors.filter(({ snapshot }) => due.has(String(snapshot))).map(({ view }) => view),
  );
  const standings = await standingsOf(run, selectViews(run.state.views, undefined));
  const quiet = standings.filter(({ view, state }) => state === "fresh" && holding.has(view)).map(({ view }) => view);
  if (quiet.length === 0) return told("settle", "skipped", 0, "views have cursors that can be moved on");
  const settling = async (): Promise<RunContext> => ({ ...(await start()), settles: true });
  await runRefresh(settling, [run.session], { views: quiet, upstream: false });
  return told("settle", "done", quiet.length, "views had nothing to take in, and their cursors were moved on");
}

/** Snapshots older than that, without the newest. */
async function olderThan({ session, engine }: RunContext, ageMs: number): Promise<bigint[]> {
  const snapshots = engine.metadataTable("ducklake_snapshot");
  const rows = await session.rows<{ id: bigint }>(
    `SELECT snapshot_id AS id FROM ${snapshots}
     WHERE epoch_ms(CAST(snapshot_time AS TIMESTAMP WITH TIME ZONE)) < epoch_ms(now()) - ${Math.trunc(ageMs)}
       AND snapshot_id < (SELECT max(snapshot_id) FROM ${snapshots}) ORDER BY 1`,
  );
  return rows.map(({ id }) => id);
}

/** Those that are old enough and come before every snapshot that is needed: what was read from once is never a hole. */
async function expendable(run: RunContext, { needed }: RetentionResult, ageMs: number): Promise<bigint[]> {
  const old = await olderThan(run, ageMs);
  return needed === null ? old : old.filter((id) => id < needed.snapshot);
}

async function compactLogs(run: RunContext, steps: MaintainStep[]): Promise<readonly CompactedLog[]> {
  const { logs: root, session } = run;
  if (root === undefined) return [];
  try {
    const work = () => compact(session, root, {});
    const { logs } = await retryConflicts(work, () => run.engine.reattach(session), session);
    steps.push(told("logs", "done", logs.length, "change logs were compacted by their own rules, and swept"));
    return logs;
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    steps.push(told("logs", "skipped", 0, "change logs: others were at them"));
    return [];
  }
}
