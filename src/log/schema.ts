import { createHash } from "node:crypto";
import { consolidatedSelect } from "../catalog/consolidate.js";
import type { Session } from "../engine/session.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";
import type { StoredDefinition } from "../view/definition.js";
import type { TypedColumn } from "../view/plan-view.js";
import { storageTypes } from "../view/storage-types.js";

/** A column of a log's files. */
export interface LogColumn {
  readonly name: string;
  /** The type that the view gives it. */
  readonly type: string;
  /** The type in which the files hold it: another one where Parquet would change the value. */
  readonly stored: string;
}

/** What all files of one log have in common. */
export interface LogSchema {
  readonly columns: readonly LogColumn[];
  /** The columns that the rows are sorted by. */
  readonly key: readonly string[];
  /** `declared` and `derived` keys identify a row of the view; `all` is every column, and rows can have copies. */
  readonly keyKind: "declared" | "derived" | "all";
  /** The name of the column with the signed number of copies. */
  readonly weight: string;
  /** Equal for logs whose files can be read together. */
  readonly fingerprint: string;
}

/** The log schema of a view's visible rows. */
export function logSchema(session: Session, definition: StoredDefinition): Promise<LogSchema> {
  return makeSchema(session, definition.columns, keyOf(definition), []);
}

/**
 * The log schema of a base table, whose rows have no key that the lake would know of.
 * @param identity the table and its columns as the catalog knows them: another table under the name is another log.
 */
export function sourceLogSchema(
  session: Session,
  columns: readonly TypedColumn[],
  identity: readonly string[],
): Promise<LogSchema> {
  return makeSchema(session, columns, { key: columns.map((column) => column.name), keyKind: "all" }, identity);
}

async function makeSchema(
  session: Session,
  typed: readonly TypedColumn[],
  { key, keyKind }: Pick<LogSchema, "key" | "keyKind">,
  identity: readonly string[],
): Promise<LogSchema> {
  const types = typed.map((column) => column.type);
  const storage = await session.remember(`log types ${types.join("\n")}`, () => storageTypes(session, types));
  const columns = typed.map(({ name, type }, index) => {
    const found = storage[index];
    return { name, type, stored: found?.kind === "stored" ? found.type : "VARCHAR" };
  });
  const taken = new Set(columns.map((column) => column.name.toLowerCase()));
  const weight = taken.has("weight") ? "_ivm_weight" : "weight";
  const parts = [columns, key, weight, ...identity];
  const fingerprint = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
  return { columns, key, keyKind, weight, fingerprint };
}

function keyOf(definition: StoredDefinition): Pick<LogSchema, "key" | "keyKind"> {
  if (definition.primaryKey.length > 0) return { key: definition.primaryKey, keyKind: "declared" };
  const grouping = groupingColumns(definition);
  if (grouping !== undefined) return { key: grouping, keyKind: "derived" };
  return { key: definition.columns.map((column) => column.name), keyKind: "all" };
}

/** The visible names of the grouping columns; undefined where there are none or one of them is not visible. */
function groupingColumns({ layout, columns }: StoredDefinition): string[] | undefined {
  if (layout.groups === null || layout.groups.keys.length === 0) return undefined;
  const names = layout.groups.keys.map((key) => {
    const stored = layout.columns.find((column) => column.id === key)?.name;
    return columns.find((column) => column.name === stored)?.name;
  });
  return names.every((name) => name !== undefined) ? names : undefined;
}

/** The columns as the files hold them, from the view's own. */
export function encodedColumns(schema: LogSchema): string {
  const columns = schema.columns.map(({ name, type, stored }) =>
    stored === type ? quoteIdentifier(name) : `CAST(${quoteIdentifier(name)} AS ${stored}) AS ${quoteIdentifier(name)}`,
  );
  return columns.join(", ");
}

/** The columns as the view gives them, from those of the files. */
export function decodedColumns(schema: LogSchema): string {
  const columns = schema.columns.map(({ name, type, stored }) =>
    stored === type ? quoteIdentifier(name) : `CAST(${quoteIdentifier(name)} AS ${type}) AS ${quoteIdentifier(name)}`,
  );
  return columns.join(", ");
}

export function columnNames(schema: LogSchema): string {
  return schema.columns.map((column) => quoteIdentifier(column.name)).join(", ");
}

/** Weighted rows of a log, encoded or as stored, with equal ones summed and those that cancel out left out. */
export function consolidatedRows(schema: LogSchema, rows: string): string {
  const names = schema.columns.map((column) => column.name);
  return consolidatedSelect(names, rows, { weight: { from: schema.weight, to: schema.weight } });
}

/** Rows with the view's own types in the form that the files hold, each with a weight: a column or a number, as SQL. */
export function weightedRows(schema: LogSchema, rows: string, weight: string): string {
  return `SELECT ${encodedColumns(schema)}, ${weight} AS ${quoteIdentifier(schema.weight)} FROM ${rows}`;
}

/**
 * The order of rows in every file: by key, then the old row of an update before the new one, then all other columns.
 * @param table qualifies the columns, where others have their names.
 */
export function keyOrder(schema: LogSchema, table?: string): string {
  const rest = schema.columns.map((column) => column.name).filter((name) => !schema.key.includes(name));
  const column = (name: string) => (table === undefined ? quoteIdentifier(name) : quotePath([table, name]));
  const ascending = (name: string) => `${column(name)} ASC NULLS LAST`;
  return [...schema.key.map(ascending), column(schema.weight), ...rest.map(ascending)].join(", ");
}
