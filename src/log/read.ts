import { createConsolidated } from "../catalog/consolidate.js";
import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, typedNulls } from "../sql/quote.js";
import type { LogEntry } from "./registry.js";
import { columnNames, consolidatedRows, decodedColumns, keyOrder, type LogColumn, type LogSchema } from "./schema.js";
import type { ObjectStore } from "./store.js";
import type { LogRead } from "./window.js";

/** One key, or a part of it: columns and their values as text that DuckDB casts; null for NULL. */
export type KeyFilter = Readonly<Record<string, string | null>>;

/** Rows of files as they are stored, with their weights: nothing is summed. */
export function storedRows(store: ObjectStore, schema: LogSchema, entries: readonly LogEntry[], where = ""): string {
  const columns = `${columnNames(schema)}, ${quoteIdentifier(schema.weight)}`;
  const files = entries.flatMap((entry) => (entry.file === null ? [] : [quoteLiteral(store.address(entry.file))]));
  if (files.length === 0) {
    const types = schema.columns.map(({ name, stored }) => ({ name, type: stored }));
    return `SELECT ${typedNulls([...types, { name: schema.weight, type: "BIGINT" }])} WHERE false`;
  }
  return `SELECT ${columns} FROM read_parquet([${files.join(", ")}], hive_partitioning = false) ${where}`;
}

/**
 * The consolidated rows of files with the view's own types, in the order of the files: the changes with their weight,
 * each row once, or the state with a row for each copy.
 */
export function decodedRows(
  store: ObjectStore,
  schema: LogSchema,
  entries: readonly LogEntry[],
  keys: readonly KeyFilter[],
  as: "changes" | "state",
): string {
  const weight = quoteIdentifier(schema.weight);
  const rows = storedRows(store, schema, entries, whereOf(schema, keys));
  // The rows of one file are consolidated and sorted as they are.
  const sorted = entries.filter((entry) => entry.file !== null).length === 1;
  const consolidated = sorted ? rows : consolidatedRows(schema, rows);
  const order = sorted ? "" : `ORDER BY ${keyOrder(schema, "encoded")}`;
  if (as === "changes") return `SELECT ${decodedColumns(schema)}, ${weight} FROM (${consolidated}) AS encoded ${order}`;
  const copies = `SELECT *, unnest(range(${weight})) FROM (${consolidated})`;
  return `SELECT ${decodedColumns(schema)} FROM (${copies}) AS encoded ${order}`;
}

/** Fills a temporary table with the consolidated changes of some columns, and answers how many rows that are. */
export async function loadLoggedDelta(
  session: Session,
  store: ObjectStore,
  schema: LogSchema,
  read: LogRead,
  columns: readonly string[],
  target: string,
  weight: string,
): Promise<bigint> {
  const stored = storedRows(store, schema, read.entries);
  const decoded = `SELECT ${decodedColumns(schema)}, ${quoteIdentifier(schema.weight)} FROM (${stored})`;
  await createConsolidated(session, target, columns, decoded, { from: schema.weight, to: weight });
  return (await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM temp.${quoteIdentifier(target)}`)).n;
}

/**
 * The entries that can hold one of the keys, by the least and greatest key that the registry has of each file.
 * @throws ConfigError `key_invalid` for a column that is no part of the key or a value that is not of its type.
 */
export async function entriesForKeys(
  session: Session,
  schema: LogSchema,
  entries: readonly LogEntry[],
  keys: readonly KeyFilter[],
): Promise<readonly LogEntry[]> {
  const [first] = schema.columns.filter((column) => column.name === schema.key[0]);
  if (keys.length === 0 || first === undefined) return entries;
  await checkKeys(session, schema, keys);
  const wanted = keys.map((key) => key[first.name]);
  if (wanted.includes(undefined)) return entries;
  const bounds = entries.filter((entry) => entry.least !== null && entry.greatest !== null);
  if (bounds.length === 0) return entries;
  const rows = bounds.map(
    ({ id, least, greatest }) => `(${[id, least ?? "", greatest ?? ""].map(quoteLiteral).join(", ")})`,
  );
  const bound = (name: string) => `CAST(json_extract_string(${name}, '$[0]') AS ${first.stored})`;
  const tests = wanted.map((value) =>
    value === null
      ? `${bound("greatest")} IS NULL`
      : `(${valueSql(first, value ?? "")} >= ${bound("least")} AND (${bound("greatest")} IS NULL OR ${valueSql(first, value ?? "")} <= ${bound("greatest")}))`,
  );
  const found = await session.rows<{ id: string }>(
    `SELECT id FROM (VALUES ${rows.join(", ")}) AS bounds(id, least, greatest) WHERE ${tests.join(" OR ")}`,
  );
  const possible = new Set(found.map(({ id }) => id));
  return entries.filter((entry) => entry.least === null || entry.greatest === null || possible.has(entry.id));
}

async function checkKeys(session: Session, schema: LogSchema, keys: readonly KeyFilter[]): Promise<void> {
  for (const key of keys) {
    if (Object.keys(key).length === 0) throw invalidKey("A key names no column.", schema);
    for (const [name, value] of Object.entries(key)) {
      const column = schema.columns.find((candidate) => candidate.name === name);
      if (column === undefined || !schema.key.includes(name))
        throw invalidKey(`${name} is no part of the key.`, schema);
      try {
        if (value !== null) await session.run(`SELECT ${valueSql(column, value)}`);
      } catch (error) {
        throw invalidKey(`The value of ${name} is not of the type ${column.type}.`, schema, error);
      }
    }
  }
}

function invalidKey(what: string, schema: LogSchema, cause?: unknown): ConfigError {
  return new ConfigError("key_invalid", what, { hint: `The key has the columns ${schema.key.join(", ")}.`, cause });
}

/**
 * A condition that statistics of row groups can decide: the values of each column as a list, and the whole keys where
 * they have more than one column.
 */
function whereOf(schema: LogSchema, keys: readonly KeyFilter[]): string {
  if (keys.length === 0) return "";
  const conditions = schema.key.flatMap((name) => {
    const column = schema.columns.find((candidate) => candidate.name === name);
    const values = keys.map((key) => key[name]);
    if (column === undefined || values.includes(undefined) || values.includes(null)) return [];
    const list = [...new Set(values)].map((value) => valueSql(column, value ?? ""));
    return [
      list.length === 1 ? `${quoteIdentifier(name)} = ${list[0]}` : `${quoteIdentifier(name)} IN (${list.join(", ")})`,
    ];
  });
  const exact = keys.map((key) => `(${matchOf(schema, key)})`).join(" OR ");
  const decided = keys.length === 1 || schema.key.length === 1;
  const nulls = keys.some((key) => Object.values(key).includes(null));
  return `WHERE ${[...conditions, ...(decided && !nulls && conditions.length > 0 ? [] : [`(${exact})`])].join(" AND ")}`;
}

function matchOf(schema: LogSchema, key: KeyFilter): string {
  const parts = Object.entries(key).map(([name, value]) => {
    const column = schema.columns.find((candidate) => candidate.name === name);
    if (value === null || column === undefined) return `${quoteIdentifier(name)} IS NULL`;
    return `${quoteIdentifier(name)} = ${valueSql(column, value)}`;
  });
  return parts.join(" AND ");
}

function valueSql(column: LogColumn, value: string): string {
  const cast = `CAST(${quoteLiteral(value)} AS ${column.type})`;
  return column.stored === column.type ? cast : `CAST(${cast} AS ${column.stored})`;
}
