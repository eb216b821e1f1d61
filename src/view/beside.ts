import type { ColumnId } from "../plan/relation.js";
import type { Layout } from "./layout.js";
import type { PhysicalColumn } from "./states.js";

/** A table that a view keeps beside its physical one. */
export interface BesideTable {
  /** Its name in the state schema. */
  readonly name: string;
  readonly columns: readonly PhysicalColumn[];
  /** The columns by which a row is found; all where undefined. */
  readonly keys: readonly ColumnId[] | undefined;
  /** The temporary table with the change that is to be written to it. */
  readonly difference: string;
}

/** The temporary table with the change of the counted values at a position. */
export function countedDifference(position: number): string {
  return `ivm_difference_counted${position + 1}`;
}

/** The temporary table with the change of a recursion's rows. */
export function recursionDifference(position: number): string {
  return `ivm_difference_recursive${position + 1}`;
}

/** The tables beside a physical table of this name: those of counted values, then those of recursions. */
export function besideTables(layout: Layout, physical: string): BesideTable[] {
  const counted = (layout.counted ?? []).map((table, position) => ({
    name: `counted${position + 1}_${physical}`,
    columns: table.columns,
    keys: [...(layout.groups?.keys ?? []), table.id],
    difference: countedDifference(position),
  }));
  const recursive = (layout.recursions ?? []).flatMap((table, position) =>
    table.beside
      ? [
          {
            name: `recursive${position + 1}_${physical}`,
            columns: table.columns,
            keys: undefined,
            difference: recursionDifference(position),
          },
        ]
      : [],
  );
  return [...counted, ...recursive];
}
