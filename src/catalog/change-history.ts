import type { Engine } from "../engine/lake.js";
import { LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";

export interface WindowChanges {
  /** What the window's snapshots did to tables, by table id: DuckLake's own change keys, maintenance included. */
  readonly byTable: ReadonlyMap<bigint, ReadonlySet<string>>;
  /** True where a snapshot of the window was expired, so that its changes are not known. */
  readonly incomplete: boolean;
  /** True where any table was created, renamed, altered or dropped, so that names may mean other tables. */
  readonly tablesChanged: boolean;
  /** The same, by a commit that refreshed no view: those make and replace only tables of the state schema. */
  readonly tablesChangedByOthers: boolean;
}

/** Who made the commits of this project, as the lake's history has it; other programs may use the same words in theirs. */
export const AUTHOR = "ducklake-ivm";

/** Change keys of a snapshot that tell of rows or of a table's form; all others only move data. */
export const DATA_KEYS: ReadonlySet<string> = new Set([
  "tables_inserted_into",
  "tables_deleted_from",
  "inlined_insert",
  "inlined_delete",
]);

interface SnapshotChanges {
  readonly id: bigint;
  /** Its commit time, as text with a time zone. */
  readonly time: string;
  readonly byTable: Map<bigint, Set<string>>;
  /** The view whose refresh made it; null for any other commit. */
  readonly view: string | null;
  /** The id that a refresh gave to its commit; null for any other commit. */
  readonly commit: string | null;
  tablesChanged: boolean;
  viewsChanged: boolean;
}

/** Change keys that only take rows away. A flush of inlined deletes, which changes nothing, says the first as well. */
export const DELETE_KEYS: ReadonlySet<string> = new Set(["tables_deleted_from", "inlined_delete"]);

/** The change history of a lake from some snapshot on, read once for all the windows of a run. */
export class ChangeHistory {
  private extending: Promise<void> = Promise.resolve();

  private constructor(
    private readonly snapshots: SnapshotChanges[],
    private readonly readFrom: bigint,
    private readUpTo: bigint,
  ) {}

  /** Reads the changes of the snapshots in `[from, to]`. */
  static async read(session: Session, from: bigint, to: bigint): Promise<ChangeHistory> {
    return new ChangeHistory(await readChanges(session, from - 1n, to), from, to);
  }

  /** The changes that come after a snapshot, of which none was read yet. */
  static after(snapshot: bigint): ChangeHistory {
    return new ChangeHistory([], snapshot + 1n, snapshot);
  }

  /** True where the changes are known from a snapshot on. */
  covers(from: bigint): boolean {
    return this.readFrom <= from;
  }

  /** What was read of `from`, which must be covered, and of what came after it, without snapshots that were expired since. */
  async since(session: Session, engine: Engine, from: bigint): Promise<ChangeHistory> {
    const rows = await session.rows<{ id: bigint }>(
      `SELECT snapshot_id AS id FROM ${engine.metadataTable("ducklake_snapshot")} WHERE snapshot_id >= ${from}`,
    );
    const existing = new Set(rows.map(({ id }) => id));
    const kept = this.snapshots.filter(({ id }) => existing.has(id));
    return new ChangeHistory(kept, from, this.readUpTo);
  }

  /** Reads on, up to a snapshot that was made since. Of calls that come together each snapshot is read by one. */
  extend(session: Session, to: bigint): Promise<void> {
    const extended = this.extending.then(async () => {
      if (to <= this.readUpTo) return;
      this.snapshots.push(...(await readChanges(session, this.readUpTo, to)));
      this.readUpTo = to;
    });
    this.extending = extended.catch(() => undefined);
    return extended;
  }

  /** True where the snapshot is among those that were read; others may exist as well. */
  knows(snapshot: bigint): boolean {
    return this.find(snapshot) !== undefined;
  }

  /** When a snapshot was committed, as `commitTime` says it; undefined where it is not among those that were read. */
  timeOf(snapshot: bigint): string | undefined {
    return this.find(snapshot)?.time;
  }

  /** The view whose refresh made a snapshot; undefined for any other commit, and where it is not known. */
  refreshedView(snapshot: bigint): string | undefined {
    return this.find(snapshot)?.view ?? undefined;
  }

  /** True where a commit after `from` that refreshed no view did more than change rows of the known tables. */
  othersTouched(from: bigint, known: ReadonlySet<bigint>): boolean {
    return this.ofOthers(from).some(
      (snapshot) =>
        snapshot.tablesChanged || snapshot.viewsChanged || changesRows(snapshot, (table) => !known.has(table)),
    );
  }

  /** True where a commit of `(from, to]` that refreshed no view did anything to the form of tables, or to views. */
  othersAltered(from: bigint, to: bigint): boolean {
    return this.ofOthers(from, to).some(({ tablesChanged, viewsChanged }) => tablesChanged || viewsChanged);
  }

  /** True where a commit of `(from, to]` that refreshed no view made, replaced or dropped views. */
  othersChangedViews(from: bigint, to: bigint): boolean {
    return this.ofOthers(from, to).some(({ viewsChanged }) => viewsChanged);
  }

  /** True where a commit after `from` that was no refresh of the view changed rows of one of the tables. */
  changedByOthers(view: string, tables: ReadonlySet<bigint>, from: bigint): boolean {
    return this.snapshots.some(
      (snapshot) => snapshot.id > from && snapshot.view !== view && changesRows(snapshot, (table) => tables.has(table)),
    );
  }

  /** The first snapshot after `from` that changed rows of one of the tables; undefined where none is known. */
  firstChange(from: bigint, tables: ReadonlySet<bigint>): bigint | undefined {
    const changes = (snapshot: SnapshotChanges): boolean => changesRows(snapshot, (table) => tables.has(table));
    return this.snapshots.find((snapshot) => snapshot.id > from && changes(snapshot))?.id;
  }

  /** The ids of the commits after `from` that changed rows of one of the tables, in order; null for one that carries none. */
  commitsTo(tables: ReadonlySet<bigint>, from: bigint): (string | null)[] {
    const changes = (snapshot: SnapshotChanges): boolean => changesRows(snapshot, (table) => tables.has(table));
    return this.snapshots.filter((snapshot) => snapshot.id > from && changes(snapshot)).map(({ commit }) => commit);
  }

  window(from: bigint, to: bigint): WindowChanges {
    const inside = this.snapshots.filter((snapshot) => snapshot.id > from && snapshot.id <= to);
    const byTable = new Map<bigint, Set<string>>();
    for (const [table, keys] of inside.flatMap((snapshot) => [...snapshot.byTable])) {
      byTable.set(table, new Set([...(byTable.get(table) ?? []), ...keys]));
    }
    return {
      byTable,
      incomplete: BigInt(inside.length) !== to - from,
      tablesChanged: inside.some((snapshot) => snapshot.tablesChanged),
      tablesChangedByOthers: inside.some((snapshot) => snapshot.tablesChanged && snapshot.view === null),
    };
  }

  private ofOthers(from: bigint, to = this.readUpTo): SnapshotChanges[] {
    return this.snapshots.filter(({ id, view }) => id > from && id <= to && view === null);
  }

  private find(snapshot: bigint): SnapshotChanges | undefined {
    return this.snapshots.find((candidate) => candidate.id === snapshot);
  }
}

/** True where rows changed in a table that is meant. */
function changesRows({ byTable }: SnapshotChanges, isMeant: (table: bigint) => boolean): boolean {
  return [...byTable].some(([table, keys]) => isMeant(table) && [...keys].some((key) => DATA_KEYS.has(key)));
}

async function readChanges(session: Session, from: bigint, to: bigint): Promise<SnapshotChanges[]> {
  const rows = await session.rows<{
    id: bigint;
    time: string;
    view: string | null;
    commit: string | null;
    key: string | null;
    tables: readonly string[] | null;
  }>(`
    SELECT snapshot_id AS id, snapshot_time::VARCHAR AS time, json_extract_string(ours, '$.view') AS view,
           json_extract_string(ours, '$.commit') AS "commit", entry.key AS key, entry.value AS tables
    FROM (
      SELECT snapshot_id, snapshot_time, CASE WHEN author = ${quoteLiteral(AUTHOR)} AND json_valid(commit_extra_info) THEN commit_extra_info END AS ours,
             unnest(CASE WHEN cardinality(changes) = 0 THEN [NULL] ELSE map_entries(changes) END) AS entry
      FROM ${quoteIdentifier(LAKE_NAME)}.snapshots()
      WHERE snapshot_id > ${from} AND snapshot_id <= ${to}
    )
    ORDER BY 1`);
  const snapshots = new Map<bigint, SnapshotChanges>();
  for (const { id, time, view, commit, key, tables } of rows) {
    const known = snapshots.get(id);
    const snapshot = known ?? { id, time, view, commit, byTable: new Map(), tablesChanged: false, viewsChanged: false };
    snapshots.set(id, snapshot);
    if (key === null) continue;
    snapshot.viewsChanged ||= /view/.test(key);
    snapshot.tablesChanged ||= !DATA_KEYS.has(key) && /table|schema/.test(key);
    for (const table of tables ?? []) {
      // Keys such as tables_created hold names; those that matter here hold ids.
      if (!/^\d+$/.test(table)) continue;
      const keys = snapshot.byTable.get(BigInt(table)) ?? new Set<string>();
      snapshot.byTable.set(BigInt(table), keys.add(key));
    }
  }
  return [...snapshots.values()];
}
