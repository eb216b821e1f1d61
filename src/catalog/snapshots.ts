import type { Engine } from "../engine/lake.js";
import { LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { LakeError } from "../errors.js";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";
import { DATA_KEYS } from "./change-history.js";

/** The newest snapshot as this connection sees it. */
export async function currentSnapshot(session: Session): Promise<bigint> {
  const row = await session.row<{ id: bigint }>(`SELECT id FROM ducklake_current_snapshot(${quoteLiteral(LAKE_NAME)})`);
  return row.id;
}

/** @throws LakeError `snapshot_missing` where the snapshot was expired or never existed. */
export async function requireSnapshot(session: Session, engine: Engine, snapshot: bigint): Promise<void> {
  if ((await existingSnapshots(session, engine, [snapshot])).has(snapshot)) return;
  throw new LakeError("snapshot_missing", `The lake has no snapshot ${snapshot}.`, {
    subject: { snapshot },
    hint: "It was expired or never existed; `FROM ducklake_snapshots('<lake>')` lists those that are kept.",
  });
}

/** @throws LakeError `snapshot_missing` for a snapshot that the lake has not come to yet; an expired one will do. */
export async function requireReached(session: Session, snapshot: bigint): Promise<void> {
  const newest = await currentSnapshot(session);
  if (snapshot <= newest) return;
  throw new LakeError("snapshot_missing", `The lake has no snapshot ${snapshot}; its newest is ${newest}.`, {
    subject: { snapshot },
    hint: "Name one that exists; a command that takes none goes up to the newest.",
  });
}

/** When a snapshot was committed, as text with its time zone. */
export async function commitTime(session: Session, engine: Engine, snapshot: bigint): Promise<string> {
  const row = await session.row<{ time: string }>(
    `SELECT max(snapshot_time)::VARCHAR AS time FROM ${engine.metadataTable("ducklake_snapshot")} WHERE snapshot_id = ${snapshot}`,
  );
  return row.time;
}

/** How long ago snapshots were committed, in milliseconds, by this machine's clock; those that are kept. */
export async function agesOf(
  session: Session,
  engine: Engine,
  snapshots: readonly bigint[],
): Promise<ReadonlyMap<bigint, number>> {
  if (snapshots.length === 0) return new Map();
  const rows = await session.rows<{ id: bigint; age: bigint }>(
    `SELECT snapshot_id AS id, greatest(epoch_ms(now()) - max(epoch_ms(CAST(snapshot_time AS TIMESTAMP WITH TIME ZONE))), 0) AS age
     FROM ${engine.metadataTable("ducklake_snapshot")} WHERE snapshot_id IN (${snapshots.join(", ")}) GROUP BY snapshot_id`,
  );
  return new Map(rows.map((row) => [row.id, Number(row.age)]));
}

/** The newest snapshots in which rows of tables changed, and their times as ISO 8601, by table id. */
export async function newestChanges(
  session: Session,
  tables: readonly bigint[],
): Promise<ReadonlyMap<bigint, { readonly snapshot: bigint; readonly at: string }>> {
  if (tables.length === 0) return new Map();
  const lists = [...DATA_KEYS].map((key) => `changes[${quoteLiteral(key)}]`);
  const rows = await session.rows<{ table: string; snapshot: bigint; at: string }>(`
    SELECT "table", max(snapshot_id) AS snapshot, ${isoTime("max(snapshot_time)")} AS at
    FROM (
      SELECT snapshot_id, snapshot_time, unnest(flatten([${lists.join(", ")}])) AS "table"
      FROM ${quoteIdentifier(LAKE_NAME)}.snapshots()
    )
    WHERE "table" IN (${tables.map((table) => quoteLiteral(String(table))).join(", ")})
    GROUP BY "table"`);
  return new Map(rows.map(({ table, snapshot, at }) => [BigInt(table), { snapshot, at }]));
}

/** The newest snapshots up to one in which rows of a table changed, each with the one before it and its time. */
export function changesOfTable(
  session: Session,
  tableId: bigint,
  upTo: bigint,
  limit: number,
): Promise<{ snapshot: bigint; before: bigint; at: string }[]> {
  const lists = [...DATA_KEYS].map((key) => `changes[${quoteLiteral(key)}]`);
  return session.rows(`
    SELECT snapshot, before, "at" FROM (
      SELECT snapshot_id AS snapshot, lag(snapshot_id) OVER (ORDER BY snapshot_id) AS before,
        ${isoTime("snapshot_time")} AS "at", flatten([${lists.join(", ")}]) AS tables
      FROM ${quoteIdentifier(LAKE_NAME)}.snapshots()
    )
    WHERE list_contains(tables, ${quoteLiteral(String(tableId))}) AND before IS NOT NULL AND snapshot <= ${upTo}
    ORDER BY snapshot DESC LIMIT ${limit}`);
}

/**
 * A time as ISO 8601 in UTC, whatever time zone the connection is in: a TIMESTAMP WITH TIME ZONE, or the text that a
 * SQLite catalog has for one.
 */
export function isoTime(expression: string): string {
  return `strftime(make_timestamp(epoch_us(CAST(${expression} AS TIMESTAMP WITH TIME ZONE))), '%Y-%m-%dT%H:%M:%S.%gZ')`;
}

/** Those of the snapshots that the catalog still has. */
export async function existingSnapshots(
  session: Session,
  engine: Engine,
  snapshots: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  if (snapshots.length === 0) return new Set();
  const rows = await session.rows<{ id: bigint }>(
    `SELECT DISTINCT snapshot_id AS id FROM ${engine.metadataTable("ducklake_snapshot")} WHERE snapshot_id IN (${snapshots.join(", ")})`,
  );
  return new Set(rows.map((row) => row.id));
}

/**
 * The snapshot after `from` whose commit carries an id in its `extra_info`; undefined where there is none. The newest
 * snapshot may be another writer's.
 */
export async function snapshotOfCommit(
  session: Session,
  engine: Engine,
  from: bigint,
  commitId: string,
): Promise<bigint | undefined> {
  const [row] = await session.rows<{ id: bigint }>(
    `SELECT snapshot_id AS id FROM ${engine.metadataTable("ducklake_snapshot_changes")}
     WHERE snapshot_id > ${from} AND contains(commit_extra_info, ${quoteLiteral(commitId)})`,
  );
  return row?.id;
}
