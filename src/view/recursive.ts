import { isRecursive } from "../plan/recursion.js";
import type { Relation, Scan } from "../plan/relation.js";
import type { ViewPlan } from "./plan-view.js";
import { type DraftColumn, type PhysicalColumn, storedName } from "./states.js";

/** Where the rows of a recursion are stored, from which its next steps go on. */
export interface RecursiveTable {
  readonly source: string;
  /** In the order of the recursion's own columns. */
  readonly columns: readonly PhysicalColumn[];
  /** False where the view's physical table itself holds them. */
  readonly beside: boolean;
}

export type RecursiveDraft = Omit<RecursiveTable, "columns"> & { readonly columns: readonly DraftColumn[] };

/** A plan that only filters and projects the rows of a recursion. */
export interface OverRecursion {
  readonly scan: Scan;
  readonly above: (input: Relation) => Relation;
}

export function splitAtRecursion(relation: Relation): OverRecursion | undefined {
  if (relation.kind === "scan") {
    return isRecursive(relation.source) ? { scan: relation, above: (input) => input } : undefined;
  }
  if (relation.kind !== "project" && relation.kind !== "filter") return undefined;
  const inner = splitAtRecursion(relation.input);
  return inner && { ...inner, above: (input) => ({ ...relation, input: inner.above(input) }) };
}

/** The columns of a recursion that nothing has shown, as a table has them. */
export function recursionColumns(plan: ViewPlan, source: string): DraftColumn[] {
  const recursion = plan.recursions?.find((candidate) => candidate.source === source);
  if (recursion === undefined) throw new TypeError(`the plan has no ${source}`);
  return recursion.columns.map((name, index) => ({
    id: `${name}#stored${index + 1}`,
    name: storedName(name),
    type: plan.types[recursion.anchor.output[index] ?? ""] ?? "VARCHAR",
  }));
}

/** Tables for all recursions of a plan but the one whose rows the physical table holds. */
export function besideRecursions(plan: ViewPlan, own?: string): RecursiveDraft[] {
  return (plan.recursions ?? [])
    .filter(({ source }) => source !== own)
    .map(({ source }) => ({ source, columns: recursionColumns(plan, source), beside: true }));
}
