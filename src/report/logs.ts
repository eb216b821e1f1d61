/** How change logs are laid out in files, and how far their consumers have read. */
import { scaleLinear } from "d3-scale";
import type { ConsumerStatus, LogOverview, LogSegment, Overview } from "../types.js";
import { anchor, bytes, count, counted, duration } from "./format.js";
import { type Content, type Html, html, name } from "./html.js";
import { percent } from "./parts.js";

const LOGS = 24;
const ROW = 9;
/** The width of the base, in percent: it holds all that was before the segments. */
const BASE_WIDTH = 8;

export function logsSection({ logs, consumers }: Overview): Html {
  if (logs.length === 0)
    return html`<p class="quiet">This project keeps no change logs. With <code>log.path</code> set, each refresh publishes what it changed.</p>`;
  const largest = [...logs].sort((a, b) => Number(b.bytes - a.bytes));
  return html`${consumers.length > 0 && consumersTable(consumers)}
<div class="logs">${largest.slice(0, LOGS).map((log) =>
    layoutOf(
      log,
      consumers.filter((consumer) => consumer.view === log.view),
    ),
  )}</div>
<div class="below"><ul class="legend"><li><span class="swatch base"></span>base: the whole state</li><li><span class="swatch segment"></span>segment: the changes of its snapshots, merged ones lower</li><li><span class="reader"></span>consumer</li></ul>
${logs.length > LOGS && html`<p class="quiet">The ${LOGS} largest of ${logs.length} logs.</p>`}</div>`;
}

function consumersTable(consumers: readonly ConsumerStatus[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Consumers"><table><thead><tr><th scope="col">Consumer</th><th scope="col">View</th><th scope="col" class="number">Position</th><th scope="col">Lag</th><th scope="col" class="number">Windows</th><th scope="col" class="number">Rows</th></tr></thead><tbody>
${consumers.map(consumerRow)}</tbody></table></div>`;
}

function consumerRow({ name: own, view, position, windows, rows, lagMs, reset, held }: ConsumerStatus): Html {
  return html`<tr><td>${name(own)}</td><td><a href="#${anchor("view", view)}">${name(view)}</a></td><td class="number">${position === null ? "–" : count(position)}</td><td>${lagWords(lagMs, reset, held)}</td><td class="number">${windows ?? "–"}</td><td class="number">${rows === null ? "–" : count(rows)}</td></tr>`;
}

function lagWords(lagMs: number | null, reset: boolean, held: boolean): Content {
  if (reset) return html`<span class="health stale">must take the state</span>`;
  if (lagMs === null) return "none";
  return html`${duration(lagMs)}${!held && html` <span class="health stale">no longer waited for</span>`}`;
}

function layoutOf(log: LogOverview, consumers: readonly ConsumerStatus[]): Html {
  const title =
    log.view === null
      ? html`${name(log.table ?? "")} <span class="quiet">table</span>`
      : html`<a href="#${anchor("view", log.view)}">${name(log.view)}</a>`;
  const facts = `${counted(log.files, "file")}, ${counted(log.rows, "row")}, ${bytes(log.bytes)}`;
  const { segments, bases } = log;
  const summary = `${counted(bases.length, "base")}, ${counted(segments.length + log.olderSegments, "segment")} up to snapshot ${count(log.end)}`;
  return html`<figure class="log"><figcaption><span>${title}</span><span class="quiet">${facts}</span></figcaption>${strip(log, consumers, summary)}<p class="ends"><span>${bases.length > 0 && `base at ${count(bases.at(-1)?.at ?? 0n)}`}</span><span>${count(log.end)}</span></p></figure>`;
}

function strip(log: LogOverview, consumers: readonly ConsumerStatus[], summary: string): Html {
  const first = log.segments[0]?.from ?? log.end;
  const scale = scaleLinear([Number(first), Math.max(Number(log.end), Number(first) + 1)], [BASE_WIDTH, 100]);
  const levels = Math.max(...log.segments.map((segment) => segment.level), 0);
  const height = (levels + 1) * ROW + 8;
  const base = log.bases.at(-1);
  const marks = consumers.flatMap(({ name: own, position }) => {
    if (position === null) return [];
    const x = percent(scale(Math.max(Number(position), Number(first))));
    return [
      html`<g data-tip="${own} has read up to ${count(position)}"><line class="reader" x1="${x}" x2="${x}" y1="0" y2="${height}"></line><circle class="reader" cx="${x}" cy="3.5" r="3.5"></circle></g>`,
    ];
  });
  return html`<svg class="layout" width="100%" height="${height}" role="img" aria-label="${summary}">
${base !== undefined && html`<rect class="base" x="0" width="${percent(BASE_WIDTH - 0.6)}" y="8" height="${height - 8}" data-tip="base at ${count(base.at)}: ${counted(base.rows, "row")}, ${bytes(base.bytes)}"></rect>`}
${log.segments.map((segment) => block(segment, scale))}${marks}</svg>`;
}

function block(segment: LogSegment, scale: (snapshot: number) => number): Html {
  const { from, to, level, rows } = segment;
  const [x, end] = [scale(Number(from)), scale(Number(to))];
  const tip = `${count(from)} to ${count(to)}: ${rows === 0n ? "no change" : `${counted(rows, "row")}, ${bytes(segment.bytes)}`}`;
  const width = Math.max(end - x - 0.15, 0.15);
  return html`<rect class="segment${rows === 0n ? " empty" : ""}" x="${percent(x)}" width="${percent(width)}" y="${8 + level * ROW}" height="${ROW - 1.5}" data-tip="${tip}"></rect>`;
}
