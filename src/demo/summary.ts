import type { VerifyResult } from "../types.js";
import type { Step, Totals } from "./result.js";
import { type Column, milliseconds, type Row, speedUp, sum } from "./text.js";

const TIMES: readonly Column[] = [
  { title: "refresh", align: "right", width: 9 },
  { title: "recompute", align: "right", width: 9 },
  { title: "speed-up", align: "right" },
];

export const STEP_SUMMARY: readonly Column[] = [
  { title: "all views, after", width: 17 },
  { title: "rows changed in the tables", align: "right" },
  ...TIMES,
];

export const VIEW_SUMMARY: readonly Column[] = [
  { title: "each view, in all months but the first", width: 45 },
  ...TIMES,
];

export function stepSummary(steps: readonly Step[], totals: Totals): (Row | "rule")[] {
  const rows = steps.map((step): Row => [step.name, sum(step.changes, (change) => change.rows), ...times(step)]);
  return totals.months > 1 ? [...rows, "rule", [`months 2 to ${totals.months + 1}`, "", ...times(totals)]] : rows;
}

export function viewSummary(totals: Totals): Row[] {
  return totals.views.map((view) => [view.view, ...times(view)]);
}

function times({ refreshMs, recomputeMs }: { readonly refreshMs: number; readonly recomputeMs: number | null }): Row {
  return [milliseconds(refreshMs), milliseconds(recomputeMs), speedUp(refreshMs, recomputeMs)];
}

/** What the numbers say, whatever they are. */
export function conclusions(steps: readonly Step[], totals: Totals): string[] {
  const months = steps.filter((step) => step.month !== null && step.month > 1);
  const small = steps.find((step) => step.month === null && step.recomputeMs !== null);
  const lines: string[] = [];
  if (months.length > 0) {
    const { refreshMs, recomputeMs } = totals;
    const isFaster = recomputeMs >= refreshMs;
    const factor = isFaster ? recomputeMs / refreshMs : refreshMs / recomputeMs;
    const word = isFaster ? "faster" : "slower";
    lines.push(`After the first month, refreshing was ${factor.toFixed(1)} times ${word} than recomputing.`);
  }
  const [first, last] = [months[0], months.at(-1)];
  if (first !== undefined && last !== undefined && first !== last) {
    lines.push(
      `From ${first.name} to ${last.name} the time of a recompute went from ${milliseconds(first.recomputeMs)} to ` +
        `${milliseconds(last.recomputeMs)},`,
      `that of a refresh from ${milliseconds(first.refreshMs)} to ${milliseconds(last.refreshMs)}.`,
    );
  }
  if (small !== undefined && small.views.length > 0) {
    const each = milliseconds(small.refreshMs / small.views.length);
    lines.push(
      `The small change took ${each} a view, which is about the least that a refresh takes: it pays off for`,
      "views whose queries take longer than that.",
    );
  }
  return lines;
}

/** What went wrong, in one sentence. */
export function trouble(steps: readonly Step[], verified: readonly VerifyResult[]): string {
  const failed = steps.filter((step) => step.status === "failed").length;
  const wrong = verified.filter((result) => !result.ok).length;
  const parts = [
    ...(failed > 0 ? [`${failed} of ${steps.length} refreshes failed`] : []),
    ...(wrong > 0 ? [`${wrong} of ${verified.length} views are not exact`] : []),
  ];
  return `${parts.join(" and ")}.`;
}
