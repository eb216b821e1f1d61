import { scaleUtc } from "d3-scale";
import { type Html, html } from "./html.js";
import { percent } from "./parts.js";

/** Ticks of a time axis over the whole width; `at` gives a time's place in percent. */
export interface TimeAxis {
  readonly at: (iso: string | number) => number;
  readonly ticks: Html;
}

const HEIGHT = 22;

export function timeAxis(from: number, to: number): TimeAxis {
  const scale = scaleUtc([from, to > from ? to : from + 1], [0, 100]);
  const format = scale.tickFormat(5);
  const ticks = scale.ticks(5).map((tick) => {
    const x = scale(tick);
    const side = x < 6 ? "start" : x > 94 ? "end" : "middle";
    return html`<line class="tick" x1="${percent(x)}" x2="${percent(x)}" y1="0" y2="5"></line><text class="tick" x="${percent(x)}" y="17" text-anchor="${side}">${format(tick)}</text>`;
  });
  const at = (iso: string | number): number => scale(typeof iso === "string" ? Date.parse(iso) : iso);
  return { at, ticks: html`<svg class="axis" width="100%" height="${HEIGHT}" aria-hidden="true">${ticks}</svg>` };
}
