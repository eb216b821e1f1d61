import type { Session } from "../engine/session.js";
import { text, walkAst } from "./ast.js";
import { parseJson } from "./json.js";

/** What the engine says of its functions; made from `duckdb_functions()` and macros, used as plain data. */
export interface FunctionCatalog {
  /** Lower-case names of aggregate functions. */
  readonly aggregates: ReadonlySet<string>;
  /** Lower-case names of functions whose answer changes from call to call. */
  readonly volatile: ReadonlySet<string>;
  /** Lower-case names of functions that answer by the time or the session, the same within one query. */
  readonly perQuery: ReadonlySet<string>;
  /** Lower-case names of functions that take a lambda. */
  readonly lambdas: ReadonlySet<string>;
  /** Lower-case names of DuckDB's own macros that aggregate, read tables or are volatile. */
  readonly opaqueMacros: ReadonlySet<string>;
  /** Lower-case names of macros that users made: what they mean can change at any time. */
  readonly userMacros: ReadonlySet<string>;
}

/** Called volatile by the engine, but its only effect is to fail: it has one answer. */
const NOT_REALLY_VOLATILE = new Set(["error"]);

/** Reads what the engine says of its functions. */
export async function loadFunctions(session: Session): Promise<FunctionCatalog> {
  const rows = await session.rows<{
    name: string;
    type: string;
    stability: string | null;
    lambda: boolean;
    internal: boolean;
  }>(`
    SELECT DISTINCT lower(function_name) AS name, function_type AS type, stability, internal,
           coalesce(list_contains(parameter_types, 'LAMBDA'), false) AS lambda
    FROM duckdb_functions()`);
  const named = (test: (row: (typeof rows)[number]) => boolean): ReadonlySet<string> =>
    new Set(rows.filter(test).map((row) => row.name));
  const aggregates = named((row) => row.type === "aggregate");
  const volatile = named((row) => row.stability === "VOLATILE" && !NOT_REALLY_VOLATILE.has(row.name));
  return {
    aggregates,
    volatile,
    perQuery: named((row) => row.stability === "CONSISTENT_WITHIN_QUERY"),
    lambdas: named((row) => row.lambda),
    opaqueMacros: await opaqueMacros(session, aggregates, volatile),
    userMacros: named((row) => !row.internal && (row.type === "macro" || row.type === "table_macro")),
  };
}

/** DuckDB's own macros whose text calls an aggregate, a volatile function, another such macro, or has a subquery. */
async function opaqueMacros(
  session: Session,
  aggregates: ReadonlySet<string>,
  volatile: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const macros = await session.rows<{ name: string; tree: string }>(`
    SELECT lower(function_name) AS name, json_serialize_sql('SELECT ' || macro_definition)::VARCHAR AS tree
    FROM duckdb_functions() WHERE function_type = 'macro' AND internal AND macro_definition IS NOT NULL`);
  const opaque = new Set<string>();
  const trees = macros.map(({ name, tree }) => ({ name, tree: parseJson(tree) }));
  for (let before = -1; before !== opaque.size; ) {
    before = opaque.size;
    for (const { name, tree } of trees) {
      walkAst(tree, (node) => {
        const called = node["class"] === "FUNCTION" ? text(node, "function_name").toLowerCase() : "";
        const hides =
          aggregates.has(called) || volatile.has(called) || opaque.has(called) || node["class"] === "SUBQUERY";
        if (hides) opaque.add(name);
        return undefined;
      });
    }
  }
  return opaque;
}
