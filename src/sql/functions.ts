import type { Session } from "../engine/session.js";

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
  /** Lower-case names of macros. */
  readonly macros: ReadonlySet<string>;
}

/** Called volatile by the engine, but its only effect is to fail: it has one answer. */
const NOT_REALLY_VOLATILE = new Set(["error"]);

/** Reads what the engine says of its functions. */
export async function loadFunctions(session: Session): Promise<FunctionCatalog> {
  const rows = await session.rows<{ name: string; type: string; stability: string | null; lambda: boolean }>(`
    SELECT DISTINCT lower(function_name) AS name, function_type AS type, stability,
           coalesce(list_contains(parameter_types, 'LAMBDA'), false) AS lambda
    FROM duckdb_functions()`);
  const named = (test: (row: (typeof rows)[number]) => boolean): ReadonlySet<string> =>
    new Set(rows.filter(test).map((row) => row.name));
  return {
    aggregates: named((row) => row.type === "aggregate"),
    volatile: named((row) => row.stability === "VOLATILE" && !NOT_REALLY_VOLATILE.has(row.name)),
    perQuery: named((row) => row.stability === "CONSISTENT_WITHIN_QUERY"),
    lambdas: named((row) => row.lambda),
    macros: named((row) => row.type === "macro"),
  };
}
