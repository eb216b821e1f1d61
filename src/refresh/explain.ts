import type { WindowState } from "../catalog/window.js";
import type { Term } from "../delta/contract.js";
import { derive } from "../delta/derive.js";
import { type Expression, type Relation, readsClock, scansOf } from "../plan/relation.js";
import { renderRelation } from "../render/relation.js";
import type { CostResult, ExplainNode, ExplainRead, ExplainResult, ExplainTerm, Reason } from "../types.js";
import type { Layout } from "../view/layout.js";
import type { ViewPlan } from "../view/plan-view.js";
import type { StoredView } from "../view/state.js";
import { deltaContext, statementOf } from "./compute.js";
import { costResult, estimateCosts } from "./cost.js";
import { readsOf, rereadsOf } from "./explain-reads.js";
import { instantsOf, type PlannedView, planViewRun, type RunContext } from "./plan-run.js";
import { type Instants, type RunSource, SourceLeaves, statementAtHorizon } from "./sources.js";

/** How a view is kept, and what a refresh would do with it now. */
export async function explainView(run: RunContext, view: StoredView): Promise<ExplainResult> {
  const { definition, built } = view;
  const planned = built === null ? null : await planViewRun(run, view);
  const sources = new Map((planned === null ? [] : runSources(planned)).map((source) => [source.name, source]));
  const { plan } = definition;
  const explained =
    plan === null || planned === null
      ? { terms: [], rereads: [] }
      : explainTerms(plan, definition.layout, planned, sources, instantsOf(run, planned.progress));
  return {
    view: view.name,
    strategy: plan === null || definition.refresh === "full" ? "recompute" : "incremental",
    reasons: allReasons(definition.reasons, planned?.reason ?? null),
    horizon: run.state.progress.get(view.name)?.horizon ?? null,
    plan: plan === null ? null : describe(plan.relation, definition.layout),
    ...explained,
    cost: planned === null || planned.strategy !== "incremental" ? null : await explainCost(run, planned),
    recomputeSql:
      planned === null ? definition.sql : await statementAtHorizon(run.session, statementOf(definition), sources),
  };
}

async function explainCost(run: RunContext, planned: PlannedView): Promise<CostResult | null> {
  const cost = await estimateCosts(run, planned);
  if (cost === null) return null;
  const forced = planned.view.definition.refresh === "incremental";
  return { ...costResult(cost), ...(forced ? { choice: "incremental", trial: false } : {}) };
}

function allReasons(reasons: readonly Reason[], now: Reason | null): readonly Reason[] {
  return now === null || reasons.some((reason) => reason.code === now.code) ? reasons : [...reasons, now];
}

/** Every source with a delta, as if each had changed: the terms of those that did not are shown as skipped. */
function runSources(planned: PlannedView): RunSource[] {
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
}

function explainTerms(
  plan: ViewPlan,
  layout: Layout,
  planned: PlannedView,
  sources: ReadonlyMap<string, RunSource>,
  instants: Instants,
): ExplainedTerms {
  const context = deltaContext(plan, sources, instants);
  // What a refresh derives: the groups at the top are stored, and the rows below them folded into them.
  const derived = layout.groups?.aggregate.input ?? layout.rows ?? plan.relation;
  const terms = derive(derived, context);
  const leaves = new SourceLeaves(sources, instants);
  const sqlOf = (own: readonly Term[]): string =>
    own.map((term) => renderRelation(term.relation, leaves)).join("\nUNION ALL BY NAME\n");
  const readsBy = (own: readonly Term[]): ExplainRead[] => readsOf(own.map((term) => term.relation));
  const scans = scansOf(plan.relation).map((scan): ExplainTerm => {
    const { source: name, alias } = scan;
    const source = planned.sources.find((candidate) => candidate.defined.name === name);
    const window = `(${source?.from ?? "start"}, ${source?.to ?? "?"}]`;
    if (source === undefined || source.state.kind === "unchanged") {
      return { source: name, alias, status: "skipped", reason: `unchanged in ${window}`, reads: [], sql: null };
    }
    const own = terms.filter((term) => term.occurrences.includes(scan.occurrence));
    const how = source.state.kind === "rebuild" ? source.state.reason.text : `read by ${methodOf(source.state)}`;
    const reason = `changed in ${window}, ${how}`;
    return { source: name, alias, status: "ran", reason, reads: readsBy(own), sql: sqlOf(own) };
  });
  const rereads = layout.groups === null ? [] : rereadsOf(layout.groups, terms, context);
  if (!readsClock(plan.relation)) return { terms: scans, rereads };
  const moved = instants.old !== instants.new;
  const own = terms.filter((term) => term.occurrences.length === 0);
  const time: ExplainTerm = {
    source: "now()",
    alias: "now",
    status: moved ? "ran" : "skipped",
    reason: moved ? `moved from ${instants.old} to ${instants.new}` : `stands at ${instants.new}`,
    reads: moved ? readsBy(own) : [],
    sql: moved ? sqlOf(own) : null,
  };
  return { terms: [...scans, time], rereads };
}

function methodOf(state: WindowState): string {
  return state.kind === "changed" ? state.method : "nothing";
}

/** The plan as a tree with the rule that keeps each node. */
function describe(relation: Relation, layout: Layout): ExplainNode {
  return new Describer(layout).node(relation, true);
}

class Describer {
  constructor(private readonly layout: Layout) {}

  /** `top`: nothing but projections and filters stands above, so an aggregate's state is stored. */
  node(relation: Relation, top: boolean): ExplainNode {
    switch (relation.kind) {
      case "scan":
        return leaf(
          "scan",
          `${relation.source} AS ${relation.alias} (${relation.columns.map((column) => column.name).join(", ")})`,
          "delta from snapshots",
        );
      case "constant":
        return leaf("constant", relation.sql, "never changes");
      case "filter":
        return this.unary("filter", relation.predicate.sql, "linear", relation.input, top);
      case "time-filter":
        return this.unary(
          "filter",
          relation.predicate.sql,
          "linear; rows that enter or leave as time passes",
          relation.input,
          false,
        );
      case "project":
        return this.unary(
          "project",
          relation.columns.map((column) => column.expression.sql).join(", "),
          "linear",
          relation.input,
          top,
        );
      case "repeat":
        return this.unary("repeat", relation.count.sql, "linear", relation.input, false);
      case "union-all":
        return {
          operator: "union all",
          detail: "",
          strategy: "linear",
          children: relation.branches.map((branch) => this.node(branch.input, false)),
        };
      case "join": {
        const strategy = `telescoping, ${relation.inputs.length} terms`;
        return {
          operator: "inner join",
          detail: all(relation.predicates),
          strategy,
          children: relation.inputs.map((input) => this.node(input, false)),
        };
      }
      case "outer-join":
        return this.binary(
          `${relation.side} join`,
          relation.predicate.sql,
          "inner join and anti join",
          relation.left,
          relation.right,
        );
      case "asof-join": {
        const pairs = relation.keys.map((pair) => `${pair.left.sql} = ${pair.right.sql}`);
        const { left, right } = relation.order;
        return this.binary(
          relation.side === "left" ? "asof left join" : "asof join",
          [...pairs, `${left.sql} ${relation.operator} ${right.sql}`].join(" AND "),
          "rows of changed keys, new minus old",
          relation.left,
          relation.right,
        );
      }
      case "mark-join": {
        const conditions = relation.comparison === null ? [] : [relation.comparison];
        return this.binary(
          "mark join",
          all([relation.correlation, ...conditions]),
          "matching rows, new minus old",
          relation.left,
          relation.right,
        );
      }
      case "semi-join":
        return this.binary(
          relation.anti ? "anti join" : "semi join",
          relation.predicate.sql,
          "matching rows, new minus old",
          relation.left,
          relation.right,
        );
      case "aggregate":
        return this.aggregate(relation, top);
      case "window":
        return this.unary(
          "window",
          relation.columns.map((column) => column.expression.sql).join(", "),
          relation.partition.length === 0 ? "all rows, new minus old" : "affected partitions, new minus old",
          relation.input,
          false,
        );
      case "limit": {
        const orders = relation.orders.map((order) => `${order.expression.sql} ${order.direction}`).join(", ");
        const detail = `${orders} limit ${relation.limit ?? "all"}${relation.offset === null ? "" : ` offset ${relation.offset}`}`;
        const read = this.layout.candidates === undefined ? "" : "candidates kept; ";
        const strategy = top ? `${read}applied when the view is read` : "all rows, new minus old";
        return this.unary("order by, limit", detail, strategy, relation.input, top);
      }
      case "delta-scan":
      case "restrict":
      case "shared":
        throw new TypeError(`${relation.kind} is no part of a definition`);
    }
  }

  private aggregate(relation: Extract<Relation, { kind: "aggregate" }>, top: boolean): ExplainNode {
    const keys = relation.keys.map((key) => key.expression.sql).join(", ");
    const calls = relation.calls.map((call) => call.expression.sql).join(", ");
    const operator = relation.calls.length === 0 && relation.keys.length > 0 ? "distinct" : "aggregate";
    const detail = [calls, keys === "" ? "" : `by ${keys}`].filter((part) => part !== "").join(" ");
    return this.unary(operator, detail, top ? this.stored() : "affected groups, new minus old", relation.input, false);
  }

  private stored(): string {
    const rules = new Set(this.layout.groups?.states.map((state) => state.rule.rule) ?? []);
    if (rules.has("reread")) return "affected groups read anew";
    const counted = (this.layout.counted ?? []).length > 0 ? "; copies of distinct values counted" : "";
    const lost = [
      ...(rules.has("extreme") ? ["loses its extreme"] : []),
      ...(rules.has("bits") ? ["loses a row that may have set its bits"] : []),
      ...(rules.has("value") ? ["has too little spread for exact sums to give DuckDB's digits"] : []),
    ];
    const anew = lost.length > 0 ? `; a group that ${lost.join(" or ")} is read anew` : "";
    return `folded into stored state${counted}${anew}`;
  }

  private unary(operator: string, detail: string, strategy: string, input: Relation, top: boolean): ExplainNode {
    return { operator, detail, strategy, children: [this.node(input, top)] };
  }

  private binary(operator: string, detail: string, strategy: string, left: Relation, right: Relation): ExplainNode {
    return { operator, detail, strategy, children: [this.node(left, false), this.node(right, false)] };
  }
}

function leaf(operator: string, detail: string, strategy: string): ExplainNode {
  return { operator, detail, strategy, children: [] };
}

function all(predicates: readonly Expression[]): string {
  return predicates.map((predicate) => predicate.sql).join(" AND ");
}
