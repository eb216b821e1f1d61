/** The head of the page: the verdict, what to do, and four numbers. */
import type { Overview } from "../types.js";
import type { Finding } from "./findings.js";
import { ago, anchor, count, counted, duration, moment, times } from "./format.js";
import { costOf, type Health, healthOf } from "./health.js";
import { type Content, type Html, html, name } from "./html.js";
import { icon } from "./parts.js";

const NAMES = 6;
const SHOWN = 8;

export function verdict({ views }: Overview): string {
  if (views.length === 0) return "No view is applied yet";
  const having = (health: Health): number => views.filter((view) => healthOf(view) === health).length;
  const fresh = having("fresh");
  if (fresh === views.length)
    return views.length === 1 ? "The view is up to date" : `All ${count(views.length)} views are up to date`;
  const failed = having("failed");
  const behind = having("stale");
  const waiting = having("pending") + having("rebuild");
  const are = (number: number): string => (number === 1 ? "is" : "are");
  const parts = [
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    ...(behind > 0 ? [`${count(behind)} ${are(behind)} behind`] : []),
    ...(waiting > 0 ? [`${count(waiting)} ${waiting === 1 ? "waits" : "wait"} to be built`] : []),
  ];
  return `Of ${counted(views.length, "view")}, ${sentence(parts)}`;
}

function sentence(parts: readonly string[]): string {
  const last = parts.at(-1) ?? "";
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
}

export function summary(overview: Overview, findings: readonly Finding[]): Html {
  return html`<p class="as-of">Snapshot ${count(overview.snapshot)}, committed ${moment(overview.snapshotAt)}. Looked at ${moment(overview.takenAt)}.</p>
${numbers(overview)}
${findings.length === 0 ? html`<p class="all-well">Nothing asks for attention.</p>` : findingsList(findings)}`;
}

function numbers(overview: Overview): Html {
  const { views, runs, takenAt } = overview;
  const fresh = views.filter((view) => healthOf(view) === "fresh").length;
  const longest = [...views].sort((a, b) => (b.lagMs ?? 0) - (a.lagMs ?? 0))[0];
  const [last] = runs.recent;
  const { spent, whole } = comparison(overview);
  return html`<dl class="numbers">
${number("Up to date", html`${count(fresh)}<span class="of"> of ${count(views.length)}</span>`, "views")}
${number("Longest lag", longest === undefined || !longest.lagMs ? "none" : duration(longest.lagMs), longest?.lagMs ? name(longest.view) : "every view that was built shows all")}
${number("Newest run", last === undefined ? "none" : duration(last.elapsedMs), last === undefined ? "no run yet" : html`began ${ago(last.startedAt, takenAt)}`)}
${number("Against recomputing", spent === 0 ? "–" : spent <= whole ? html`${times(whole / spent)}<span class="of"> faster</span>` : html`${times(spent / whole)}<span class="of"> slower</span>`, spent === 0 ? "nothing to compare yet" : `${duration(spent)} instead of ${duration(whole)}, newest runs`)}
</dl>`;
}

function number(label: string, value: Content, note: Content): Html {
  return html`<div><dt>${label}</dt><dd><span class="value">${value}</span><span class="quiet">${note}</span></dd></div>`;
}

/** What the newest incremental refreshes took, and what computing the same views would have taken. */
function comparison({ views }: Overview): { spent: number; whole: number } {
  let [spent, whole] = [0, 0];
  for (const view of views) {
    const { fullMs } = costOf(view);
    if (fullMs === null) continue;
    for (const run of view.recent) {
      if (run.strategy !== "incremental") continue;
      spent += run.elapsedMs;
      whole += fullMs;
    }
  }
  return { spent, whole };
}

const MARKS: Readonly<Record<Finding["severity"], Health>> = { error: "failed", warning: "stale", note: "pending" };
const SEVERITY_WORDS: Readonly<Record<Finding["severity"], string>> = {
  error: "Broken:",
  warning: "Attention:",
  note: "Worth knowing:",
};

function findingsList(findings: readonly Finding[]): Html {
  const rest = findings.slice(SHOWN);
  return html`<section class="findings" aria-labelledby="attention"><h2 id="attention">What to do</h2>
<ol>${findings.slice(0, SHOWN).map(finding)}</ol>
${rest.length > 0 && html`<details class="more"><summary>${count(rest.length)} more</summary><ol>${rest.map(finding)}</ol></details>`}</section>`;
}

function finding({ severity, views, title, text, command }: Finding): Html {
  return html`<li class="${severity}">${icon(MARKS[severity])}<div><p class="title"><span class="hidden">${SEVERITY_WORDS[severity]} </span>${names(views)} ${title}</p><p class="text">${text}</p>${command !== null && html`<p class="command"><code>${command}</code></p>`}</div></li>`;
}

function names(views: readonly string[]): Content {
  const shown = views
    .slice(0, NAMES)
    .map((view, index) => html`${index > 0 && ", "}<a href="#${anchor("view", view)}">${name(view)}</a>`);
  const rest = views.length - NAMES;
  return [...shown, rest > 0 ? ` and ${count(rest)} more` : null];
}
