/** A view's plan as a tree, each part with the rule that keeps it. */
import type { ExplainNode, ViewOverview } from "../types.js";
import { adviceWithRewrite } from "./advice.js";
import { readable, shorten } from "./format.js";
import { type Html, html } from "./html.js";

const LONGEST_DETAIL = 400;

export function planTree({ plan, reasons, advice, refresh }: ViewOverview): Html {
  const advised = new Set(adviceWithRewrite(advice).map(({ code }) => code));
  const notes = reasons
    .filter(({ code }) => !advised.has(code))
    .map(({ code, text }) => html`<li>${text} <code class="quiet">${code}</code></li>`);
  const list = notes.length > 0 && html`<ul class="reasons">${notes}</ul>`;
  if (plan === null)
    return html`<p>The whole view is computed at each refresh, and the difference is written.</p>${list}`;
  const full =
    refresh === "full" &&
    html`<p>The definition asks for <code>refresh: full</code>; by its rules it would be kept like this:</p>`;
  return html`${full}${list}<ul class="tree">${branch(plan)}</ul>`;
}

function branch(node: ExplainNode): Html {
  const dear = isDear(node.strategy);
  return html`<li><div class="step"><span class="operator">${node.operator}</span> <span class="rule${dear ? " dear" : ""}">${node.strategy}</span>${node.detail !== "" && html`<code class="detail">${shorten(readable(node.detail), LONGEST_DETAIL)}</code>`}</div>${node.children.length > 0 && html`<ul>${node.children.map(branch)}</ul>`}</li>`;
}

/** Rules that read all rows, whatever changed. */
function isDear(strategy: string): boolean {
  return strategy.startsWith("all rows");
}
