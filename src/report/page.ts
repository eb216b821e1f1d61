/** The report: one page that needs nothing else. */
import { createHash } from "node:crypto";
import type { Overview } from "../types.js";
import { costSection } from "./costs.js";
import { findingsOf } from "./findings.js";
import { graphSection } from "./graph.js";
import { type Html, html, Html as Markup, name } from "./html.js";
import { logsSection } from "./logs.js";
import { retentionSection } from "./retention.js";
import { runsSection } from "./runs.js";
import { SCRIPT } from "./script.js";
import { STYLE } from "./style.js";
import { summary, verdict } from "./summary.js";
import { viewsSection } from "./views.js";

export interface PageOptions {
  /** What the lake is called, on top of the page. */
  readonly title?: string;
  /** Set where the page is served and follows the lake: how often it looks, in milliseconds. */
  readonly everyMs?: number;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M2 11h12M2 8h8M2 5h4' stroke='%230b7285' stroke-width='2'/%3E%3C/svg%3E";

/** What a page may do: nothing but its own style and script, told by their hashes. */
export function contentPolicy(options: PageOptions): string {
  return [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'`,
    `script-src '${hashOf(SCRIPT)}'`,
    "img-src data:",
    ...(options.everyMs === undefined ? [] : ["connect-src 'self'"]),
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** The page as HTML. */
export function renderPage(overview: Overview, options: PageOptions = {}): string {
  const title = options.title ?? "lake";
  const live = options.everyMs === undefined ? "" : html` data-every="${options.everyMs}"`;
  const served =
    options.everyMs !== undefined &&
    html` The same as data: <a href="report.json">report.json</a>, <a href="metrics">metrics</a>.`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentPolicy(options)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}: ${verdict(overview)}</title>
<link rel="icon" href="${ICON}">
<style>${new Markup(STYLE)}</style>
</head>
<body${live}>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><span class="lake-name">${name(title)}</span><nav aria-label="Sections"><a href="#graph">Graph</a><a href="#runs">Runs</a><a href="#cost">Cost</a><a href="#views">Views</a><a href="#logs">Logs</a><a href="#retention">Retention</a></nav><span class="live" role="status" hidden></span></header>
${body(overview)}
<footer><p class="quiet">Made by ducklake-ivm. Times are in UTC; every number is from the lake's own tables.${served}</p></footer>
<div class="tip" role="presentation" hidden></div>
<script>${new Markup(SCRIPT)}</script>
</body>
</html>
`;
  return page.text;
}

function body(overview: Overview): Html {
  return html`<main id="main" tabindex="-1">
<h1>${verdict(overview)}</h1>
${summary(overview, findingsOf(overview))}
${section("graph", "Graph", "What each view reads, and how fresh it is.", graphSection(overview))}
${section("runs", "Runs", "When which view was refreshed, and how.", runsSection(overview))}
${section("cost", "Cost", "A refresh by the rules against computing the whole view.", costSection(overview))}
${section("views", "Views", "Open one for its plan, its history and its definition.", viewsSection(overview))}
${section("logs", "Change logs", "What other systems read, and how far they have read.", logsSection(overview))}
${section("retention", "Retention", "How far back the lake goes.", retentionSection(overview))}
</main>`;
}

function section(id: string, title: string, lead: string, content: Html): Html {
  return html`<section id="${id}" class="part" aria-labelledby="${id}-title"><header><h2 id="${id}-title">${title}</h2><p class="quiet">${lead}</p></header>
${content}
</section>`;
}
