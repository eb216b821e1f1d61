import { ConfigError, RefreshError } from "../errors.js";
import { sameName } from "../sql/quote.js";
import { didYouMean } from "../suggest.js";
import type { StoredView } from "../view/state.js";

/** The views that a view reads directly. */
export function upstreamOf(view: StoredView): readonly string[] {
  return view.definition.sources.filter((source) => source.kind === "view").map((source) => source.table);
}

/** The asked views alone (all where none are named), each after what it reads of them. @throws ConfigError `view_unknown`. */
export function selectAlone(views: readonly StoredView[], asked: readonly string[] | undefined): StoredView[] {
  const selected = selectViews(views, asked);
  return asked === undefined ? selected : selected.filter((view) => asked.some((name) => sameName(name, view.name)));
}

/**
 * The asked views (all where none are named) and everything they read, each after what it reads.
 * @throws ConfigError `view_unknown`.
 */
export function selectViews(views: readonly StoredView[], asked: readonly string[] | undefined): StoredView[] {
  const find = (name: string): StoredView | undefined => views.find((view) => sameName(view.name, name));
  const order: StoredView[] = [];
  const visit = (view: StoredView): void => {
    if (order.includes(view)) return;
    for (const name of upstreamOf(view)) {
      const upstream = find(name);
      if (upstream !== undefined) visit(upstream);
    }
    if (!order.includes(view)) order.push(view);
  };
  for (const name of asked ?? views.map((view) => view.name)) {
    const view = find(name);
    if (view === undefined) throw viewUnknown(views, name);
    visit(view);
  }
  return order;
}

/** The error for a view that was never refreshed. */
export function notBuilt(view: string): RefreshError {
  return new RefreshError("not_built", `View ${view} has no content yet.`, {
    subject: { view },
    hint: "Refresh it first.",
  });
}

/** The error for a view that the lake does not have. */
export function viewUnknown(views: readonly Pick<StoredView, "name">[], name: string): ConfigError {
  const known = views.map((view) => view.name);
  return new ConfigError("view_unknown", `The lake has no view ${name}.`, {
    subject: { view: name },
    hint: known.length === 0 ? "Apply definitions first." : didYouMean(name, known, "Known views"),
  });
}
