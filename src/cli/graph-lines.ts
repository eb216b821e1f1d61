/** The graph of sources and views as text. */
import type { LakeGraph, TableNode, ViewNode } from "../types.js";
import { age } from "./format.js";
import type { Style } from "./style.js";

type Node = TableNode | ViewNode;

/** A tree for each view that no other reads, down to the tables. What was shown above is not unfolded again. */
export function treeLines(graph: LakeGraph, style: Style): string[] {
  const nodes = new Map(graph.nodes.map((node) => [node.name, node]));
  const isRead = new Set(graph.edges.map(({ from }) => from));
  const shown = new Set<string>();
  const below = (name: string, indent: string): string[] => {
    const edges = graph.edges.filter(({ to }) => to === name);
    return edges.flatMap(({ from, changed }, index) => {
      const isLast = index === edges.length - 1;
      const again = shown.has(from) && edgesOf(graph, from) > 0;
      const line = `${indent}${isLast ? "└─ " : "├─ "}${nodeText(from, nodes.get(from), style)}`;
      const remarks = `${changed ? style.yellow("  changed") : ""}${again ? style.dim("  (see above)") : ""}`;
      shown.add(from);
      return [line + remarks, ...(again ? [] : below(from, `${indent}${isLast ? "   " : "│  "}`))];
    });
  };
  const roots = graph.nodes.filter((node) => node.kind === "view" && !isRead.has(node.name));
  if (roots.length === 0) return ["No view is applied."];
  return roots.flatMap((root) => [nodeText(root.name, root, style), ...below(root.name, "")]);
}

function edgesOf(graph: LakeGraph, name: string): number {
  return graph.edges.filter(({ to }) => to === name).length;
}

function nodeText(name: string, node: Node | undefined, style: Style): string {
  if (node === undefined || node.kind === "table") return name;
  const state = node.state === "fresh" ? style.green(node.state) : style.yellow(node.state);
  const lag = node.lagMs === null || node.lagMs === 0 ? "" : `, ${age(node.lagMs)} behind`;
  return `${style.bold(name)}  ${state}${lag}`;
}

/** A mermaid flowchart. Dashed arrows are changes that have not been consumed. */
export function mermaidLines(graph: LakeGraph): string[] {
  const ids = new Map(graph.nodes.map((node, index) => [node.name, `n${index + 1}`]));
  const label = (text: string): string =>
    `"${text.replaceAll("#", "#35;").replaceAll('"', "#quot;").replaceAll("<", "#lt;").replaceAll(">", "#gt;")}"`;
  const nodes = graph.nodes.map((node) => {
    const id = ids.get(node.name);
    return node.kind === "table"
      ? `  ${id}[(${label(node.name)})]:::table`
      : `  ${id}[${label(node.name)}]:::${node.state}`;
  });
  const edges = graph.edges.map(
    ({ from, to, changed }) => `  ${ids.get(from)} ${changed ? "-.->" : "-->"} ${ids.get(to)}`,
  );
  const classes = [
    "  classDef table fill:#eee,stroke:#888,color:#222",
    "  classDef fresh fill:#d7f0dd,stroke:#2e7d4f,color:#123",
    "  classDef stale fill:#fdf0c8,stroke:#a67c00,color:#321",
    "  classDef rebuild fill:#fdf0c8,stroke:#a67c00,color:#321",
    "  classDef pending fill:#e8e8f4,stroke:#5a5a9a,color:#224",
  ];
  return ["flowchart LR", ...nodes, ...edges, ...classes];
}
