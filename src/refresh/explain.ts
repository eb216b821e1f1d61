import type { CostResult, ExplainResult, Reason } from "../types.js";
import type { StoredView } from "../view/state.js";
import { statementOf } from "./compute.js";
import { costResult, estimateCosts } from "./cost.js";
import { adviceOf } from "./explain-advice.js";
import { measuredRuns } from "./explain-history.js";
import { describePlan } from "./explain-plan.js";
import { explainTerms, runSources } from "./explain-terms.js";
import { TOO_LARGE } from "./incremental-failure.js";
import { type PlannedView, planViewRun, type RunContext } from "./plan-run.js";
import { statementAtHorizon } from "./sources.js";

/** How a view is kept, and what a refresh would do with it now. */
export async function explainView(run: RunContext, view: StoredView): Promise<ExplainResult> {
  const { definition, built } = view;
  const planned = built === null ? null : await planViewRun(run, view);
  const sources = new Map((planned === null ? [] : runSources(planned)).map((source) => [source.name, source]));
  const { plan } = definition;
  const { tooLarge, ...explained } =
    plan === null || planned === null
      ? { terms: [], rereads: [], tooLarge: false }
      : explainTerms(run, plan, definition.layout, planned, sources);
  const tree = plan === null ? null : describePlan(plan, definition.layout);
  const reasons = allReasons(definition.reasons, tooLarge ? TOO_LARGE : (planned?.reason ?? null));
  return {
    view: view.name,
    strategy: plan === null || tooLarge || definition.refresh === "full" ? "recompute" : "incremental",
    reasons,
    horizon: run.state.progress.get(view.name)?.horizon ?? null,
    advice: adviceOf(reasons, tree),
    history: await measuredRuns(run.session, run.tables, run.state.layout, view.name),
    plan: tree,
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
