import { LosslessNumber } from "lossless-json";

/**
 * DuckDB's syntax tree as `json_serialize_sql` gives it: plain JSON objects that are treated as immutable here.
 * Expression nodes carry `class`, table references and query nodes only `type`.
 */

export type Ast = { readonly [key: string]: AstValue };
export type AstValue = Ast | readonly AstValue[] | string | number | bigint | LosslessNumber | boolean | null;

export function isAst(value: AstValue | undefined): value is Ast {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof LosslessNumber);
}

export function isExpression(node: Ast): boolean {
  return typeof node["class"] === "string";
}

/** A child that must be a node; a missing one means that DuckDB's tree has a form that this code does not know. */
export function child(node: Ast, key: string): Ast {
  const value = node[key];
  if (!isAst(value)) throw new TypeError(`syntax tree: ${String(node["type"])} has no ${key}`);
  return value;
}

export function optionalChild(node: Ast, key: string): Ast | undefined {
  const value = node[key];
  return isAst(value) ? value : undefined;
}

export function children(node: Ast, key: string): readonly Ast[] {
  const value = node[key];
  return Array.isArray(value) ? (value as readonly AstValue[]).filter(isAst) : [];
}

export function text(node: Ast, key: string): string {
  const value = node[key];
  return typeof value === "string" ? value : "";
}

export function texts(node: Ast, key: string): readonly string[] {
  const value = node[key];
  return Array.isArray(value) ? (value as readonly AstValue[]).filter((item) => typeof item === "string") : [];
}

/**
 * Rebuilds a tree from the top: `change` may answer with another node, which is then taken as it is, or with
 * undefined to keep the node and go on into its parts.
 */
export function mapAst(value: AstValue, change: (node: Ast) => Ast | undefined): AstValue {
  if (Array.isArray(value)) return (value as readonly AstValue[]).map((item) => mapAst(item, change));
  if (!isAst(value)) return value;
  const changed = change(value);
  if (changed !== undefined) return changed;
  return mapParts(value, change);
}

/** As mapAst, but always goes into the parts of the node itself. */
export function mapParts(node: Ast, change: (node: Ast) => Ast | undefined): Ast {
  const copy: Record<string, AstValue> = {};
  for (const [key, part] of Object.entries(node)) copy[key] = mapAst(part, change);
  return copy;
}

/** Calls `visit` for every node from the top; where it answers false, the node's parts are left out. */
export function walkAst(value: AstValue | undefined, visit: (node: Ast) => boolean | undefined): void {
  if (value === undefined) return;
  if (Array.isArray(value)) {
    for (const item of value as readonly AstValue[]) walkAst(item, visit);
  } else if (isAst(value) && visit(value) !== false) {
    for (const part of Object.values(value)) walkAst(part, visit);
  }
}

/** The parts of a condition that must all hold; what all branches of an OR ask for is one of them. */
export function conjunctsOf(ast: Ast): readonly Ast[] {
  if (ast["type"] === "CONJUNCTION_AND") return children(ast, "children").flatMap(conjunctsOf);
  if (ast["type"] !== "CONJUNCTION_OR") return [ast];
  const [first = [], ...others] = children(ast, "children").map(conjunctsOf);
  const has = (conjuncts: readonly Ast[], part: Ast): boolean =>
    conjuncts.some((conjunct) => sameExpression(conjunct, part));
  const common = first.filter((part) => others.every((branch) => has(branch, part)));
  if (common.length === 0) return [ast];
  const rest = [first, ...others].map((branch) => branch.filter((part) => !has(common, part)));
  // A branch that asks for nothing more makes the others needless.
  if (rest.some((branch) => branch.length === 0)) return common;
  return [...common, { ...ast, children: rest.map(allConditions) }];
}

/** Several conditions that must all hold. */
export function allConditions(conditions: readonly Ast[]): Ast {
  const [only] = conditions;
  if (only !== undefined && conditions.length === 1) return only;
  return {
    class: "CONJUNCTION",
    type: "CONJUNCTION_AND",
    alias: "",
    query_location: NO_LOCATION,
    children: conditions,
  };
}

/** True where two trees say the same, whatever their aliases and places in the text; names compare without case. */
export function sameExpression(a: AstValue | undefined, b: AstValue | undefined): boolean {
  return fingerprint(a) === fingerprint(b);
}

/** A string equal for trees that differ only in aliases, places in the text and the case of names. */
export function fingerprint(value: AstValue | undefined): string {
  return JSON.stringify(comparable(value, false), (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
}

/** The alias of a function's argument is its name (of a struct's field, of a parameter), so it counts. */
function comparable(value: AstValue | undefined, argument: boolean): AstValue | undefined {
  if (Array.isArray(value)) return (value as readonly AstValue[]).map((item) => comparable(item, argument) ?? null);
  if (!isAst(value)) return value;
  const copy: Record<string, AstValue> = {};
  for (const [key, part] of Object.entries(value)) {
    if (key === "query_location" || (key === "alias" && !argument)) continue;
    const named = key === "column_names" || key === "function_name";
    if (named) copy[key] = JSON.stringify(part).toLowerCase();
    else copy[key] = comparable(part, key === "children" && value["class"] === "FUNCTION") ?? null;
  }
  return copy;
}

const NO_LOCATION = 18446744073709551615n;

/** True where any part of a statement has a LIMIT. */
export function hasLimit(statement: Ast): boolean {
  return hasType(statement, ["LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER"]);
}

/** True where any part of a statement is a recursive common table expression. */
export function hasRecursion(statement: Ast): boolean {
  return hasType(statement, ["RECURSIVE_CTE_NODE"]);
}

function hasType(statement: Ast, types: readonly string[]): boolean {
  let found = false;
  walkAst(statement, (node) => {
    if (types.includes(text(node, "type"))) found = true;
    return !found;
  });
  return found;
}

/** A reference to a column by the parts of its name. */
export function columnRef(names: readonly string[], alias = ""): Ast {
  return { class: "COLUMN_REF", type: "COLUMN_REF", alias, query_location: NO_LOCATION, column_names: names };
}

export function integerConstant(value: bigint): Ast {
  return {
    class: "CONSTANT",
    type: "VALUE_CONSTANT",
    alias: "",
    query_location: NO_LOCATION,
    value: { type: { id: "BIGINT", type_info: null }, is_null: false, value },
  };
}

export function textConstant(value: string): Ast {
  return {
    class: "CONSTANT",
    type: "VALUE_CONSTANT",
    alias: "",
    query_location: NO_LOCATION,
    value: { type: { id: "VARCHAR", type_info: null }, is_null: false, value },
  };
}

/** A cast to a simple type, named as in the syntax tree. */
export function castTo(value: Ast, id: string, alias = ""): Ast {
  const type = { id, type_info: null };
  return {
    class: "CAST",
    type: "OPERATOR_CAST",
    alias,
    query_location: NO_LOCATION,
    child: value,
    cast_type: type,
    try_cast: false,
  };
}

/** A call of a function; the alias of an argument is its name. */
export function functionCall(name: string, args: readonly Ast[], alias = ""): Ast {
  return {
    class: "FUNCTION",
    type: "FUNCTION",
    alias,
    query_location: NO_LOCATION,
    function_name: name,
    schema: "",
    children: args,
    filter: null,
    order_bys: { type: "ORDER_MODIFIER", orders: [] },
    distinct: false,
    is_operator: false,
    export_state: false,
    catalog: "",
  };
}

export function isNotNull(value: Ast, alias = ""): Ast {
  return {
    class: "OPERATOR",
    type: "OPERATOR_IS_NOT_NULL",
    alias,
    query_location: NO_LOCATION,
    children: [{ ...value, alias: "" }],
  };
}

/** A table of the lake, at a snapshot where one is given. */
export function baseTable(path: { catalog: string; schema: string; table: string }, alias: string, at?: bigint): Ast {
  return {
    type: "BASE_TABLE",
    alias,
    sample: null,
    query_location: NO_LOCATION,
    schema_name: path.schema,
    table_name: path.table,
    column_name_alias: [],
    catalog_name: path.catalog,
    at_clause: at === undefined ? null : { unit: "VERSION", expr: integerConstant(at) },
  };
}

/** A table that a common table expression of the whole statement stands for. */
export function commonTable(name: string, alias: string, columnNames: readonly string[]): Ast {
  return { ...baseTable({ catalog: "", schema: "", table: name }, alias), column_name_alias: columnNames };
}

/** A subquery in FROM, from a whole statement as `parseSelect` gives it. */
export function subqueryTable(statement: Ast, alias: string, columnNames: readonly string[]): Ast {
  return {
    type: "SUBQUERY",
    alias,
    sample: null,
    query_location: NO_LOCATION,
    subquery: statement,
    column_name_alias: columnNames,
  };
}

/** A statement that selects the expressions and reads nothing; used to have DuckDB print them. */
export function selectStatement(expressions: readonly Ast[]): Ast {
  return {
    node: {
      type: "SELECT_NODE",
      modifiers: [],
      cte_map: { map: [] },
      select_list: expressions,
      from_table: { type: "EMPTY", alias: "", sample: null, query_location: NO_LOCATION },
      where_clause: null,
      group_expressions: [],
      group_sets: [],
      aggregate_handling: "STANDARD_HANDLING",
      having: null,
      sample: null,
      qualify: null,
    },
    named_param_map: [],
  };
}
