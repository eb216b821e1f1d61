import type { ViewDefinition } from "../types.js";
import { checkColumns } from "./check.js";
import { compileQuery } from "./compile.js";
import type { KeyedQuery, Query } from "./query.js";

/** What a definition says besides its query. */
export type ViewOptions = Omit<ViewDefinition, "name" | "sql" | "query" | "primaryKey" | "file" | "lineOffset">;

/**
 * A definition of a query, as `define` takes it and as `views.ts` exports it: the same as that of a `.sql` file.
 * @throws DefinitionError for names that can be seen to be wrong without a lake.
 */
export function view<S extends object>(
  name: string,
  query: Query<S> | KeyedQuery<S>,
  options: ViewOptions = {},
): ViewDefinition {
  checkColumns(query.query, () => undefined, { view: name });
  const primaryKey = "key" in query && query.key.length > 0 ? { primaryKey: query.key } : {};
  return Object.freeze({ name, sql: compileQuery(query.query), ...primaryKey, ...options, query: query.query });
}
