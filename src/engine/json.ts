import {
  type DuckDBArrayType,
  type DuckDBListType,
  type DuckDBMapType,
  type DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBUnionType,
} from "@duckdb/node-api";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.js";

/**
 * SQL for a value in the form that `to_json` makes right JSON of. DuckDB's own conversion writes NaN and the infinities as
 * bare words, which no JSON reader takes: they become the strings "NaN", "Infinity" and "-Infinity", wherever in a nested
 * value they stand. The fields of row values, as `numbered`.
 * @param value SQL that is evaluated more than once: a column, or a part of one.
 */
export function jsonOf(value: string, type: DuckDBType): string {
  return convert(value, type, { json: true, depth: 0 });
}

/** SQL for a value in which the fields of row values, `(a, b)`, which have no names, are named by their numbers from 1. */
export function numbered(value: string, type: DuckDBType): string {
  return convert(value, type, { json: false, depth: 0 });
}

/** True where a value of the type is, or holds, a row value. */
export function hasRowValue(type: DuckDBType): boolean {
  return contains(type, isRowValue);
}

interface Conversion {
  /** Floats become JSON. */
  readonly json: boolean;
  readonly depth: number;
}

function convert(value: string, type: DuckDBType, { json, depth }: Conversion): string {
  const changes = (part: DuckDBType): boolean =>
    contains(part, (inside) => isRowValue(inside) || (json && isFloat(inside)));
  // Only what has to changes: JSON inside JSON is read again, which takes digits from decimals.
  if (!changes(type)) return value;
  const inner = (part: string, partType: DuckDBType): string => convert(part, partType, { json, depth: depth + 1 });
  const element = `part${depth}`;
  switch (type.typeId) {
    case DuckDBTypeId.FLOAT:
    case DuckDBTypeId.DOUBLE:
      return `CASE WHEN isfinite(${value}) OR ${value} IS NULL THEN to_json(${value})
        WHEN isnan(${value}) THEN to_json('NaN') WHEN ${value} > 0 THEN to_json('Infinity') ELSE to_json('-Infinity') END`;
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return `list_transform(${value}, lambda ${element}: ${inner(element, (type as DuckDBListType | DuckDBArrayType).valueType)})`;
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType;
      // The names of a JSON object are text.
      const key = json && changes(keyType) ? `CAST(${element}.key AS VARCHAR)` : inner(`${element}.key`, keyType);
      const entries = `list_transform(map_entries(${value}), lambda ${element}: struct_pack(k := ${key}, v := ${inner(`${element}.value`, valueType)}))`;
      return `CASE WHEN ${value} IS NOT NULL THEN map_from_entries(${entries}) END`;
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType;
      const unnamed = isRowValue(type);
      const fields = entryNames.map((name, index) => {
        const part = `struct_extract(${value}, ${unnamed ? index + 1 : quoteLiteral(name)})`;
        return `${quoteIdentifier(unnamed ? `${index + 1}` : name)} := ${inner(part, entryTypes[index] as DuckDBType)}`;
      });
      return `CASE WHEN ${value} IS NOT NULL THEN struct_pack(${fields.join(", ")}) END`;
    }
    default:
      // A union, whose one value has whatever type it has.
      return `CAST(${value} AS VARCHAR)`;
  }
}

function isFloat(type: DuckDBType): boolean {
  return type.typeId === DuckDBTypeId.FLOAT || type.typeId === DuckDBTypeId.DOUBLE;
}

function isRowValue(type: DuckDBType): boolean {
  return type.typeId === DuckDBTypeId.STRUCT && (type as DuckDBStructType).entryNames[0] === "";
}

/** True where the type, or one that it is made of, is one of these. */
function contains(type: DuckDBType, wanted: (type: DuckDBType) => boolean): boolean {
  return wanted(type) || partsOf(type).some((part) => contains(part, wanted));
}

function partsOf(type: DuckDBType): readonly DuckDBType[] {
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return [(type as DuckDBListType | DuckDBArrayType).valueType];
    case DuckDBTypeId.MAP:
      return [(type as DuckDBMapType).keyType, (type as DuckDBMapType).valueType];
    case DuckDBTypeId.STRUCT:
      return (type as DuckDBStructType).entryTypes;
    case DuckDBTypeId.UNION:
      return (type as DuckDBUnionType).memberTypes;
    default:
      return [];
  }
}
