/**
 * Tells a catalog that was restored from a backup, or replaced by another file, from one that only went on. After it
 * snapshot ids are used again for other commits, so that nothing may be kept that was known of one: neither by this
 * project nor by DuckLake's extension, which keeps tables and their statistics by numbers that are used again as well.
 */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { quoteLiteral } from "../sql/quote.js";
import { catalogFile, noLake } from "./catalog-copy.js";
import type { Session } from "./session.js";

/** Where a catalog stood when it was last looked at. */
export interface CatalogMark {
  readonly snapshot: bigint;
  /** When the snapshot was committed, in microseconds: no other commit of the same id has the same time. */
  readonly time: bigint;
  /** The file, told by what it is and not by its name; undefined where the catalog is none of this machine's. */
  readonly file: { readonly path: string; readonly identity: string } | undefined;
}

export interface MarkedCatalog {
  /** As ATTACH takes it. */
  readonly catalog: string;
  /** The name under which the lake is attached. */
  readonly lake: string;
  /** The catalog's table of snapshots, quoted. */
  readonly snapshots: string;
}

/** The mark of a catalog that was attached just now. */
export async function firstMark(session: Session, catalog: MarkedCatalog): Promise<CatalogMark> {
  const { id } = await session.row<{ id: bigint }>(
    `SELECT id FROM ducklake_current_snapshot(${quoteLiteral(catalog.lake)})`,
  );
  const [newest] = await snapshotsFrom(session, catalog, id);
  return { snapshot: id, time: newest?.time ?? 0n, file: await markedFile(catalog) };
}

/**
 * The mark of a catalog that goes on from another mark; `replaced` where its file is another one, and `restored` where
 * the snapshot of that mark is gone or is another commit. One that was expired since is taken for restored too.
 * @throws LakeError `catalog_unreachable` where the file is gone: its process alone would go on with it.
 */
export async function nextMark(
  session: Session,
  catalog: MarkedCatalog,
  before: CatalogMark,
): Promise<CatalogMark | "replaced" | "restored"> {
  const { file } = before;
  if (file !== undefined) {
    const identity = await identityOf(file.path);
    if (identity === undefined) throw noLake(`there is no catalog file ${file.path} any more`, { file: file.path });
    if (identity !== file.identity) return "replaced";
  }
  const snapshots = await snapshotsFrom(session, catalog, before.snapshot);
  if (snapshots[0]?.id !== before.snapshot || snapshots[0].time !== before.time) return "restored";
  const newest = snapshots.at(-1) ?? snapshots[0];
  return { snapshot: newest.id, time: newest.time, file };
}

/** In their order. Read with a bound, since the extension for PostgreSQL fetches all rows that none excludes. */
function snapshotsFrom(
  session: Session,
  { snapshots }: MarkedCatalog,
  from: bigint,
): Promise<{ id: bigint; time: bigint }[]> {
  return session.rows(
    `SELECT snapshot_id AS id, epoch_us(CAST(snapshot_time AS TIMESTAMP WITH TIME ZONE)) AS time
     FROM ${snapshots} WHERE snapshot_id >= ${from} ORDER BY snapshot_id`,
  );
}

async function markedFile({ catalog }: MarkedCatalog): Promise<CatalogMark["file"]> {
  const file = catalogFile(catalog);
  if (file === undefined) return undefined;
  const path = resolve(file);
  const identity = await identityOf(path);
  return identity === undefined ? undefined : { path, identity };
}

function identityOf(file: string): Promise<string | undefined> {
  return stat(file, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined,
  );
}
