import type { Window } from "../plan/relation.js";
import type { Layout } from "../view/layout.js";
import type { ViewPlan } from "../view/plan-view.js";
import { runningOf } from "../view/running.js";

/**
 * The rule that keeps window functions of one PARTITION BY, and why it is not the cheapest one.
 * @param layout null where they are not at the top of the view.
 */
export function windowStrategy(
  plan: ViewPlan,
  layout: Layout | null,
  { columns, partition }: Window,
): { readonly strategy: string; readonly why: string | null } {
  const ids = columns.map(({ id }) => id);
  const runs = layout?.running?.runs.filter((run) => run.columns.some(({ id }) => ids.includes(id))) ?? [];
  if (runs.length === 0) {
    const strategy = partition.length === 0 ? "all rows, new minus old" : "affected partitions, new minus old";
    return { strategy, why: refusal(plan, layout) };
  }
  const whole = runs.find((run) => run.whole !== null)?.whole ?? null;
  const which = partition.length === 0 ? "all rows" : "affected partitions";
  return whole === null
    ? { strategy: `resumed behind the end of a partition, else ${which} evaluated anew from stored rows`, why: null }
    : { strategy: `${which} evaluated anew from stored rows`, why: whole };
}

/** Why the rows of the windows are not stored, so that no partition goes on from where it ended. */
function refusal(plan: ViewPlan, layout: Layout | null): string | null {
  const found = layout === null ? null : runningOf(plan, { foldFloats: false });
  if (found === null) return "not resumed, since other operators than projections and filters stand above";
  return found.running === null ? `not resumed, since ${found.why}` : "not resumed by this definition";
}
