import { randomUUID } from "node:crypto";
import { type DuckDBDecimalType, type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { jsonOf } from "../engine/json.js";
import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../sql/quote.js";
import { type MirrorColumn, TARGET_NAME, type Target, type TargetTable, targetPath } from "./target.js";

/** PostgreSQL cuts longer names, in bytes. */
const LONGEST_NAME = 63;

/**
 * A PostgreSQL database. Rows go into a table of their own through COPY, and everything else is SQL that PostgreSQL
 * runs itself, in the same transaction.
 */
export function postgresTarget(session: Session): Target {
  const stage = `_ducklake_ivm_${randomUUID().replaceAll("-", "")}`;
  const run = (sql: string): Promise<void> =>
    session.run(`CALL postgres_execute(${quoteLiteral(TARGET_NAME)}, ${quoteLiteral(sql)})`);
  const rows = <Row>(sql: string): Promise<Row[]> =>
    session.rows<Row>(`FROM postgres_query(${quoteLiteral(TARGET_NAME)}, ${quoteLiteral(sql)})`);
  return {
    kind: "postgres",
    primaryKey: (column) => `, PRIMARY KEY (${column})`,
    find: (schema, table) => find(rows, schema ?? "public", table),
    mirror: (columns) => mirror(session, columns),
    path: (schema, table) => quotePath([schema, table]),
    run,
    change: async (sql) => {
      await run(`DO ${quoteLiteral(counting(sql))}`);
      const [row] = await rows<{ n: bigint }>("SELECT CAST(current_setting('ducklake_ivm.count') AS bigint) AS n");
      return row?.n ?? 0n;
    },
    rows,
    keep: async (name, sql) => {
      await run(`CREATE TEMPORARY TABLE ${quoteIdentifier(name)} ON COMMIT DROP AS ${sql}`);
      return quotePath(["pg_temp", name]);
    },
    stage: async (schema, columns, select) => {
      const list = columns.map(({ name, wire }) => `${quoteIdentifier(name)} ${wire}`);
      await session.run(`CREATE TABLE ${targetPath(schema, stage)} (${list.join(", ")})`);
      await session.run(`INSERT INTO ${targetPath(schema, stage)} ${select}`);
      const path = quotePath([schema, stage]);
      // Without it the plans for what follows would be those for a few rows.
      await run(`ANALYZE ${path}`);
      return path;
    },
    unstage: (schema) => run(`DROP TABLE ${quotePath([schema, stage])}`),
    settle: () => Promise.resolve(),
    index: (path, key) => run(`CREATE INDEX ON ${path} (${key.map(quoteIdentifier).join(", ")})`),
  };
}

/** A block that leaves how many rows a statement touched in a setting of the transaction. */
function counting(sql: string): string {
  return `#variable_conflict use_column
DECLARE
  ducklake_ivm_touched bigint;
BEGIN
  ${sql};
  GET DIAGNOSTICS ducklake_ivm_touched = ROW_COUNT;
  PERFORM set_config('ducklake_ivm.count', CAST(ducklake_ivm_touched AS text), true);
END`;
}

async function find(
  rows: <Row>(sql: string) => Promise<Row[]>,
  wantedSchema: string,
  wantedTable: string,
): Promise<TargetTable> {
  for (const name of [wantedSchema, wantedTable]) checkName(name);
  const schemas = await rows<{ name: string }>(
    `SELECT nspname AS name FROM pg_namespace WHERE nspname = ${text(wantedSchema)}`,
  );
  if (schemas.length === 0) {
    throw new ConfigError("replay_schema", `The target has no schema ${wantedSchema}.`, {
      hint: "Create it there first; PostgreSQL tells apart letters' case.",
    });
  }
  // Without a length the two are one type.
  const columns = await rows<{ name: string; type: string }>(
    `SELECT a.attname AS name,
       replace(format_type(a.atttypid, a.atttypmod), 'character varying', CASE a.atttypmod WHEN -1 THEN 'text' ELSE 'varchar' END) AS type
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = ${text(wantedSchema)} AND c.relname = ${text(wantedTable)} AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY a.attnum`,
  );
  return { schema: wantedSchema, table: wantedTable, columns: columns.length === 0 ? null : columns };
}

/** Backslashes mean nothing in a text of PostgreSQL's standard form. */
function text(value: string): string {
  return quoteLiteral(value);
}

function checkName(name: string): void {
  if (Buffer.byteLength(name, "utf8") <= LONGEST_NAME) return;
  throw new ConfigError("replay_name", `PostgreSQL cuts names of more than ${LONGEST_NAME} bytes: ${name}`, {
    hint: "Give it a shorter one.",
  });
}

async function mirror(
  session: Session,
  columns: readonly { readonly name: string; readonly type: string }[],
): Promise<MirrorColumn[]> {
  const mirrored: MirrorColumn[] = [];
  for (const { name, type } of columns) {
    checkName(name);
    const form = formOf(await session.typeOf(`CAST(NULL AS ${type})`));
    if (form === undefined) {
      throw new ConfigError("replay_type", `PostgreSQL has no type for the column ${name}, which is ${type}.`, {
        subject: { column: name },
        hint: "Cast it in the view's definition, for example to VARCHAR.",
      });
    }
    const column = quoteIdentifier(name);
    const json = form.json === undefined ? undefined : `CAST(${form.json(column)} AS VARCHAR)`;
    mirrored.push({
      name,
      type: form.type,
      wire: form.wire,
      write: json ?? `CAST(${column} AS ${form.wire})`,
      read: (value) => (form.json === undefined ? value : `CAST(${value} AS jsonb)`),
      // Intervals compare by their length, in which a month has thirty days.
      compare: (value) => (form.type === "interval" ? `CAST(${value} AS text)` : value),
    });
  }
  return mirrored;
}

interface Form {
  /** As PostgreSQL's `format_type` writes it. */
  readonly type: string;
  /** The DuckDB type that the rows are sent in. */
  readonly wire: string;
  /** Set where they are sent as the text of JSON. */
  readonly json?: (column: string) => string;
}

const FORMS: ReadonlyMap<DuckDBTypeId, Form> = new Map<DuckDBTypeId, Form>([
  [DuckDBTypeId.BOOLEAN, { type: "boolean", wire: "BOOLEAN" }],
  [DuckDBTypeId.TINYINT, { type: "smallint", wire: "SMALLINT" }],
  [DuckDBTypeId.UTINYINT, { type: "smallint", wire: "SMALLINT" }],
  [DuckDBTypeId.SMALLINT, { type: "smallint", wire: "SMALLINT" }],
  [DuckDBTypeId.USMALLINT, { type: "integer", wire: "INTEGER" }],
  [DuckDBTypeId.INTEGER, { type: "integer", wire: "INTEGER" }],
  [DuckDBTypeId.UINTEGER, { type: "bigint", wire: "BIGINT" }],
  [DuckDBTypeId.BIGINT, { type: "bigint", wire: "BIGINT" }],
  [DuckDBTypeId.UBIGINT, { type: "numeric(20,0)", wire: "DECIMAL(20,0)" }],
  [DuckDBTypeId.HUGEINT, { type: "numeric(38,0)", wire: "DECIMAL(38,0)" }],
  [DuckDBTypeId.UHUGEINT, { type: "text", wire: "VARCHAR" }],
  [DuckDBTypeId.BIGNUM, { type: "text", wire: "VARCHAR" }],
  [DuckDBTypeId.FLOAT, { type: "real", wire: "FLOAT" }],
  [DuckDBTypeId.DOUBLE, { type: "double precision", wire: "DOUBLE" }],
  [DuckDBTypeId.VARCHAR, { type: "text", wire: "VARCHAR" }],
  [DuckDBTypeId.ENUM, { type: "text", wire: "VARCHAR" }],
  [DuckDBTypeId.BIT, { type: "text", wire: "VARCHAR" }],
  [DuckDBTypeId.BLOB, { type: "bytea", wire: "BLOB" }],
  [DuckDBTypeId.UUID, { type: "uuid", wire: "UUID" }],
  [DuckDBTypeId.DATE, { type: "date", wire: "DATE" }],
  [DuckDBTypeId.TIME, { type: "time without time zone", wire: "TIME" }],
  // PostgreSQL has microseconds only.
  [DuckDBTypeId.TIME_NS, { type: "text", wire: "VARCHAR" }],
  [DuckDBTypeId.TIME_TZ, { type: "time with time zone", wire: "TIMETZ" }],
  [DuckDBTypeId.TIMESTAMP_S, { type: "timestamp without time zone", wire: "TIMESTAMP" }],
  [DuckDBTypeId.TIMESTAMP_MS, { type: "timestamp without time zone", wire: "TIMESTAMP" }],
  [DuckDBTypeId.TIMESTAMP, { type: "timestamp without time zone", wire: "TIMESTAMP" }],
  [DuckDBTypeId.TIMESTAMP_NS, { type: "text", wire: "VARCHAR" }],
  [DuckDBTypeId.TIMESTAMP_TZ, { type: "timestamp with time zone", wire: "TIMESTAMPTZ" }],
  [DuckDBTypeId.INTERVAL, { type: "interval", wire: "INTERVAL" }],
]);

const NESTED: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.LIST,
  DuckDBTypeId.ARRAY,
  DuckDBTypeId.STRUCT,
  DuckDBTypeId.MAP,
  DuckDBTypeId.UNION,
]);

/** Undefined for a type that PostgreSQL has nothing for. */
function formOf(type: DuckDBType): Form | undefined {
  const json = { type: "jsonb", wire: "VARCHAR" };
  if (type.alias === "JSON") return { ...json, json: (column) => column };
  if (NESTED.has(type.typeId))
    return { ...json, json: (column) => `CASE WHEN ${column} IS NOT NULL THEN to_json(${jsonOf(column, type)}) END` };
  if (type.typeId === DuckDBTypeId.DECIMAL) {
    const { width, scale } = type as DuckDBDecimalType;
    return { type: `numeric(${width},${scale})`, wire: `DECIMAL(${width},${scale})` };
  }
  return FORMS.get(type.typeId);
}
