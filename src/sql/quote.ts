/** The one place that turns names and values into SQL text. */

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
