/** Conditions over the snapshots that rows of the catalog's own tables have. A version is a snapshot or a column's name. */

/** True for what is there at a version. @param alias of the catalog's table, where several are joined. */
export function liveAt(version: bigint | string, alias?: string): string {
  const of = alias === undefined ? "" : `${alias}.`;
  return `${of}begin_snapshot <= ${version} AND (${of}end_snapshot IS NULL OR ${of}end_snapshot > ${version})`;
}

/** True for a snapshot within a window, whose own beginning is none of it. */
export function within(column: string, from: bigint | string, to: bigint | string): string {
  return `${column} > ${from} AND ${column} <= ${to}`;
}
