/** How far back the lake goes, and where the views stand in that. */
import type { Overview, RetainedCursor, RetentionOverview } from "../types.js";
import { ago, anchor, count, counted, duration, plainMoment } from "./format.js";
import { type Html, html, name } from "./html.js";
import { percent } from "./parts.js";
import { timeAxis } from "./time-axis.js";

const NEAREST = 5;
const HEIGHT = 34;

export function retentionSection({ retention, takenAt, snapshot }: Overview): Html {
  const { oldest, oldestAt, snapshots, expireOlderThan, cursors, warnings } = retention;
  const expiry =
    expireOlderThan === null
      ? "Nothing in the lake's options makes it drop them."
      : html`The lake's option <code>expire_older_than</code> is ${expireOlderThan}.`;
  return html`<p>The lake keeps ${counted(snapshots, "snapshot")}, ${count(oldest)} to ${count(snapshot)}; the oldest is from ${ago(oldestAt, takenAt)}. ${expiry} ${neededText(retention)}</p>
${warnings.length > 0 && html`<ul class="warnings">${warnings.map(({ code, text }) => html`<li>${text} <code class="quiet">${code}</code></li>`)}</ul>`}
${cursors.length > 0 && timeline(cursors, oldestAt, takenAt)}
${nearest(cursors, oldestAt)}`;
}

/** The oldest snapshot that anything reads from the next time, and how long it will last. */
function neededText({ needed, needs, lastsMs }: RetentionOverview): Html {
  if (needed === null) return html`${needs.length === 0 && "Nothing needs an old snapshot."}`;
  const text = html`Snapshot ${count(needed.snapshot)} is the oldest that a view or a log still needs.`;
  if (lastsMs === null) return text;
  return lastsMs > 0
    ? html`${text} The option reaches it in ${duration(lastsMs)}.`
    : html`${text} The option has reached it: the next <code>CHECKPOINT</code> drops it.`;
}

function timeline(cursors: readonly RetainedCursor[], oldestAt: string, takenAt: string): Html {
  const axis = timeAxis(Date.parse(oldestAt), Date.parse(takenAt));
  const marks = cursors.flatMap(({ view, at }) => {
    if (at === null) return [];
    const x = percent(axis.at(at));
    return [
      html`<line class="cursor" x1="${x}" x2="${x}" y1="4" y2="${HEIGHT - 4}" data-tip="${view} needs snapshots from ${plainMoment(at)} on"></line>`,
    ];
  });
  return html`<div class="retention"><svg width="100%" height="${HEIGHT}" role="img" aria-label="Where the views' cursors are between the oldest snapshot and now"><rect class="kept" x="0" width="100%" y="13" height="8" rx="4"></rect>${marks}</svg>${axis.ticks}</div>
<ul class="legend"><li><span class="swatch kept"></span>snapshots that are kept</li><li><span class="tally"></span>the oldest snapshot that a view needs</li></ul>`;
}

/** The views whose next refresh would first fall back to a recompute. */
function nearest(cursors: readonly RetainedCursor[], oldestAt: string): Html {
  const room = ({ at }: RetainedCursor): number => (at === null ? -1 : Date.parse(at) - Date.parse(oldestAt));
  const sorted = [...cursors].sort((a, b) => room(a) - room(b)).slice(0, NEAREST);
  if (sorted.length === 0) return html``;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Views nearest to the oldest snapshot"><table><thead><tr><th scope="col">Nearest to the edge</th><th scope="col">Source</th><th scope="col" class="number">Needs snapshot</th><th scope="col">Room</th></tr></thead><tbody>
${sorted.map((cursor) => html`<tr><td><a href="#${anchor("view", cursor.view)}">${name(cursor.view)}</a></td><td>${name(cursor.source)}</td><td class="number">${count(cursor.snapshot)}</td><td>${cursor.at === null ? html`<span class="health stale">expired</span>` : duration(room(cursor))}</td></tr>`)}
</tbody></table></div>`;
}
