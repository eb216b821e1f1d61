/** Tables and views as they stand under their names: for those who look whether somebody else has been at them. */
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { quoteLiteral } from "../sql/quote.js";
import { liveAt } from "./ranges.js";

/** A table or view of a schema. */
export interface StandingObject {
  readonly kind: "table" | "view";
  readonly schema: string;
  readonly name: string;
  /** The table's id; null for a view. */
  readonly id: bigint | null;
  /** The snapshot that made it as it is: for a table, the last one that changed its columns. */
  readonly since: bigint;
  /** The snapshot that created the table; that of the view for a view. */
  readonly created: bigint;
  /** The table's columns, in their order; empty for a view. */
  readonly columns: readonly string[];
}

/** What of these names stands in these schemas at a snapshot, told from the catalog alone. Names compare without case. */
export function standingObjects(
  session: Session,
  engine: Engine,
  schemas: readonly string[],
  names: readonly string[],
  snapshot: bigint,
): Promise<StandingObject[]> {
  const table = (name: string): string => engine.metadataTable(name);
  const at = (alias: string): string => liveAt(snapshot, alias);
  const among = (column: string, values: readonly string[]): string =>
    `lower(${column}) IN (${values.map((value) => `lower(${quoteLiteral(value)})`).join(", ")})`;
  return session.rows<StandingObject>(`
    SELECT 'table' AS kind, s.schema_name AS schema, t.table_name AS name, t.table_id AS id,
           max(c.begin_snapshot) AS since, t.begin_snapshot AS created,
           list(c.column_name ORDER BY c.column_order, c.column_id) AS columns
    FROM ${table("ducklake_table")} t
    JOIN ${table("ducklake_schema")} s ON s.schema_id = t.schema_id AND ${at("s")} AND ${among("s.schema_name", schemas)}
    JOIN ${table("ducklake_column")} c ON c.table_id = t.table_id AND c.parent_column IS NULL AND ${at("c")}
    WHERE ${at("t")} AND ${among("t.table_name", names)}
    GROUP BY ALL
    UNION ALL
    SELECT 'view', s.schema_name, v.view_name, NULL, v.begin_snapshot, v.begin_snapshot, []
    FROM ${table("ducklake_view")} v
    JOIN ${table("ducklake_schema")} s ON s.schema_id = v.schema_id AND ${at("s")} AND ${among("s.schema_name", schemas)}
    WHERE ${at("v")} AND ${among("v.view_name", names)}`);
}
