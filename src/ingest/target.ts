import { type LakeObjects, readLakeObjects } from "../catalog/tables.js";
import { type Engine, LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { parseTableName } from "../sql/parse.js";
import { quoteLiteral, quotePath, sameName } from "../sql/quote.js";
import { sourceName } from "../view/names.js";
import type { StateTables } from "../view/state.js";

const DEFAULT_SCHEMA = "main";

export interface TargetColumn {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
}

/** The table that rows are written to. */
export interface Target {
  readonly schema: string;
  readonly table: string;
  /** Null where the table does not exist. */
  readonly columns: readonly TargetColumn[] | null;
}

export function targetName(target: { readonly schema: string; readonly table: string }): string {
  return sourceName(target.schema, target.table);
}

export function targetPath(target: { readonly schema: string; readonly table: string }): string {
  return quotePath([LAKE_NAME, target.schema, target.table]);
}

/**
 * Finds the table of a name such as `orders` or `sales."Order Lines"`; a name without a schema is one of `main`.
 * @throws ConfigError where the name is none, or stands for something that is not the user's table.
 */
export async function findTarget(session: Session, engine: Engine, state: StateTables, name: string): Promise<Target> {
  const objects = await readLakeObjects(session, engine);
  const exact = objects.table(DEFAULT_SCHEMA, name);
  const named = exact ?? (await parseName(session, name));
  const found = exact ?? objects.table(named.schema, named.table);
  const target = found ?? named;
  const shown = targetName(target);
  const subject = { table: shown };
  if (sameName(target.schema, state.schema)) {
    throw new ConfigError("table_is_state", `${shown} is in the schema of ducklake-ivm's own tables.`, {
      subject,
      hint: "Name a table of yours.",
    });
  }
  const schemaOfViews = engine.config.schema ?? DEFAULT_SCHEMA;
  const views = sameName(target.schema, schemaOfViews) ? await namesOfViews(session, state, objects) : [];
  if (views.some((view) => sameName(view, target.table))) {
    throw new ConfigError("table_is_view", `${shown} is a view that ducklake-ivm keeps; only refreshes write to it.`, {
      subject,
      hint: "Write to the tables that the view reads.",
    });
  }
  if (objects.view(target.schema, target.table) !== undefined) {
    throw new ConfigError("table_is_view", `${shown} is a view, which holds no rows of its own.`, {
      subject,
      hint: "Write to the tables that the view reads.",
    });
  }
  if (!objects.hasSchema(target.schema)) {
    throw new ConfigError("schema_missing", `The lake has no schema ${target.schema}.`, {
      subject,
      hint: "Create it first, with CREATE SCHEMA.",
    });
  }
  const columns = found === undefined ? null : await columnsOf(session, found);
  return { schema: target.schema, table: target.table, columns };
}

/** Views that are defined, whether or not they are built. */
async function namesOfViews(session: Session, state: StateTables, objects: LakeObjects): Promise<string[]> {
  // Asked of what this transaction sees: the catalog may have had the table made since.
  if (objects.table(state.schema, "views") === undefined) return [];
  const rows = await session.rows<{ name: string }>(`SELECT name FROM ${state.table("views")}`);
  return rows.map((row) => row.name);
}

async function parseName(session: Session, name: string): Promise<{ schema: string; table: string }> {
  const { catalog, schema, table } = await parseTableName(session, name);
  if (catalog !== null && !sameName(catalog, LAKE_NAME)) {
    throw new ConfigError("table_name", `${name}: rows can only be written to tables of the lake.`, {
      hint: "Leave the catalog's name out.",
    });
  }
  return { schema: schema ?? DEFAULT_SCHEMA, table };
}

function columnsOf(session: Session, table: { schema: string; table: string }): Promise<TargetColumn[]> {
  return session.rows<TargetColumn>(`
    SELECT column_name AS name, data_type AS type, is_nullable AS nullable FROM duckdb_columns()
    WHERE database_name = ${quoteLiteral(LAKE_NAME)} AND schema_name = ${quoteLiteral(table.schema)}
      AND table_name = ${quoteLiteral(table.table)}
    ORDER BY column_index`);
}
