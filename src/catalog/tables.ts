import { type Engine, LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { quoteLiteral, quotePath } from "../sql/quote.js";
import { liveAt } from "./ranges.js";

/** A physical table of the lake. */
export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** A table of the lake at a snapshot, as it stands in FROM. */
export function tableAtVersion(table: TableName, version: bigint): string {
  return `${quotePath([LAKE_NAME, table.schema, table.table])} AT (VERSION => ${version})`;
}

/** Number of rows of a table at both ends of a window; DuckLake opens all its files to tell. */
export function countsAt(
  session: Session,
  table: TableName,
  from: bigint,
  to: bigint,
): Promise<{ before: bigint; after: bigint }> {
  const [before, after] = [tableAtVersion(table, from), tableAtVersion(table, to)];
  return session.remember(`counts of ${before} and ${after}`, () =>
    session.row(`SELECT (SELECT count(*) FROM ${before}) AS before, (SELECT count(*) FROM ${after}) AS after`),
  );
}

/** A table of the lake at one snapshot. */
export interface TableVersion {
  readonly schema: string;
  readonly table: string;
  readonly id: bigint;
  readonly uuid: string;
  readonly columns: readonly ColumnVersion[];
}

/** A column's identity: one that is dropped and added again has another id. */
export interface ColumnVersion {
  readonly name: string;
  readonly id: bigint;
  /** DuckLake's name for the type, fields of nested types included. */
  readonly type: string;
  /** The snapshot since which the catalog has had the column just so. */
  readonly since: bigint;
}

/** The table of that name at a snapshot; undefined where there was none. Names compare without case. */
export function tableAt(
  session: Session,
  engine: Engine,
  name: TableName,
  snapshot: bigint,
): Promise<TableVersion | undefined> {
  return session.remember(`form of ${tableAtVersion(name, snapshot)}`, async () => {
    const forms = await readForms(session, engine, name, [snapshot]);
    return forms.get(snapshot);
  });
}

/**
 * The ids of the tables of a schema that stand now and have these names, which are compared as they are. Asked of the
 * catalog's own tables: DuckDB's list of tables loads every table of the lake.
 */
export async function currentTableIds(
  session: Session,
  engine: Engine,
  schema: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await session.rows<{ name: string; id: bigint }>(
    `SELECT t.table_name AS name, t.table_id AS id FROM ${engine.metadataTable("ducklake_table")} t
     JOIN ${engine.metadataTable("ducklake_schema")} s ON s.schema_id = t.schema_id
     WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND s.schema_name = ${quoteLiteral(schema)}
       AND t.table_name IN (${names.map(quoteLiteral).join(", ")})`,
  );
  return new Map(rows.map(({ name, id }) => [name, id]));
}

/** The table of that name at both ends of a window. */
export function tableAtEnds(
  session: Session,
  engine: Engine,
  name: TableName,
  from: bigint,
  to: bigint,
): Promise<{ before: TableVersion | undefined; after: TableVersion | undefined }> {
  return session.remember(`forms of ${tableAtVersion(name, from)} and ${to}`, async () => {
    const forms = await readForms(session, engine, name, [from, to]);
    return { before: forms.get(from), after: forms.get(to) };
  });
}

interface FormRow {
  readonly version: bigint;
  readonly schema: string;
  readonly table: string;
  readonly id: bigint;
  readonly uuid: string;
  readonly column_id: bigint;
  readonly parent: bigint | null;
  readonly column: string;
  readonly type: string;
  readonly since: bigint;
}

/** The table of that name at each of the snapshots that has one. */
async function readForms(
  session: Session,
  engine: Engine,
  name: TableName,
  snapshots: readonly bigint[],
): Promise<ReadonlyMap<bigint, TableVersion>> {
  const at = (alias: string): string => liveAt("version", alias);
  const rows = await session.rows<FormRow>(`
    SELECT CAST(version AS BIGINT) AS version, s.schema_name AS schema, t.table_name AS table, t.table_id AS id, t.table_uuid::VARCHAR AS uuid,
           c.column_id AS column_id, c.parent_column AS parent, c.column_name AS column, c.column_type AS type, c.begin_snapshot AS since
    FROM (VALUES ${snapshots.map((snapshot) => `(${snapshot})`).join(", ")}) AS wanted(version)
    JOIN ${engine.metadataTable("ducklake_table")} t
      ON lower(t.table_name) = lower(${quoteLiteral(name.table)}) AND ${at("t")}
    JOIN ${engine.metadataTable("ducklake_schema")} s ON s.schema_id = t.schema_id AND ${at("s")}
      AND lower(s.schema_name) = lower(${quoteLiteral(name.schema)})
    JOIN ${engine.metadataTable("ducklake_column")} c ON c.table_id = t.table_id AND ${at("c")}
    ORDER BY c.column_order, c.column_id`);
  const forms = new Map<bigint, TableVersion>();
  for (const snapshot of snapshots) {
    const form = formOf(rows.filter(({ version }) => version === snapshot));
    if (form !== undefined) forms.set(snapshot, form);
  }
  return forms;
}

function formOf(rows: readonly FormRow[]): TableVersion | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const nested = (parent: bigint): string =>
    rows
      .filter((row) => row.parent === parent)
      .map((row) => `${row.column} ${row.type}#${row.column_id}${nested(row.column_id)}`)
      .join(", ");
  const columns = rows
    .filter((row) => row.parent === null)
    .map((row) => {
      const fields = nested(row.column_id);
      const type = fields === "" ? row.type : `${row.type}(${fields})`;
      return { name: row.column, id: row.column_id, type, since: row.since };
    });
  return { schema: first.schema, table: first.table, id: first.id, uuid: first.uuid, columns };
}

/** Everything that a definition may name: the lake's tables with their columns, and its plain views. */
export interface LakeObjects {
  table(schema: string, name: string): LakeTable | undefined;
  view(schema: string, name: string): LakeView | undefined;
  hasSchema(name: string): boolean;
  readonly names: readonly string[];
}

interface LakeTable {
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

interface LakeView {
  readonly schema: string;
  readonly view: string;
  /** The query, without CREATE VIEW. */
  readonly sql: string;
  /** The view's own column names as a quoted list; empty where it takes those of the query. */
  readonly aliases: string;
}

/** Reads the lake's tables, columns and views as they are now. */
export async function readLakeObjects(session: Session, engine: Engine): Promise<LakeObjects> {
  const lake = quoteLiteral(LAKE_NAME);
  const columns = await session.rows<{ schema: string; table: string; name: string; type: string }>(`
    SELECT c.schema_name AS schema, c.table_name AS table, c.column_name AS name, c.data_type AS type
    FROM duckdb_columns() c JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
    WHERE database_name = ${lake} ORDER BY c.column_index`);
  const views = await session.rows<LakeView>(`
    SELECT s.schema_name AS schema, v.view_name AS view, v.sql AS sql, coalesce(v.column_aliases, '') AS aliases
    FROM ${engine.metadataTable("ducklake_view")} v
    JOIN ${engine.metadataTable("ducklake_schema")} s ON s.schema_id = v.schema_id AND s.end_snapshot IS NULL
    WHERE v.end_snapshot IS NULL`);
  const schemas = await session.rows<{ name: string }>(
    `SELECT schema_name AS name FROM duckdb_schemas() WHERE database_name = ${lake}`,
  );
  const key = (schema: string, name: string): string => JSON.stringify([schema.toLowerCase(), name.toLowerCase()]);
  const tables = new Map<string, LakeTable & { columns: { name: string; type: string }[] }>();
  for (const column of columns) {
    const id = key(column.schema, column.table);
    const table = tables.get(id) ?? { schema: column.schema, table: column.table, columns: [] };
    table.columns.push({ name: column.name, type: column.type });
    tables.set(id, table);
  }
  const viewMap = new Map(views.map((view) => [key(view.schema, view.view), view]));
  const schemaSet = new Set(schemas.map((schema) => schema.name.toLowerCase()));
  return {
    table: (schema, name) => tables.get(key(schema, name)),
    view: (schema, name) => viewMap.get(key(schema, name)),
    hasSchema: (name) => schemaSet.has(name.toLowerCase()),
    names: [...tables.values()].map((table) => `${table.schema}.${table.table}`),
  };
}
