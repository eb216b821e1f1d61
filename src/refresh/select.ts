import { ConfigError } from "../errors.js";
import { sameName } from "../sql/quote.js";
import { didYouMean } from "../suggest.js";
import type { SelectOptions } from "../types.js";
import type { StoredView } from "../view/state.js";

/** A view or a table, and what it reads. */
interface Node {
  readonly name: string;
  readonly view: StoredView | null;
  readonly reads: readonly Node[];
}

const TAG = "tag:";

/**
 * The views that selectors name, in the order in which they were given; all where there are none.
 * @throws ConfigError `selector_unknown` for a selector that names nothing.
 */
export function selectByGraph(views: readonly StoredView[], { select, exclude }: SelectOptions): StoredView[] {
  const nodes = graphOf(views);
  const chosen = select === undefined || select.length === 0 ? new Set(nodes) : unionOf(nodes, select);
  const left = unionOf(nodes, exclude ?? []);
  return views.filter((view) => nodes.some((node) => node.view === view && chosen.has(node) && !left.has(node)));
}

function graphOf(views: readonly StoredView[]): Node[] {
  const nodes = new Map<string, Node>();
  const nodeOf = (view: StoredView): Node => {
    const known = nodes.get(view.name.toLowerCase());
    if (known !== undefined) return known;
    const reads = view.definition.sources.map((source) => {
      const upstream = views.find((candidate) => source.kind === "view" && sameName(candidate.name, source.table));
      return upstream === undefined ? tableOf(source.name) : nodeOf(upstream);
    });
    const node = { name: view.name, view, reads };
    nodes.set(view.name.toLowerCase(), node);
    return node;
  };
  const tableOf = (name: string): Node => {
    // A view's name has no dot, a table's always has.
    const node = nodes.get(name.toLowerCase()) ?? { name, view: null, reads: [] };
    nodes.set(name.toLowerCase(), node);
    return node;
  };
  for (const view of views) nodeOf(view);
  return [...nodes.values()];
}

function unionOf(nodes: readonly Node[], selectors: readonly string[]): Set<Node> {
  return new Set(selectors.flatMap((selector) => [...matchesOf(nodes, selector)]));
}

/** What one selector names: `view`, `+view`, `view+`, `+view+`, with wildcards, a table or `tag:` in the view's place. */
function matchesOf(nodes: readonly Node[], selector: string): Set<Node> {
  const upstream = selector.startsWith("+");
  const downstream = selector.length > 1 && selector.endsWith("+");
  const pattern = selector.slice(upstream ? 1 : 0, downstream ? -1 : undefined);
  const found = nodes.filter((node) => isNamed(node, pattern));
  const matches = new Set(found);
  if (upstream) for (const node of found) addUpstream(node, matches);
  if (downstream) for (const node of found) addDownstream(nodes, node, matches);
  if ([...matches].some(({ view }) => view !== null)) return matches;
  throw unknown(nodes, selector, pattern, found);
}

function isNamed({ name, view }: Node, pattern: string): boolean {
  if (pattern.startsWith(TAG)) {
    const glob = globOf(pattern.slice(TAG.length));
    return (view?.definition.tags ?? []).some((tag) => glob.test(tag));
  }
  if (view !== null || pattern.includes(".")) return globOf(pattern).test(name);
  return sameName(name.slice(name.indexOf(".") + 1), pattern);
}

/** A pattern with * for any characters and ? for one; names compare without case. */
function globOf(pattern: string): RegExp {
  const source = [...pattern]
    .map((character) =>
      character === "*" ? ".*" : character === "?" ? "." : character.replace(/[\\^$.+()[\]{}|/]/, "\\$&"),
    )
    .join("");
  return new RegExp(`^${source}$`, "isu");
}

function addUpstream(node: Node, into: Set<Node>): void {
  for (const read of node.reads) {
    if (into.has(read)) continue;
    into.add(read);
    addUpstream(read, into);
  }
}

function addDownstream(nodes: readonly Node[], node: Node, into: Set<Node>): void {
  for (const reader of nodes.filter(({ reads }) => reads.includes(node))) {
    if (into.has(reader)) continue;
    into.add(reader);
    addDownstream(nodes, reader, into);
  }
}

function unknown(nodes: readonly Node[], selector: string, pattern: string, found: readonly Node[]): ConfigError {
  const [table] = found;
  if (table !== undefined) {
    return new ConfigError("selector_unknown", `${selector} is a table, not a view.`, {
      hint: `Write ${table.name}+ for the views that read it.`,
    });
  }
  const views = nodes.flatMap(({ view }) => (view === null ? [] : [view]));
  const tags = [...new Set(views.flatMap((view) => view.definition.tags ?? []))];
  const known = pattern.startsWith(TAG) ? tags.map((tag) => TAG + tag) : views.map((view) => view.name);
  return new ConfigError("selector_unknown", `No view is named by the selector ${selector}.`, {
    hint: known.length === 0 ? "Apply definitions first." : didYouMean(pattern, known, "Known"),
  });
}
