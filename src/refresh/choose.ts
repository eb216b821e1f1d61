import { ConfigError } from "../errors.js";
import type { RefreshOptions, ViewResult } from "../types.js";
import type { StoredView } from "../view/state.js";
import { selectAlone, selectViews } from "./order.js";
import type { RunContext } from "./plan-run.js";
import { skipped } from "./results.js";
import { type Standing, standingsOf } from "./status.js";

interface ChosenViews {
  /** Each after what it reads. */
  readonly views: readonly StoredView[];
  /** The names of those that were asked for; the others are read by them. */
  readonly asked: ReadonlySet<string>;
  readonly skipped: readonly ViewResult[];
}

/**
 * The views that a run refreshes.
 * @throws ConfigError `view_unknown`; `not_incremental` where one has no rule and the options ask for rules.
 */
export async function chooseViews(run: RunContext, options: RefreshOptions): Promise<ChosenViews> {
  const all = run.state.views;
  const asked = selectAlone(all, options.views);
  const { ifOlderThanMs } = options;
  const due = ifOlderThanMs === undefined ? asked : await dueOf(run, asked, ifOlderThanMs);
  const names = due.map(({ name }) => name);
  const views = (options.upstream === false ? selectAlone : selectViews)(all, names);
  if (options.requireIncremental === true) requireIncremental(views);
  const left = asked.filter((view) => !views.includes(view));
  const reason = { code: "recent", text: "it is not so far behind that it is due" };
  return { views, asked: new Set(names), skipped: left.map((view) => skipped(view, reason)) };
}

async function dueOf(run: RunContext, asked: readonly StoredView[], allowedMs: number): Promise<StoredView[]> {
  const names = asked.map(({ name }) => name);
  const standings = await standingsOf(run, selectViews(run.state.views, names));
  const byName = new Map(standings.map((standing) => [standing.view, standing]));
  return asked.filter((view) => isDue(byName.get(view.name), view.definition.targetLagMs ?? allowedMs));
}

/** A view that is not built, or of whose lag nothing is known, is always due; a fresh one never is. */
function isDue(standing: Standing | undefined, allowedMs: number): boolean {
  if (standing === undefined || standing.state === "pending" || standing.state === "rebuild") return true;
  return standing.state !== "fresh" && (standing.lagMs === null || standing.lagMs >= allowedMs);
}

function requireIncremental(views: readonly StoredView[]): void {
  const without = views.filter(({ definition }) => definition.plan === null && definition.refresh !== "full");
  if (without.length === 0) return;
  const names = without.map(({ name }) => name);
  const why = without.map(({ name, definition }) => `${name}: ${definition.reasons[0]?.text ?? "no rule"}`);
  throw new ConfigError("not_incremental", `No incremental rule keeps ${names.join(", ")}. Nothing was refreshed.`, {
    subject: { view: names[0] ?? "" },
    hint: `${why.join("; ")}. Write the query in another form, or set \`refresh: full\` where a recompute is meant.`,
  });
}
