/** Small pieces that several sections of the page share. */
import type { Health, Outcome } from "./health.js";
import { HEALTH_WORDS, OUTCOME_WORDS } from "./health.js";
import { type Content, type Html, html } from "./html.js";

/** A sign of a view's health, 10 by 10: told apart by shape as well as by colour. */
export function glyph(health: Health): Html {
  switch (health) {
    case "fresh":
      return html`<circle class="glyph fresh" cx="5" cy="5" r="4"></circle>`;
    case "stale":
      return html`<g class="glyph stale"><circle class="ring" cx="5" cy="5" r="4"></circle><path class="solid" d="M5 1a4 4 0 0 0 0 8z"></path></g>`;
    case "failed":
      return html`<path class="glyph failed" d="M1.6 1.6l6.8 6.8M8.4 1.6L1.6 8.4"></path>`;
    case "pending":
      return html`<circle class="glyph pending" cx="5" cy="5" r="4"></circle>`;
    case "rebuild":
      return html`<path class="glyph rebuild" d="M5 .8L9.2 5 5 9.2.8 5z"></path>`;
  }
}

export function icon(health: Health): Html {
  return html`<svg class="icon" width="10" height="10" aria-hidden="true">${glyph(health)}</svg>`;
}

export function healthMark(health: Health, words: Content = HEALTH_WORDS[health]): Html {
  return html`<span class="health ${health}">${icon(health)} ${words}</span>`;
}

/** A view's name as a link to its details. */
export function legend(outcomes: readonly Outcome[]): Html {
  return html`<ul class="legend">${outcomes.map((outcome) => html`<li><span class="swatch ${outcome}"></span>${OUTCOME_WORDS[outcome]}</li>`)}</ul>`;
}

/** A position or a length in percent, for attributes of SVG. */
export function percent(value: number): string {
  return `${Number(value.toFixed(3))}%`;
}
