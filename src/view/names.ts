/** How tables and views are written in messages, results and state: `schema.table`, quoted only where needed. */
export function sourceName(schema: string, table: string): string {
  return `${plainName(schema)}.${plainName(table)}`;
}

function plainName(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
