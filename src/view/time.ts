import { type Ast, mapParts, text, texts, walkAst } from "../sql/ast.js";
import type { FunctionCatalog } from "../sql/functions.js";

/** Functions and SQL keywords that answer by the clock, with the type of their answer. */
const TIME_FUNCTIONS: Readonly<Record<string, string>> = {
  now: "TIMESTAMP WITH TIME ZONE",
  get_current_timestamp: "TIMESTAMP WITH TIME ZONE",
  transaction_timestamp: "TIMESTAMP WITH TIME ZONE",
  current_timestamp: "TIMESTAMP WITH TIME ZONE",
  today: "DATE",
  current_date: "DATE",
  get_current_time: "TIME WITH TIME ZONE",
  current_time: "TIME WITH TIME ZONE",
  localtime: "TIME",
  localtimestamp: "TIMESTAMP",
};

const KEYWORDS = new Set(["current_timestamp", "current_date", "current_time", "localtime", "localtimestamp"]);

/** True where the statement asks for the time. */
export function usesTime(statement: Ast, functions: FunctionCatalog): boolean {
  let found = false;
  walkAst(statement, (node) => {
    const name = timeName(node);
    if (name !== undefined && (functions.perQuery.has(name) || KEYWORDS.has(name))) found = true;
    return !found;
  });
  return found;
}

/** The statement with every question for the time answered by `instant`, a TIMESTAMPTZ literal's text. */
export function pinTime(statement: Ast, instant: string): Ast {
  return mapParts(statement, (node) => {
    const name = timeName(node);
    const type = name === undefined ? undefined : TIME_FUNCTIONS[name];
    if (type === undefined) return undefined;
    const constant = {
      class: "CONSTANT",
      type: "VALUE_CONSTANT",
      alias: "",
      query_location: 0,
      value: { type: { id: "VARCHAR", type_info: null }, is_null: false, value: instant },
    };
    const cast = (child: Ast, id: string, alias: string): Ast => ({
      class: "CAST",
      type: "OPERATOR_CAST",
      alias,
      query_location: 0,
      child,
      cast_type: { id, type_info: null },
      try_cast: false,
    });
    return cast(cast(constant, "TIMESTAMP WITH TIME ZONE", ""), type, text(node, "alias"));
  });
}

function timeName(node: Ast): string | undefined {
  if (node["class"] === "FUNCTION") {
    const name = text(node, "function_name").toLowerCase();
    return name in TIME_FUNCTIONS ? name : undefined;
  }
  if (node["class"] === "COLUMN_REF") {
    const names = texts(node, "column_names");
    const [name = ""] = names;
    return names.length === 1 && KEYWORDS.has(name.toLowerCase()) ? name.toLowerCase() : undefined;
  }
  return undefined;
}
