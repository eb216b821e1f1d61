import type { WindowState } from "../catalog/window.js";
import type { Term } from "../delta/contract.js";
import { derive } from "../delta/derive.js";
import { firstRound } from "../delta/recursion.js";
import { PLAN_TOO_LARGE } from "../delta/size.js";
import { RefreshError } from "../errors.js";
import { planReadsClock, sourceScansOf } from "../plan/recursion.js";
import { scansOf } from "../plan/relation.js";
import { renderRelation } from "../render/relation.js";
import type { ExplainRead, ExplainTerm } from "../types.js";
import { recursionDifference } from "../view/beside.js";
import type { Layout } from "../view/layout.js";
import type { ViewPlan } from "../view/plan-view.js";
import { deltaContext } from "./compute.js";
import { readsOf, rereadsOf } from "./explain-reads.js";
import { besidePaths } from "./physical.js";
import { instantsOf, type PlannedView, type RunContext } from "./plan-run.js";
import { heldRows } from "./recursion.js";
import { type OwnRows, type RunSource, SourceLeaves } from "./sources.js";

/** Every source with a delta, as if each had changed: the terms of those that did not are shown as skipped. */
export function runSources(planned: PlannedView): RunSource[] {
  return planned.sources.map((source, index) => ({
    name: source.defined.name,
    table: source.table,
    layout: source.layout,
    from: source.from ?? source.to,
    to: source.to,
    delta: source.state.kind === "unchanged" ? null : `ivm_delta_${index + 1}`,
    oldLost: source.logged !== null,
  }));
}

interface ExplainedTerms {
  readonly terms: readonly ExplainTerm[];
  readonly rereads: readonly ExplainRead[];
  /** True where the delta is not written out, since the statement would be of absurd length. */
  readonly tooLarge: boolean;
}

export function explainTerms(
  run: RunContext,
  plan: ViewPlan,
  layout: Layout,
  planned: PlannedView,
  sources: ReadonlyMap<string, RunSource>,
): ExplainedTerms {
  const instants = instantsOf(run, planned.progress);
  const own = explainedRecursions(run, plan, layout, planned, sources);
  const context = deltaContext(plan, sources, instants, own);
  // What a refresh derives: groups and windows at the top are stored, and the rows below folded into them.
  const derived = layout.groups?.aggregate.input ?? layout.running?.input ?? layout.rows ?? plan.relation;
  const all = modest(() => [
    derive(derived, context),
    (plan.recursions ?? []).flatMap((recursion) =>
      firstRound(recursion, context, derive).flatMap((round) => round.terms),
    ),
  ]);
  const tooLarge = all === null;
  const [terms = [], firstRounds = []] = all ?? [];
  const leaves = new SourceLeaves(sources, instants, own);
  const sqlOf = (own: readonly Term[]): string =>
    own.map((term) => renderRelation(term.relation, leaves)).join("\nUNION ALL BY NAME\n");
  const readsBy = (own: readonly Term[]): ExplainRead[] => readsOf(own.map((term) => term.relation));
  const scans = sourceScansOf(plan).map((scan): ExplainTerm => {
    const { source: name, alias } = scan;
    const source = planned.sources.find((candidate) => candidate.defined.name === name);
    const window = `(${source?.from ?? "start"}, ${source?.to ?? "?"}]`;
    if (source === undefined || source.state.kind === "unchanged") {
      return { source: name, alias, status: "skipped", reason: `unchanged in ${window}`, reads: [], sql: null };
    }
    const own = [...terms, ...firstRounds].filter((term) => term.occurrences.includes(scan.occurrence));
    const how = source.state.kind === "rebuild" ? source.state.reason.text : `read by ${methodOf(source.state)}`;
    const reason = `changed in ${window}, ${how}`;
    const sql = tooLarge ? null : sqlOf(own);
    return { source: name, alias, status: "ran", reason, reads: readsBy(own), sql };
  });
  const rereads = layout.groups === null ? [] : rereadsOf(layout.groups, terms, context);
  if (!planReadsClock(plan)) return { terms: scans, rereads, tooLarge };
  const moved = instants.old !== instants.new;
  const timed = [...terms, ...firstRounds].filter((term) => term.occurrences.length === 0);
  const time: ExplainTerm = {
    source: "now()",
    alias: "now",
    status: moved ? "ran" : "skipped",
    reason: moved ? `moved from ${instants.old} to ${instants.new}` : `stands at ${instants.new}`,
    reads: moved ? readsBy(timed) : [],
    sql: moved && !tooLarge ? sqlOf(timed) : null,
  };
  return { terms: [...scans, time], rereads, tooLarge };
}

/** Null where a delta would be a statement of absurd length. */
function modest<Result>(derived: () => Result): Result | null {
  try {
    return derived();
  } catch (error) {
    if (error instanceof RefreshError && error.code === PLAN_TOO_LARGE) return null;
    throw error;
  }
}

/** The rows of recursions where a refresh reads them, as if each had changed that reads a changed source. */
function explainedRecursions(
  run: RunContext,
  plan: ViewPlan,
  layout: Layout,
  planned: PlannedView,
  sources: ReadonlyMap<string, RunSource>,
): ReadonlyMap<string, OwnRows> {
  const own = new Map<string, OwnRows>();
  const { recursions: paths } = besidePaths(run.tables, layout, planned.view.built?.table ?? "");
  for (const recursion of plan.recursions ?? []) {
    const index = (layout.recursions ?? []).findIndex(({ source }) => source === recursion.source);
    const table = layout.recursions?.[index];
    if (table === undefined) continue;
    const held = heldRows(recursion, table, paths[index] ?? "");
    const changed = scansOf(recursion.anchor.relation)
      .concat(scansOf(recursion.step.relation))
      .some((scan) => ((own.get(scan.source) ?? sources.get(scan.source))?.delta ?? null) !== null);
    const delta = changed ? `temp.${recursionDifference(index)}` : null;
    own.set(recursion.iteration, { old: held, new: held, delta: null });
    own.set(recursion.source, { old: held, new: held, delta });
  }
  return own;
}

function methodOf(state: WindowState): string {
  return state.kind === "changed" ? state.method : "nothing";
}
