import { LAKE_NAME } from "../engine/lake.js";
import { quotePath } from "../sql/quote.js";
import { besideTables } from "../view/beside.js";
import type { Layout } from "../view/layout.js";
import type { StateTables } from "../view/state.js";

export function physicalTable(state: StateTables, name: string): string {
  return quotePath([LAKE_NAME, state.schema, name]);
}

export function physicalName(view: string): string {
  return `data_${view}`;
}

/** The tables beside a physical table, and those that hold recursions, as they stand in FROM. */
export function besidePaths(
  state: StateTables,
  layout: Layout,
  physical: string,
): { counted: readonly string[]; recursions: readonly string[] } {
  const beside = besideTables(layout, physical).map(({ name }) => physicalTable(state, name));
  const counted = beside.splice(0, (layout.counted ?? []).length);
  const recursions = (layout.recursions ?? []).map(
    (table) => (table.beside ? beside.shift() : undefined) ?? physicalTable(state, physical),
  );
  return { counted, recursions };
}
