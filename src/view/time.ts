import { type Ast, castTo, children, mapAst, mapParts, text, textConstant, texts, walkAst } from "../sql/ast.js";
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

/** True where the statement asks for the time. A keyword that is a column of a source means the column. */
export function usesTime(statement: Ast, functions: FunctionCatalog, columns: ReadonlySet<string>): boolean {
  let found = false;
  walkAst(statement, (node) => {
    const name = timeName(node, columns);
    if (isAgeUntilToday(node)) found = true;
    if (name !== undefined && (functions.perQuery.has(name) || KEYWORDS.has(name))) found = true;
    return !found;
  });
  return found;
}

/** The statement with every question for the time answered by `instant`, a TIMESTAMPTZ literal's text. */
export function pinTime(statement: Ast, instant: string, columns: ReadonlySet<string>): Ast {
  return replaceTime(statement, castTo(textConstant(instant), "TIMESTAMP WITH TIME ZONE"), columns);
}

/** The statement with every question for the time answered from `moment`, an expression of the type TIMESTAMPTZ. */
export function replaceTime(statement: Ast, moment: Ast, columns: ReadonlySet<string>): Ast {
  const pin = (node: Ast): Ast | undefined => {
    if (isAgeUntilToday(node)) {
      const parts = children(node, "children").map((part) => mapAst(part, pin));
      return { ...node, children: [castTo(castTo(moment, "DATE"), "TIMESTAMP"), ...parts] };
    }
    const name = timeName(node, columns);
    const type = name === undefined ? undefined : TIME_FUNCTIONS[name];
    if (type === undefined) return undefined;
    // DuckDB has no cast from a moment to a time of day.
    return castTo(type === "TIME" ? castTo(moment, "TIMESTAMP") : moment, type, text(node, "alias"));
  };
  return mapParts(statement, pin);
}

/** Lower-case names of all columns that sources have. */
export function columnNames(
  sources: readonly { readonly columns: readonly { readonly name: string }[] }[],
): Set<string> {
  return new Set(sources.flatMap((source) => source.columns.map((column) => column.name.toLowerCase())));
}

/** age(t) counts up to the current date. */
function isAgeUntilToday(node: Ast): boolean {
  const isAge = node["class"] === "FUNCTION" && text(node, "function_name").toLowerCase() === "age";
  return isAge && children(node, "children").length === 1;
}

function timeName(node: Ast, columns: ReadonlySet<string>): string | undefined {
  if (node["class"] === "FUNCTION") {
    const name = text(node, "function_name").toLowerCase();
    return name in TIME_FUNCTIONS ? name : undefined;
  }
  if (node["class"] === "COLUMN_REF") {
    const names = texts(node, "column_names");
    const [name = ""] = names;
    const keyword = name.toLowerCase();
    return names.length === 1 && KEYWORDS.has(keyword) && !columns.has(keyword) ? keyword : undefined;
  }
  return undefined;
}
