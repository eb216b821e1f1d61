/** What to write differently, so that a view costs less: what `explain` says, on the page. */
import type { ExplainAdvice, ViewOverview } from "../types.js";
import { readable, shorten } from "./format.js";
import { type Html, html } from "./html.js";

const LONGEST_PART = 200;

/** The parts of a view for which a way to write them is known that a rule keeps. */
export function adviceWithRewrite(
  advice: readonly ExplainAdvice[],
): readonly (ExplainAdvice & { readonly rewrite: string })[] {
  return advice.flatMap((one) => (one.rewrite === null ? [] : [{ ...one, rewrite: one.rewrite }]));
}

export function adviceSection(view: ViewOverview): Html | false {
  const advice = adviceWithRewrite(view.advice);
  if (advice.length === 0) return false;
  return html`<section class="wide"><h3>What would cost less</h3><ul class="advice">${advice.map(
    ({ code, part, why, rewrite, page }) =>
      html`<li><p><strong>${shorten(readable(part), LONGEST_PART)}</strong>: ${why} <code class="quiet">${code}</code></p><p class="rewrite">${rewrite}</p>${page !== null && html`<p class="quiet">${page}</p>`}</li>`,
  )}</ul></section>`;
}
