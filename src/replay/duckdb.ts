import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, typedNulls } from "../sql/quote.js";
import { storageTypes } from "../view/storage-types.js";
import { findNames, type MirrorColumn, TARGET_NAME, type Target, targetPath } from "./target.js";

const STAGE = "ivm_replay_rows";

/** A DuckDB file, or another lake: the same SQL, and rows that never leave the process. */
export function duckdbTarget(session: Session, kind: "duckdb" | "ducklake"): Target {
  const keep = async (name: string, sql: string): Promise<string> => {
    await session.run(`CREATE OR REPLACE TEMP TABLE ${quoteIdentifier(name)} AS ${sql}`);
    return `temp.${quoteIdentifier(name)}`;
  };
  return {
    kind,
    primaryKey: (column) => (kind === "duckdb" ? `, PRIMARY KEY (${column})` : ""),
    find: async (schema, table) => {
      const found = await findNames(session, schema ?? "main", table);
      if (found.table === undefined) return { schema: found.schema, table, columns: null };
      return {
        schema: found.schema,
        table: found.table,
        columns: await describe(session, `FROM ${targetPath(found.schema, found.table)}`),
      };
    },
    mirror: (columns) => mirror(session, kind, columns),
    path: targetPath,
    run: (sql) => session.run(sql),
    change: (sql) => session.change(sql),
    rows: (sql) => session.rows(sql),
    keep,
    stage: (_schema, _columns, select) => keep(STAGE, select),
    unstage: () => session.run(`DROP TABLE IF EXISTS temp.${quoteIdentifier(STAGE)}`),
    settle: (schema, table) => (kind === "ducklake" ? writeFiles(session, schema, table) : Promise.resolve()),
    // Both find rows by the statistics of their row groups.
    index: () => Promise.resolve(),
  };
}

function describe(session: Session, query: string): Promise<{ name: string; type: string }[]> {
  return session.rows(`SELECT column_name AS name, column_type AS type FROM (DESCRIBE ${query})`);
}

async function mirror(
  session: Session,
  kind: "duckdb" | "ducklake",
  columns: readonly { readonly name: string; readonly type: string }[],
): Promise<MirrorColumn[]> {
  const stored =
    kind === "duckdb"
      ? undefined
      : await storageTypes(
          session,
          columns.map(({ type }) => type),
        );
  const kept = columns.map(({ name, type }, index) => {
    const form = stored?.[index] ?? { kind: "stored" as const, type };
    if (form.kind === "stored") return { name, type: form.type };
    throw new ConfigError("replay_type", `A lake can't hold the column ${name}, which is ${type}.`, {
      subject: { column: name },
      hint: "Cast it in the view's definition, for example to VARCHAR.",
    });
  });
  const exact = await describe(session, `SELECT ${typedNulls(kept)}`);
  return exact.map(({ name, type }) => ({
    name,
    type,
    wire: type,
    write: `CAST(${quoteIdentifier(name)} AS ${type})`,
    read: (column) => column,
    // Intervals compare by their length, in which a month has thirty days.
    compare: (column) => (type.includes("INTERVAL") ? `CAST(${column} AS VARCHAR)` : column),
  }));
}

/**
 * Keeps the table's rows in files: a small delete that the lake holds in its catalog is lost where it races a
 * compaction. The option can only be set for a table that is committed.
 */
async function writeFiles(session: Session, schema: string, table: string): Promise<void> {
  const options = await session.rows(
    `FROM ducklake_options(${quoteLiteral(TARGET_NAME)})
     WHERE option_name = 'data_inlining_row_limit' AND scope = 'TABLE' AND scope_entry = $1`,
    [`${schema}.${table}`],
  );
  if (options.length > 0) return;
  await session.run(
    `CALL ${quoteIdentifier(TARGET_NAME)}.set_option('data_inlining_row_limit', 0, schema => ${quoteLiteral(schema)}, table_name => ${quoteLiteral(table)})`,
  );
}
