/** Each view with all that is known of it, folded up to one line. */
import type { Overview, RetainedCursor, RunRecord, ViewOverview } from "../types.js";
import { adviceSection } from "./advice.js";
import { costOverTime } from "./costs.js";
import { ago, anchor, count, counted, duration } from "./format.js";
import { type Health, healthOf, OUTCOME_WORDS, outcomeOf } from "./health.js";
import { type Html, html, name } from "./html.js";
import { healthMark } from "./parts.js";
import { planTree } from "./plan-tree.js";

const LISTED_RUNS = 8;

export function viewsSection(overview: Overview): Html {
  if (overview.views.length === 0)
    return html`<p class="quiet">No view is applied yet; <code>ducklake-ivm apply</code> does that.</p>`;
  return html`<div class="filter" hidden><label for="filter">Filter</label><input id="filter" type="search" placeholder="name, state or strategy" autocomplete="off" spellcheck="false"><span id="filter-count" class="quiet" role="status"></span></div>
<div class="views">${overview.views.map((view) => viewDetails(view, overview))}</div>`;
}

function viewDetails(view: ViewOverview, overview: Overview): Html {
  const health = healthOf(view);
  const words = [view.view, health, view.state, view.strategy, view.refresh].join(" ").toLowerCase();
  return html`<details class="view" id="${anchor("view", view.view)}" data-words="${words}">
<summary><span class="view-name">${healthMark(health, "")}${name(view.view)}</span><span class="view-state">${stateWords(view, health)}</span><span class="view-strategy">${strategyWords(view)}</span><span class="view-rows">${view.rows === null ? "–" : counted(view.rows, "row")}</span><span class="view-last">${view.totals.refreshedAt === null ? "never refreshed" : html`refreshed ${ago(view.totals.refreshedAt, overview.takenAt)}`}</span></summary>
<div class="view-body">
<div><section><h3>How it is kept</h3>${planTree(view)}</section>
<section><h3>Sources</h3>${sourcesTable(view, overview)}</section></div>
<div><section><h3>What refreshes took</h3>${costOverTime(view)}</section>
<section><h3>Newest runs</h3>${runsTable(view, overview.takenAt)}</section></div>
${adviceSection(view)}
<section class="wide"><h3>Definition</h3>${definition(view)}</section>
</div></details>`;
}

function stateWords(view: ViewOverview, health: Health): Html {
  if (health === "stale" && view.lagMs !== null)
    return html`<span class="health stale">${duration(view.lagMs)} behind</span>`;
  const words: Record<Health, string> = {
    failed: "failed",
    pending: "never built",
    rebuild: "new definition",
    stale: "behind",
    fresh: "up to date",
  };
  return html`<span class="health ${health}">${words[health]}</span>`;
}

function strategyWords({ strategy, refresh }: ViewOverview): Html {
  if (strategy === "incremental") return html`<span class="kind incremental">incremental</span>`;
  return html`<span class="kind recompute">recomputed${refresh === "full" && " as asked"}</span>`;
}

function sourcesTable(view: ViewOverview, { retention, takenAt }: Overview): Html {
  const oldest = retention.cursors.find((cursor) => cursor.view === view.view);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Sources of ${view.view}"><table><thead><tr><th scope="col">Source</th><th scope="col" class="number">Consumed up to</th><th scope="col">Since then</th></tr></thead><tbody>
${view.sources.map(({ source, cursor, changed }) => html`<tr><td>${name(source)}</td><td class="number">${cursor === null ? "–" : count(cursor)}</td><td>${changed ? html`<span class="health stale">changed</span>` : "unchanged"}</td></tr>`)}
</tbody></table></div>${oldest !== undefined && html`<p class="quiet">${cursorAge(oldest, takenAt)}</p>`}`;
}

function cursorAge({ snapshot, at }: RetainedCursor, now: string): Html {
  if (at === null) return html`Snapshot ${count(snapshot)}, its oldest cursor, was expired.`;
  return html`Its oldest cursor, snapshot ${count(snapshot)}, is from ${ago(at, now)}.`;
}

function runsTable(view: ViewOverview, now: string): Html {
  if (view.recent.length === 0) return html`<p class="quiet">No run has changed it yet.</p>`;
  const { totals } = view;
  const all = totals.initial + totals.incremental + totals.recompute + totals.failed;
  const tally = [
    `${count(totals.incremental)} incremental`,
    `${count(totals.recompute)} recomputed`,
    ...(totals.failed > 0n ? [`${count(totals.failed)} failed`] : []),
  ].join(", ");
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Newest runs of ${view.view}"><table><thead><tr><th scope="col">Began</th><th scope="col">How</th><th scope="col" class="number">Took</th><th scope="col" class="number">Rows in</th><th scope="col" class="number">Rows out</th></tr></thead><tbody>
${view.recent.slice(0, LISTED_RUNS).map((run) => runRow(run, now))}</tbody></table></div>
<p class="quiet">${counted(all, "run")} in all: ${tally}; ${duration(totals.elapsedMs)} together.</p>`;
}

function runRow(run: RunRecord, now: string): Html {
  const outcome = outcomeOf(run);
  const why = run.error?.message ?? run.reason?.text;
  return html`<tr><td>${ago(run.startedAt, now)}</td><td><span class="kind ${outcome}">${OUTCOME_WORDS[outcome]}</span>${why !== undefined && html`<span class="why">${why}</span>`}</td><td class="number">${duration(run.elapsedMs)}</td><td class="number">${run.error === null ? count(run.rows.inserted) : "–"}</td><td class="number">${run.error === null ? count(run.rows.deleted) : "–"}</td></tr>`;
}

function definition({ sql, primaryKey, columns, view }: ViewOverview): Html {
  const keys =
    primaryKey.length > 0 &&
    html`<p class="quiet">Primary key: ${primaryKey.map((column, index) => html`${index > 0 && ", "}${name(column)}`)}</p>`;
  return html`${keys}<pre tabindex="0" role="region" aria-label="SQL of ${view}"><code>${sql.trim()}</code></pre>
<p class="columns">${columns.map((column) => html`<span>${name(column.name)} <span class="quiet">${column.type}</span></span>`)}</p>`;
}
