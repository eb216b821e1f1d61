/** What refreshes cost by the rules, against computing the whole view. */
import { scaleLog } from "d3-scale";
import type { Overview, RunRecord, ViewOverview } from "../types.js";
import { anchor, counted, duration, plainMoment, times } from "./format.js";
import { costOf, OUTCOME_WORDS, outcomeOf, type ViewCost } from "./health.js";
import { type Html, html, name } from "./html.js";
import { percent } from "./parts.js";

const ROWS = 14;
/** Milliseconds that may be marked on an axis. */
const DECADES = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
const STEPS = DECADES.flatMap((ms) => [ms, 2 * ms, 5 * ms]);

interface CostRow extends ViewCost {
  readonly view: ViewOverview;
}

/** One line a view: a dot for a refresh by the rules, a ring for a computation of the whole. */
export function costSection({ views }: Overview): Html {
  const rows = views
    .map((view): CostRow => ({ view, ...costOf(view) }))
    .filter((row) => row.incrementalMs !== null || row.fullMs !== null)
    .sort((a, b) => b.view.totals.elapsedMs - a.view.totals.elapsedMs);
  if (rows.length === 0) return html`<p class="quiet">No refresh was timed yet.</p>`;
  const shown = rows.slice(0, ROWS);
  const values = shown.flatMap(({ incrementalMs, fullMs }) => [incrementalMs, fullMs]).filter((ms) => ms !== null);
  const scale = logScale(values);
  return html`<div class="costs">
${shown.map((row) => costRow(row, scale))}
<div class="cost"><span class="cost-name"></span>${axis(scale)}<span class="ratio"></span></div>
</div>
<div class="below"><ul class="legend"><li><span class="dot incremental"></span>incremental, median of the newest runs</li><li><span class="dot full"></span>the whole view, the last time it was computed</li></ul>
${rows.length > ROWS && html`<p class="quiet">The ${ROWS} views that took most time, of ${rows.length}.</p>`}</div>`;
}

type Scale = ReturnType<typeof logScale>;

function logScale(values: readonly number[]) {
  const low = Math.max(Math.min(...values), 1);
  const high = Math.max(...values, low * 10);
  return scaleLog([low / 1.6, high * 1.6], [0, 100]).clamp(true);
}

function axis(scale: Scale): Html {
  const [low = 1, high = 10] = scale.domain();
  const ticks = marksBetween(low, high).map((ms) => {
    const x = percent(scale(ms));
    return html`<line class="tick" x1="${x}" x2="${x}" y1="0" y2="5"></line><text class="tick" x="${x}" y="17" text-anchor="middle">${duration(ms)}</text>`;
  });
  return html`<svg class="axis" width="100%" height="22" aria-hidden="true">${ticks}</svg>`;
}

/** Whole decades where there are enough of them, and steps of 1, 2 and 5 where not. */
function marksBetween(low: number, high: number): number[] {
  const within = (marks: readonly number[]): number[] => marks.filter((ms) => ms >= low && ms <= high);
  const decades = within(DECADES);
  return decades.length >= 3 ? decades : within(STEPS);
}

function costRow({ view, incrementalMs, fullMs, measured }: CostRow, scale: Scale): Html {
  const label = [
    incrementalMs === null ? null : `incremental ${duration(incrementalMs)}`,
    fullMs === null ? null : `whole ${measured ? "" : "about "}${duration(fullMs)}`,
  ]
    .filter((part) => part !== null)
    .join(", ");
  const at = (ms: number): string => percent(scale(ms));
  const both = incrementalMs !== null && fullMs !== null;
  return html`<div class="cost"><span class="cost-name"><a href="#${anchor("view", view.view)}">${name(view.view)}</a></span>
<svg class="dumbbell" width="100%" height="22" role="img" aria-label="${view.view}: ${label}" data-tip="${label}"><line class="track" x1="0" x2="100%" y1="11" y2="11"></line>${both && html`<line class="${incrementalMs <= fullMs ? "gain" : "loss"}" x1="${at(incrementalMs)}" x2="${at(fullMs)}" y1="11" y2="11"></line>`}${fullMs !== null && html`<circle class="full" cx="${at(fullMs)}" cy="11" r="4.5"></circle>`}${incrementalMs !== null && html`<circle class="incremental" cx="${at(incrementalMs)}" cy="11" r="5"></circle>`}</svg>
<span class="ratio">${ratio(incrementalMs, fullMs)}</span></div>`;
}

function ratio(incrementalMs: number | null, fullMs: number | null): Html {
  if (incrementalMs === null) return html`<span class="quiet">recomputed</span>`;
  if (fullMs === null) return html`<span class="quiet">whole not timed</span>`;
  if (incrementalMs <= fullMs) return html`<b>${times(fullMs / Math.max(incrementalMs, 0.1))}</b> faster`;
  return html`<b class="loss">${times(incrementalMs / Math.max(fullMs, 0.1))}</b> slower`;
}

const PLOT_HEIGHT = 110;
const PLOT_MARGIN = 12;

/** Every refresh of one view in its order, oldest first, on a logarithmic scale of milliseconds. */
export function costOverTime(view: ViewOverview): Html {
  const runs = view.recent.filter((run) => run.status !== "failed" || run.elapsedMs > 0).toReversed();
  if (runs.length < 2) return html`<p class="quiet">One point so far; a chart needs two.</p>`;
  const wholes = wholeOverTime(runs);
  const values = [...runs.map((run) => run.elapsedMs), ...wholes.filter((ms) => ms !== null)];
  const [low, high] = [Math.max(Math.min(...values), 1), Math.max(...values, 2)];
  const y = scaleLog([low / 1.2, high * 1.2], [PLOT_HEIGHT - PLOT_MARGIN, PLOT_MARGIN]).clamp(true);
  const x = (index: number): string => percent(11 + (87 * index) / (runs.length - 1));
  const level = (ms: number): string => y(ms).toFixed(1);
  const grid = marksBetween(low / 1.2, high * 1.2).map(
    (ms) =>
      html`<line class="grid" x1="0" x2="100%" y1="${level(ms)}" y2="${level(ms)}"></line><text class="tick" x="0" y="${(y(ms) - 3).toFixed(1)}">${duration(ms)}</text>`,
  );
  const steps = wholes.slice(0, -1).map((ms, index) => {
    const next = wholes[index + 1];
    if (ms === null || next === null || next === undefined) return null;
    return html`<line class="whole" x1="${x(index)}" x2="${x(index + 1)}" y1="${level(ms)}" y2="${level(next)}"></line>`;
  });
  const points = runs.map((run, index) => point(run, x(index), level(Math.max(run.elapsedMs, 1))));
  const label = `${counted(runs.length, "refresh", "refreshes")} of ${view.view}, from ${duration(Math.min(...runs.map((run) => run.elapsedMs)))} to ${duration(Math.max(...runs.map((run) => run.elapsedMs)))}`;
  const [first, last] = [runs[0], runs.at(-1)];
  return html`<svg class="plot" width="100%" height="${PLOT_HEIGHT}" role="img" aria-label="${label}">${grid}${steps}${points}</svg>
<p class="ends"><span>${first && plainMoment(first.startedAt)}</span><span>${last && plainMoment(last.startedAt)}</span></p>
<ul class="legend"><li><span class="dot incremental"></span>incremental</li><li><span class="dot full"></span>whole view</li>${wholes.some((ms) => ms !== null) && html`<li><span class="dash"></span>what the whole view would take</li>`}</ul>`;
}

function point(run: RunRecord, x: string, y: string): Html {
  const outcome = outcomeOf(run);
  const tip = `${plainMoment(run.startedAt)}: ${OUTCOME_WORDS[outcome]}, ${duration(run.elapsedMs)}`;
  const mark =
    outcome === "failed"
      ? html`<text class="cross" x="${x}" y="${y}" dy="4" text-anchor="middle">×</text>`
      : html`<circle class="${outcome === "incremental" ? "incremental" : "full"}" cx="${x}" cy="${y}" r="3.5"></circle>`;
  return html`<g data-tip="${tip}">${mark}</g>`;
}

/** What the whole view took or would have taken at each run: the estimate that the run went by, or the last measurement. */
function wholeOverTime(runs: readonly RunRecord[]): (number | null)[] {
  let known: number | null = null;
  return runs.map((run) => {
    if (run.strategy === "initial" || run.strategy === "recompute") known = run.elapsedMs;
    else known = run.cost?.recompute.ms ?? known;
    return known;
  });
}
