import type { Session } from "../engine/session.js";
import { type Ast, type AstValue, child, children, isAst, text } from "../sql/ast.js";
import { parseJson, printJson } from "../sql/json.js";

/** Simple types that DuckLake can't hold, or that come back from Parquet as another value, and what holds them. */
const STORED_AS: Readonly<Record<string, Ast>> = {
  // Parquet has no 128-bit integer: DuckDB writes a double.
  HUGEINT: {
    id: "DECIMAL",
    type_info: { type: "DECIMAL_TYPE_INFO", alias: "", extension_info: null, width: 38, scale: 0 },
  },
  UHUGEINT: { id: "VARCHAR", type_info: null },
  // Parquet's interval has milliseconds only.
  INTERVAL: { id: "VARCHAR", type_info: null },
  "TIME WITH TIME ZONE": { id: "VARCHAR", type_info: null },
  TIME_NS: { id: "VARCHAR", type_info: null },
  BIT: { id: "VARCHAR", type_info: null },
  BIGNUM: { id: "VARCHAR", type_info: null },
};

/** Types whose values can't be stored and read back by casts. */
const REFUSED = new Set(["UNION"]);

export type StorageType =
  | { readonly kind: "stored"; readonly type: string }
  | { readonly kind: "refused"; readonly type: string };

/** The type in which each logical type is stored; the same type where nothing is lost. */
export async function storageTypes(session: Session, types: readonly string[]): Promise<StorageType[]> {
  const result: StorageType[] = [];
  for (const type of types) result.push(await storageType(session, type));
  return result;
}

async function storageType(session: Session, type: string): Promise<StorageType> {
  const row = await session.row<{ tree: string }>("SELECT json_serialize_sql($1::VARCHAR)::VARCHAR AS tree", [
    `SELECT CAST(NULL AS ${type})`,
  ]);
  const statement = children(parseJson(row.tree) as Ast, "statements")[0];
  const cast = statement === undefined ? undefined : children(child(statement, "node"), "select_list")[0];
  if (statement === undefined || cast === undefined) throw new TypeError(`DuckDB does not parse its own type ${type}`);
  const logical = child(cast, "cast_type");
  const stored = mapType(logical);
  if (stored === undefined) return { kind: "refused", type };
  if (printJson(stored) === printJson(logical)) return { kind: "stored", type };
  const node = child(statement, "node");
  const printable = { ...statement, node: { ...node, select_list: [{ ...cast, cast_type: stored }] } };
  const printed = await session.row<{ sql: string }>("SELECT json_deserialize_sql($1::JSON) AS sql", [
    printJson({ error: false, statements: [printable] }),
  ]);
  return { kind: "stored", type: printed.sql.slice("SELECT CAST(NULL AS ".length, -1) };
}

function mapType(type: Ast): Ast | undefined {
  const id = text(type, "id");
  if (REFUSED.has(id)) return undefined;
  const info = type["type_info"];
  const alias = isAst(info) ? text(info, "alias") : "";
  if (alias !== "" || id === "VARIANT") return type;
  const simple = STORED_AS[id];
  if (simple !== undefined) return simple;
  if (!isAst(info)) return type;
  // An ENUM's name stays unresolved in the tree, with its values as modifiers.
  if (id === "UNBOUND") return text(info, "name").toUpperCase() === "ENUM" ? { id: "VARCHAR", type_info: null } : type;
  if (id === "ARRAY") {
    const element = mapType(child(info, "child_type"));
    if (element === undefined) return undefined;
    return { id: "LIST", type_info: { type: "LIST_TYPE_INFO", alias: "", extension_info: null, child_type: element } };
  }
  return mapNested(type, info);
}

function mapNested(type: Ast, info: Ast): Ast | undefined {
  const changed: Record<string, AstValue> = { ...info };
  if (isAst(info["child_type"])) {
    const element = mapType(info["child_type"]);
    if (element === undefined) return undefined;
    changed["child_type"] = element;
  }
  if (Array.isArray(info["child_types"])) {
    const fields = children(info, "child_types").map((field) => {
      const mapped = mapType(child(field, "second"));
      return mapped === undefined ? undefined : { ...field, second: mapped };
    });
    if (fields.some((field) => field === undefined)) return undefined;
    changed["child_types"] = fields as Ast[];
  }
  return { ...type, type_info: changed };
}
