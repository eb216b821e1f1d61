/** Which snapshots of the lake are needed, by whom, and how long they will last. */
import { agesOf, existingSnapshots } from "../catalog/snapshots.js";
import { sourceOfLog } from "../log/names.js";
import { consumerStatus } from "../log/verbs.js";
import type { Reason, RetentionResult, SnapshotNeed } from "../types.js";
import type { RunContext } from "./plan-run.js";

/** Where less than this share of the setting is left, the needed snapshot is said to expire soon. */
const SOON = 0.25;

/** The lake's retention as it is now. */
export async function retentionOf(run: RunContext): Promise<RetentionResult> {
  const { session, engine } = run;
  const kept = await session.row<{ n: bigint; oldest: bigint; newest: bigint }>(
    `SELECT count(*) AS n, min(snapshot_id) AS oldest, max(snapshot_id) AS newest FROM ${engine.metadataTable("ducklake_snapshot")}`,
  );
  const needs = await needsOf(run);
  const oldest = needs.find((need) => need.exists)?.snapshot;
  const age = oldest === undefined ? undefined : (await agesOf(session, engine, [oldest])).get(oldest);
  const needed = oldest === undefined ? null : { snapshot: oldest, ageMs: age ?? 0 };
  const expireOlderThanMs = await expirySetting(run);
  const lastsMs = needed === null || expireOlderThanMs === null ? null : expireOlderThanMs - needed.ageMs;
  const consumers = run.logs === undefined ? [] : await consumerStatus(session, run.logs);
  return {
    snapshots: kept.n,
    oldest: kept.oldest,
    newest: kept.newest,
    needed,
    needs,
    consumers: consumers.map(({ name, view, position, held }) => ({ name, view, position, held })),
    expireOlderThanMs,
    lastsMs,
    warnings: warningsOf(needs, needed, expireOlderThanMs, lastsMs),
  };
}

/** Every cursor, and the ends of the logs of base tables, which go on from there. */
async function needsOf(run: RunContext): Promise<SnapshotNeed[]> {
  const cursors = run.state.cursors.map(({ view, source, snapshot }) => ({
    kind: "view" as const,
    name: view,
    source,
    snapshot,
  }));
  const logs = [...run.logStates.values()].flatMap(({ log, end }) => {
    const source = sourceOfLog(log);
    return source === undefined ? [] : [{ kind: "log" as const, name: source, source: null, snapshot: end }];
  });
  const needs = [...cursors, ...logs].sort(
    (one, other) => Number(one.snapshot - other.snapshot) || nameOfNeed(one).localeCompare(nameOfNeed(other), "en"),
  );
  const ids = [...new Set(needs.map(({ snapshot }) => snapshot))];
  const existing = await existingSnapshots(run.session, run.engine, ids);
  return needs.map((need) => ({ ...need, exists: existing.has(need.snapshot) }));
}

/** The lake's option, in milliseconds; the one of the whole lake, since snapshots belong to no schema. */
async function expirySetting({ session, engine }: RunContext): Promise<number | null> {
  const [row] = await session.rows<{ ms: bigint | null }>(
    `SELECT CAST(epoch(TRY_CAST(value AS INTERVAL)) * 1000 AS BIGINT) AS ms
     FROM ${engine.metadataTable("ducklake_metadata")} WHERE key = 'expire_older_than' AND scope IS NULL`,
  );
  return row?.ms === undefined || row.ms === null ? null : Number(row.ms);
}

function warningsOf(
  needs: readonly SnapshotNeed[],
  needed: RetentionResult["needed"],
  setting: number | null,
  lastsMs: number | null,
): Reason[] {
  const who = (need: SnapshotNeed): string =>
    need.kind === "log" ? `the log of ${need.name}` : `view ${need.name} (${need.source})`;
  const lost = needs
    .filter((need) => !need.exists)
    .map((need) => ({
      code: "snapshot_lost",
      text: `snapshot ${need.snapshot}, which ${who(need)} reads from, was expired; the next refresh goes the long way`,
    }));
  if (needed === null || setting === null || lastsMs === null || lastsMs > setting * SOON) return lost;
  const holders = needs.filter(({ snapshot }) => snapshot === needed.snapshot).map(who);
  const when = lastsMs <= 0 ? "at the next CHECKPOINT" : `in ${Math.ceil(lastsMs / 60_000)} minutes`;
  const text = `snapshot ${needed.snapshot}, needed by ${holders.join(", ")}, expires ${when} by the lake's expire_older_than`;
  return [...lost, { code: "snapshot_expires", text: `${text}; refresh before, or raise the setting` }];
}

/** For an order that does not depend on the engine's. */
function nameOfNeed({ kind, name, source }: Omit<SnapshotNeed, "exists">): string {
  return [kind, name, source].join(" ");
}
