import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { quotePath } from "../sql/quote.js";
import type { TargetKind } from "./address.js";

/** The name that the target's database has on the connection. */
export const TARGET_NAME = "ivm_replay_target";

/** A column of the mirror: the view's, in the form that the target gives it. */
export interface MirrorColumn {
  readonly name: string;
  /** The type that the target's table has, as the target itself writes it. */
  readonly type: string;
  /** The type that the rows have on their way there. */
  readonly wire: string;
  /** SQL of DuckDB from the view's column to that type. */
  readonly write: string;
  /** The target's SQL from the way's type to the column's, given the column. */
  readonly read: (column: string) => string;
  /** The target's SQL that is equal for equal values only, given the column. */
  readonly compare: (column: string) => string;
}

/** A table in the target, found or to be made. */
export interface TargetTable {
  readonly schema: string;
  readonly table: string;
  /** Null where it does not exist. */
  readonly columns: readonly { readonly name: string; readonly type: string }[] | null;
}

/** What kinds of databases do in ways of their own. `run`, `change` and `rows` take the target's own SQL. */
export interface Target {
  readonly kind: TargetKind;
  /** Written after the columns of a table that has a key. */
  readonly primaryKey: (column: string) => string;
  readonly find: (schema: string | null, table: string) => Promise<TargetTable>;
  /** How the target keeps columns of these names and types. @throws ConfigError `replay_type`, `replay_name`. */
  readonly mirror: (columns: readonly { readonly name: string; readonly type: string }[]) => Promise<MirrorColumn[]>;
  readonly path: (schema: string, table: string) => string;
  readonly run: (sql: string) => Promise<void>;
  /** Runs INSERT, UPDATE or DELETE and answers how many rows it touched. */
  readonly change: (sql: string) => Promise<bigint>;
  readonly rows: <Row>(sql: string) => Promise<Row[]>;
  /** Keeps a query's rows until the transaction ends, and answers how SQL names them. */
  readonly keep: (name: string, sql: string) => Promise<string>;
  /** Brings rows of a query of DuckDB to the target, and answers how its SQL names them. */
  readonly stage: (
    schema: string,
    columns: readonly { readonly name: string; readonly wire: string }[],
    select: string,
  ) => Promise<string>;
  /** Removes what `stage` made. */
  readonly unstage: (schema: string) => Promise<void>;
  /** What is to be done for a table that many small changes are written to; before and after its transaction. */
  readonly settle: (schema: string, table: string) => Promise<void>;
  /** What makes a new table quick to find keys in. */
  readonly index: (path: string, key: readonly string[]) => Promise<void>;
}

export function targetPath(schema: string, table: string): string {
  return quotePath([TARGET_NAME, schema, table]);
}

/** The schema and the table by their exact names, or else by names that differ in case only. */
export async function findNames(
  session: Session,
  schema: string,
  table: string,
): Promise<{ readonly schema: string; readonly table: string | undefined }> {
  const schemas = await session.rows<{ name: string }>(
    "SELECT schema_name AS name FROM duckdb_schemas() WHERE database_name = $1",
    [TARGET_NAME],
  );
  const found = named(schemas, schema);
  if (found === undefined) {
    throw new ConfigError("replay_schema", `The target has no schema ${schema}.`, {
      hint: "Create it there first.",
    });
  }
  const tables = await session.rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE database_name = $1 AND schema_name = $2
     UNION ALL SELECT view_name FROM duckdb_views() WHERE database_name = $1 AND schema_name = $2`,
    [TARGET_NAME, found],
  );
  return { schema: found, table: named(tables, table) };
}

function named(rows: readonly { readonly name: string }[], wanted: string): string | undefined {
  const exact = rows.find(({ name }) => name === wanted);
  return (exact ?? rows.find(({ name }) => name.toLowerCase() === wanted.toLowerCase()))?.name;
}
