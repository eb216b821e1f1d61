import { columnLineage } from "../plan/column-lineage.js";
import type { ColumnOrigin, ViewLineage } from "../types.js";
import { sourceName } from "../view/names.js";
import type { StoredView } from "../view/state.js";

/** Where the columns and rows of views come from, as their plans tell. @param schema of the user-facing views. */
export function lineageOf(views: readonly StoredView[], schema: string): ViewLineage[] {
  return views.map(({ name, definition }) => {
    const { plan, sql, columns, sources } = definition;
    // A recursion is read by scans of its own, which are no table.
    const known = (source: string): boolean => sources.some((candidate) => candidate.name === source);
    const lineage = plan === null ? null : columnLineage(plan.relation);
    const originsOf = (index: number): readonly ColumnOrigin[] =>
      (lineage?.originsOf(plan?.output[index] ?? "") ?? []).filter(({ source }) => known(source));
    return {
      view: name,
      dataset: sourceName(schema, name),
      sql,
      columns,
      sources: sources.map((source) => ({ name: source.name, columns: source.columns })),
      origins: lineage === null ? null : new Map(columns.map((column, index) => [column.name, originsOf(index)])),
      rowOrigins: (lineage?.rows ?? []).filter(({ source }) => known(source)),
    };
  });
}
