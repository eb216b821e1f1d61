import type { Relation } from "../plan/relation.js";
import { aggregateDelta } from "./aggregate.js";
import { asofJoinDelta } from "./asof-join.js";
import type { DeltaContext, Term } from "./contract.js";
import { joinDelta } from "./join.js";
import { limitDelta } from "./limit.js";
import { filterDelta, projectDelta, repeatDelta, scanDelta, unionAllDelta } from "./linear.js";
import { markJoinDelta } from "./mark-join.js";
import { outerJoinDelta } from "./outer-join.js";
import { semiJoinDelta } from "./semi-join.js";
import { requireModest } from "./size.js";
import { timeFilterDelta } from "./time-filter.js";
import { windowDelta } from "./window.js";

/**
 * The delta of a relation, by the rule of its operator.
 * @throws RefreshError `plan_too_large` where no statement should be as long.
 */
export function derive(relation: Relation, context: DeltaContext): readonly Term[] {
  return requireModest(byRule(relation, context));
}

function byRule(relation: Relation, context: DeltaContext): readonly Term[] {
  switch (relation.kind) {
    case "scan":
      return scanDelta(relation, context);
    case "constant":
      return [];
    case "filter":
      return filterDelta(relation, context, derive);
    case "time-filter":
      return timeFilterDelta(relation, context, derive);
    case "project":
      return projectDelta(relation, context, derive);
    case "union-all":
      return unionAllDelta(relation, context, derive);
    case "repeat":
      return repeatDelta(relation, context, derive);
    case "join":
      return joinDelta(relation, context, derive);
    case "outer-join":
      return outerJoinDelta(relation, context, derive);
    case "asof-join":
      return asofJoinDelta(relation, context, derive);
    case "semi-join":
      return semiJoinDelta(relation, context, derive);
    case "mark-join":
      return markJoinDelta(relation, context, derive);
    case "aggregate":
      return aggregateDelta(relation, context, derive);
    case "limit":
      return limitDelta(relation, context, derive);
    case "window":
      return windowDelta(relation, context, derive);
    case "delta-scan":
    case "restrict":
    case "shared":
      throw new TypeError(`${relation.kind} is made by delta rules and has no delta itself`);
  }
}
