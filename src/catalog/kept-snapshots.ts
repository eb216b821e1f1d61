import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { isoTime } from "./snapshots.js";

/** The snapshots that a lake keeps. */
export interface KeptSnapshots {
  /** When they were committed, as ISO 8601 in UTC. */
  readonly oldestAt: string;
  readonly newestAt: string;
  /** The lake's own option for how long they are kept. */
  readonly expireOlderThan: string | null;
  /** This machine's time. */
  readonly now: string;
}

export async function keptSnapshots(session: Session, engine: Engine): Promise<KeptSnapshots> {
  // Answers of an external catalog are taken as text: aggregates over one row a snapshot.
  const kept = await session.row<Omit<KeptSnapshots, "expireOlderThan">>(`
    SELECT ${isoTime("min_by(snapshot_time, snapshot_id)")} AS "oldestAt",
      ${isoTime("max_by(snapshot_time, snapshot_id)")} AS "newestAt", ${isoTime("now()")} AS now
    FROM ${engine.metadataTable("ducklake_snapshot")}`);
  const [option] = await session.rows<{ value: string }>(
    `SELECT value FROM ${engine.metadataTable("ducklake_metadata")} WHERE key = 'expire_older_than' AND scope IS NULL`,
  );
  return { ...kept, expireOlderThan: option?.value ?? null };
}

/** When snapshots were committed, as ISO 8601 in UTC; those that were expired are left out. */
export async function timesOf(
  session: Session,
  engine: Engine,
  snapshots: readonly bigint[],
): Promise<ReadonlyMap<bigint, string>> {
  if (snapshots.length === 0) return new Map();
  const rows = await session.rows<{ id: bigint; at: string }>(
    `SELECT snapshot_id AS id, ${isoTime("max(snapshot_time)")} AS at FROM ${engine.metadataTable("ducklake_snapshot")}
     WHERE snapshot_id IN (${snapshots.join(", ")}) GROUP BY snapshot_id`,
  );
  return new Map(rows.map(({ id, at }) => [id, at]));
}
