/** The graph of tables and views, laid out in ranks from what is read to what reads. */
import { Graph, layout } from "@dagrejs/dagre";
import { curveBumpX, line } from "d3-shape";
import type { GraphEdge, Overview, ViewOverview } from "../types.js";
import { anchor, duration, shorten } from "./format.js";
import { HEALTH_WORDS, healthOf } from "./health.js";
import { type Html, html } from "./html.js";
import { glyph } from "./parts.js";

const LETTER = 7.3;
const LONGEST_LABEL = 30;
const NODE_HEIGHT = 44;
const MARGIN = 12;

interface Node {
  readonly name: string;
  /** Undefined for a table. */
  readonly view: ViewOverview | undefined;
  readonly note: string;
}

export function graphSection(overview: Overview): Html {
  const { nodes, edges } = overview.graph;
  if (nodes.length === 0) return html`<p class="quiet">No view is applied yet.</p>`;
  const boxes = nodes.map((node): Node => {
    const view = overview.views.find((candidate) => node.kind === "view" && candidate.view === node.name);
    const note = view === undefined ? tableNote(node, overview.takenAt) : viewNote(view);
    return { name: node.name, view, note };
  });
  return draw(boxes, edges);
}

function viewNote(view: ViewOverview): string {
  const health = healthOf(view);
  if (health === "stale" && view.lagMs !== null) return `${duration(view.lagMs)} behind`;
  return HEALTH_WORDS[health];
}

function tableNote(node: Overview["graph"]["nodes"][number], now: string): string {
  if (node.kind !== "table" || node.changedAt === null) return "table";
  return `changed ${duration(Math.max(Date.parse(now) - Date.parse(node.changedAt), 0))} ago`;
}

/** An edge leaves its box on the right, passes between the boxes of the ranks on its way and enters on the left. */
function draw(boxes: readonly Node[], edges: readonly GraphEdge[]): Html {
  const graph = new Graph();
  const width = widthOf(boxes);
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 64, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  // By number: a name may be anything, such as `__proto__`.
  const ids = new Map(boxes.map((box, index) => [box.name, `n${index}`]));
  const idOf = (name: string): string => ids.get(name) ?? "";
  for (const box of boxes) graph.setNode(idOf(box.name), { width, height: NODE_HEIGHT });
  for (const { from, to } of edges) graph.setEdge(idOf(from), idOf(to));
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  const [across, down] = [Math.ceil(size.width ?? 0), Math.ceil(size.height ?? 0)];
  return html`<div class="graph" tabindex="0" role="region" aria-label="Graph of tables and views">
<svg width="${across}" height="${down}" viewBox="0 0 ${across} ${down}" role="group" aria-label="${describe(boxes)}">
${edges.map((edge) => {
  const [from, to] = [graph.node(idOf(edge.from)), graph.node(idOf(edge.to))];
  const points: readonly Point[] = graph.edge(idOf(edge.from), idOf(edge.to)).points;
  const between = points.slice(1, -1).filter((_, index) => index % 2 === 1);
  return drawEdge(edge, [{ x: from.x + width / 2, y: from.y }, ...between, { x: to.x - width / 2, y: to.y }]);
})}
${boxes.map((box) => drawNode(box, width, graph.node(idOf(box.name))))}
</svg></div>`;
}

/** All boxes are as wide as the widest, so that ranks are columns. */
function widthOf(boxes: readonly Node[]): number {
  const letters = boxes.map(({ name, note }) => Math.max(Math.min([...name].length, LONGEST_LABEL), note.length - 2));
  return Math.ceil(Math.max(...letters) * LETTER) + 42;
}

function describe(boxes: readonly Node[]): string {
  const views = boxes.filter((box) => box.view !== undefined).length;
  return `${boxes.length - views} tables and ${views} views; each view is a link to its details`;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function drawEdge({ from, to, changed }: GraphEdge, points: readonly Point[]): Html {
  const path = line<Point>(
    (point) => point.x,
    (point) => point.y,
  )
    .curve(curveBumpX)
    .digits(1)(points);
  return html`<path class="edge${changed ? " changed" : ""}" d="${path}" data-from="${from}" data-to="${to}"></path>`;
}

function drawNode({ name, view, note }: Node, width: number, { x, y }: Point): Html {
  const [left, top] = [(x - width / 2).toFixed(1), (y - NODE_HEIGHT / 2).toFixed(1)];
  const label = shorten(name, LONGEST_LABEL);
  const tip = label === name ? null : html` data-tip="${name}"`;
  const place = html`transform="translate(${left} ${top})" data-node="${name}"${tip}`;
  const box = html`<rect width="${width}" height="${NODE_HEIGHT}" rx="7"></rect>`;
  if (view === undefined) {
    return html`<g class="node table" ${place}>${box}<text class="label" x="12" y="19">${label}</text> <text class="note" x="12" y="34">${note}</text></g>`;
  }
  const health = healthOf(view);
  return html`<a class="node view ${health}" href="#${anchor("view", name)}" ${place}>${box}<g transform="translate(12 12)">${glyph(health)}</g><text class="label" x="30" y="19">${label}</text> <text class="note" x="30" y="34">${note}</text></a>`;
}
