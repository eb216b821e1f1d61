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
 * SQL for a value in the form that `to_json` makes right JSON of. DuckDB's own conversion writes NaN and the infinities as bare words, which no JSON reader
 * takes: they become the strings "NaN", "Infinity" and "-Infinity", wherever in a nested value they stand.
 * @param value SQL that is evaluated more than once: a column, or a part of one.
 */
export function jsonOf(value: string, type: DuckDBType): string {
  return convert(value, type, 0);
}

function convert(value: string, type: DuckDBType, depth: number): string {
  // Only floats become JSON by themselves: JSON inside JSON is read again, which takes digits from decimals.
  if (!hasFloat(type)) return value;
  const inner = (part: string, partType: DuckDBType): string => convert(part, partType, depth + 1);
  const element = `part${depth}`;
  const each = (list: string, elementType: DuckDBType): string =>
    `list_transform(${list}, lambda ${element}: ${inner(element, elementType)})`;
  switch (type.typeId) {
    case DuckDBTypeId.FLOAT:
    case DuckDBTypeId.DOUBLE:
      return `CASE WHEN isfinite(${value}) OR ${value} IS NULL THEN to_json(${value})
        WHEN isnan(${value}) THEN to_json('NaN') WHEN ${value} > 0 THEN to_json('Infinity') ELSE to_json('-Infinity') END`;
    case DuckDBTypeId.LIST:
      return each(value, (type as DuckDBListType).valueType);
    case DuckDBTypeId.ARRAY: {
      const { valueType } = type as DuckDBArrayType;
      return each(`CAST(${value} AS ${valueType}[])`, valueType);
    }
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType;
      const key = hasFloat(keyType) ? `CAST(${element}.key AS VARCHAR)` : `${element}.key`;
      const entries = `list_transform(map_entries(${value}), lambda ${element}: struct_pack(k := ${key}, v := ${inner(`${element}.value`, valueType)}))`;
      return `CASE WHEN ${value} IS NOT NULL THEN map_from_entries(${entries}) END`;
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType;
      const fields = entryNames.map((name, index) => {
        const part = `struct_extract(${value}, ${quoteLiteral(name)})`;
        return `${quoteIdentifier(name)} := ${inner(part, entryTypes[index] as DuckDBType)}`;
      });
      return `CASE WHEN ${value} IS NOT NULL THEN struct_pack(${fields.join(", ")}) END`;
    }
    default:
      // A union, whose one value has whatever type it has.
      return `CAST(${value} AS VARCHAR)`;
  }
}

function hasFloat(type: DuckDBType): boolean {
  switch (type.typeId) {
    case DuckDBTypeId.FLOAT:
    case DuckDBTypeId.DOUBLE:
      return true;
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return hasFloat((type as DuckDBListType | DuckDBArrayType).valueType);
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType;
      return hasFloat(keyType) || hasFloat(valueType);
    }
    case DuckDBTypeId.STRUCT:
      return (type as DuckDBStructType).entryTypes.some(hasFloat);
    case DuckDBTypeId.UNION:
      return (type as DuckDBUnionType).memberTypes.some(hasFloat);
    default:
      return false;
  }
}
