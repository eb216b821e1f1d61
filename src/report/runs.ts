/** When which view was refreshed, how, and what that took. */
import { scaleLinear } from "d3-scale";
import type { Overview, RunBucket, RunSummary } from "../types.js";
import { ago, anchor, count, counted, duration, plainMoment } from "./format.js";
import { groupBy } from "./group.js";
import { OUTCOME_WORDS, type Outcome } from "./health.js";
import { type Html, html, name } from "./html.js";
import { legend, percent } from "./parts.js";
import { timeAxis } from "./time-axis.js";

const LANES = 40;
const LANE_HEIGHT = 18;
const TOTAL_HEIGHT = 84;
const FAILED_HEIGHT = 6;
/** From the bottom of a bar to its top. */
const STACK: readonly Outcome[] = ["incremental", "recompute", "initial", "failed"];

export function runsSection(overview: Overview): Html {
  const { runs, takenAt } = overview;
  if (runs.from === null) return html`<p class="quiet">No run has changed a view yet.</p>`;
  return html`${timeline(overview)}
<h3>Newest runs</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Newest runs"><table>
<thead><tr><th scope="col">Began</th><th scope="col" class="number">Took</th><th scope="col" class="number">Snapshot</th><th scope="col">Views</th><th scope="col" class="number">Rows in</th><th scope="col" class="number">Rows out</th><th scope="col">Run</th></tr></thead>
<tbody>${runs.recent.slice(0, 12).map((run) => runRow(run, takenAt))}</tbody>
</table></div>`;
}

function runRow(run: RunSummary, now: string): Html {
  const { refreshed, recomputed, failed } = run.views;
  const parts = [
    refreshed === 0 ? null : `${refreshed} refreshed`,
    recomputed === 0 ? null : `${recomputed} as a whole`,
  ].filter((part) => part !== null);
  return html`<tr><td>${ago(run.startedAt, now)}</td><td class="number">${duration(run.elapsedMs)}</td><td class="number">${count(run.horizon)}</td><td>${failed > 0 && html`<strong class="failed">${failed} failed</strong>${parts.length > 0 && ", "}`}${parts.join(", ")}</td><td class="number">${count(run.rows.inserted)}</td><td class="number">${count(run.rows.deleted)}</td><td><code>${run.runId.slice(0, 8)}</code></td></tr>`;
}

function timeline({ runs, views }: Overview): Html {
  const start = Date.parse(runs.from ?? "");
  const width = 100 / runs.bucketCount;
  const axis = timeAxis(start, start + runs.bucketMs * runs.bucketCount);
  const byView = groupBy(runs.buckets, (bucket) => bucket.view);
  const spent = (view: string): number => sum(byView.get(view) ?? []);
  const lanes = views
    .map(({ view }) => view)
    .filter((view) => byView.has(view))
    .sort((a, b) => spent(b) - spent(a));
  const when = (bucket: number): string => plainMoment(new Date(start + bucket * runs.bucketMs).toISOString());
  const shown = STACK.filter((outcome) => runs.buckets.some((bucket) => bucket.outcome === outcome));
  return html`<div class="timeline">
<div class="lane total"><div class="lane-name">all views<span class="quiet"> time spent</span></div>${totals(runs.buckets, width, when)}</div>
${lanes.slice(0, LANES).map((view) => html`<div class="lane"><div class="lane-name"><a href="#${anchor("view", view)}">${name(view)}</a></div>${lane(view, byView.get(view) ?? [], width, when)}</div>`)}
<div class="lane"><div class="lane-name">${lanes.length > LANES && html`<span class="quiet">and ${counted(lanes.length - LANES, "view")} with less time</span>`}</div>${axis.ticks}</div>
</div>
<div class="below">${legend(shown)}<p class="quiet">${counted(runs.count, "run")}; each step is ${duration(runs.bucketMs)}. A bar's height is the time spent, in each row against the row's longest.</p></div>`;
}

function sum(buckets: readonly RunBucket[]): number {
  return buckets.reduce((total, bucket) => total + bucket.elapsedMs, 0);
}

type When = (bucket: number) => string;

function totals(buckets: readonly RunBucket[], width: number, when: When): Html {
  const steps = [...groupBy(buckets, ({ bucket }) => bucket)];
  const longest = Math.max(...steps.map(([, own]) => sum(own)), 1);
  const label = `Time that refreshes took over time, at most ${duration(longest)} in one step`;
  return html`<div class="strip"><span class="scale">${duration(longest)}</span><svg width="100%" height="${TOTAL_HEIGHT}" role="img" aria-label="${label}"><line class="grid" x1="0" x2="100%" y1="0.5" y2="0.5"></line>${steps.map(([bucket, own]) => bar(bucket, own, { width, height: TOTAL_HEIGHT, longest, when }))}<line class="base" x1="0" x2="100%" y1="${TOTAL_HEIGHT - 0.5}" y2="${TOTAL_HEIGHT - 0.5}"></line></svg></div>`;
}

function lane(view: string, buckets: readonly RunBucket[], width: number, when: When): Html {
  const steps = [...groupBy(buckets, ({ bucket }) => bucket)];
  const longest = Math.max(...steps.map(([, own]) => sum(own)), 1);
  const label = `${view}: ${outcomes(buckets)}`;
  return html`<div class="strip"><svg width="100%" height="${LANE_HEIGHT}" role="img" aria-label="${label}">${steps.map(([bucket, own]) => bar(bucket, own, { width, height: LANE_HEIGHT, longest, when }))}<line class="base" x1="0" x2="100%" y1="${LANE_HEIGHT - 0.5}" y2="${LANE_HEIGHT - 0.5}"></line></svg></div>`;
}

interface BarOptions {
  readonly width: number;
  readonly height: number;
  readonly longest: number;
  readonly when: When;
}

/** A failure takes no time worth a bar, and must be seen: it gets a height of its own. */
function bar(bucket: number, own: readonly RunBucket[], { width, height, longest, when }: BarOptions): Html {
  const scale = scaleLinear([0, longest], [0, height - 2]);
  let top = height;
  const parts = STACK.flatMap((outcome) => {
    const matching = own.filter((candidate) => candidate.outcome === outcome);
    if (matching.length === 0) return [];
    const least = outcome === "failed" ? FAILED_HEIGHT : 1.5;
    const size = Math.min(Math.max(scale(sum(matching)), least), top);
    top -= size;
    return [
      html`<rect class="${outcome}" x="${percent(bucket * width)}" width="${percent(width * 0.82)}" y="${top.toFixed(1)}" height="${size.toFixed(1)}"></rect>`,
    ];
  });
  return html`<g data-tip="${when(bucket)}: ${outcomes(own)}, ${duration(sum(own))}">${parts}</g>`;
}

function outcomes(buckets: readonly RunBucket[]): string {
  return STACK.flatMap((outcome) => {
    const refreshes = buckets
      .filter((bucket) => bucket.outcome === outcome)
      .reduce((total, bucket) => total + bucket.refreshes, 0);
    return refreshes === 0 ? [] : [`${count(refreshes)} ${OUTCOME_WORDS[outcome]}`];
  }).join(", ");
}
