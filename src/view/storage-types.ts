import {
  type DuckDBArrayType,
  type DuckDBListType,
  type DuckDBMapType,
  type DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from "@duckdb/node-api";
import type { Session } from "../engine/session.js";
import { IvmError } from "../errors.js";
import { quoteIdentifier } from "../sql/quote.js";

/** Simple types that DuckLake can't hold, or that come back from Parquet as another value, and what holds them. */
const STORED_AS: ReadonlyMap<DuckDBTypeId, string> = new Map([
  // Parquet has no 128-bit integer: DuckDB writes a double.
  [DuckDBTypeId.HUGEINT, "DECIMAL(38,0)"],
  [DuckDBTypeId.UHUGEINT, "VARCHAR"],
  // Parquet's interval has milliseconds only.
  [DuckDBTypeId.INTERVAL, "VARCHAR"],
  [DuckDBTypeId.TIME_TZ, "VARCHAR"],
  [DuckDBTypeId.TIME_NS, "VARCHAR"],
  [DuckDBTypeId.BIT, "VARCHAR"],
  [DuckDBTypeId.BIGNUM, "VARCHAR"],
  [DuckDBTypeId.ENUM, "VARCHAR"],
]);

export type StorageType =
  | { readonly kind: "stored"; readonly type: string }
  | { readonly kind: "refused"; readonly type: string }
  /** SQL has no name for it, so that no table can have a column of it: a struct whose fields have no names, for one. */
  | { readonly kind: "unwritable"; readonly type: string };

/** The type in which each logical type is stored; the same type where nothing is lost. */
export async function storageTypes(session: Session, types: readonly string[]): Promise<StorageType[]> {
  const result: StorageType[] = [];
  for (const type of types) {
    const found = await readBack(session, type);
    if (found === undefined) {
      result.push({ kind: "unwritable", type });
      continue;
    }
    const stored = map(found);
    if (stored === undefined) result.push({ kind: "refused", type });
    else result.push({ kind: "stored", type: stored.changed ? stored.type : type });
  }
  return result;
}

/** The type that DuckDB's own name of a type means; undefined where it can't be read. */
async function readBack(session: Session, type: string): Promise<DuckDBType | undefined> {
  try {
    return await session.typeOf(`CAST(NULL AS ${type})`);
  } catch (error) {
    if (error instanceof IvmError && error.code === "engine_error") return undefined;
    throw error;
  }
}

interface Mapped {
  readonly type: string;
  readonly changed: boolean;
}

/** Undefined for a type whose values can't be stored and read back by casts. */
function map(type: DuckDBType): Mapped | undefined {
  // A type with a name of its own, such as JSON, is stored as it is.
  if (type.alias !== undefined) return { type: type.alias, changed: false };
  const simple = STORED_AS.get(type.typeId);
  if (simple !== undefined) return { type: simple, changed: true };
  switch (type.typeId) {
    case DuckDBTypeId.UNION:
      return undefined;
    case DuckDBTypeId.LIST:
      return around([map((type as DuckDBListType).valueType)], ([value]) => `${value}[]`);
    case DuckDBTypeId.ARRAY: {
      const list = around([map((type as DuckDBArrayType).valueType)], ([value]) => `${value}[]`);
      return list === undefined ? undefined : { ...list, changed: true };
    }
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType;
      return around([map(keyType), map(valueType)], ([key, value]) => `MAP(${key}, ${value})`);
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType;
      return around(entryTypes.map(map), (fields) => {
        const list = fields.map((field, index) => `${quoteIdentifier(entryNames[index] ?? "")} ${field}`);
        return `STRUCT(${list.join(", ")})`;
      });
    }
    default:
      return { type: type.toString(), changed: false };
  }
}

function around(
  parts: readonly (Mapped | undefined)[],
  print: (types: readonly string[]) => string,
): Mapped | undefined {
  const known = parts.filter((part) => part !== undefined);
  if (known.length !== parts.length) return undefined;
  return { type: print(known.map((part) => part.type)), changed: known.some((part) => part.changed) };
}
