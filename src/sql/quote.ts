/** The one place that turns names and values into SQL text, and that says when two names are one. */

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteLiteral(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** A dotted path such as catalog.schema.table, each part quoted. */
export function quotePath(parts: readonly string[]): string {
  return parts.map(quoteIdentifier).join(".");
}

/** Names of tables, columns and views compare without case. */
export function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Items of a SELECT that give columns of these types, as a stand-in for rows that are not there. */
export function typedNulls(columns: readonly { readonly name: string; readonly type: string }[]): string {
  return columns.map(({ name, type }) => `CAST(NULL AS ${type}) AS ${quoteIdentifier(name)}`).join(", ");
}
