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
