import { remedyOf } from "../plan/remedies.js";
import type { ExplainAdvice, ExplainNode, Reason } from "../types.js";

/** Parts of a plan that read all rows at each change, by what `explain` says of them. */
const DEAR: readonly {
  readonly code: string;
  readonly strategy: RegExp;
  readonly operator: RegExp;
  readonly why: string;
}[] = [
  {
    code: "limit_inside",
    operator: /^order by, limit$/,
    strategy: /^all rows/,
    why: "one row that comes can push out any other, so all rows are read and sorted before and after",
  },
  {
    code: "window_whole",
    operator: /^window$/,
    strategy: /^all rows/,
    why: "without PARTITION BY all rows are one partition, and any of them may change with one row",
  },
  {
    code: "group_whole",
    operator: /^aggregate$/,
    strategy: /^all rows/,
    why: "an aggregate without GROUP BY below other operators is one group: all its rows are read before and after",
  },
  {
    code: "groups_reread",
    operator: /^aggregate$/,
    strategy: /^affected groups read anew$/,
    why: "what one of its aggregates needs can't be added to or taken from, so the groups of changed rows are read anew",
  },
  {
    code: "recursion_lost",
    operator: /^recursion$/,
    strategy: /./,
    why: "rows that come are followed by steps; a row that goes may have been the only way to others, and then the view is recomputed",
  },
];

/** Why parts of a view are not kept by a rule, or by a dear one, each with the way to write it that would be. */
export function adviceOf(reasons: readonly Reason[], plan: ExplainNode | null): ExplainAdvice[] {
  const whole = reasons.map(({ code, text }) => advice(code, "the view", text));
  return [...whole, ...(plan === null ? [] : partsOf(plan))];
}

function partsOf(node: ExplainNode): ExplainAdvice[] {
  const own = DEAR.filter(({ operator, strategy }) => operator.test(node.operator) && strategy.test(node.strategy)).map(
    ({ code, why }) => advice(code, `${node.operator} ${node.detail}`.trim(), why),
  );
  return [...own, ...node.children.flatMap(partsOf)];
}

function advice(code: string, part: string, why: string): ExplainAdvice {
  const remedy = remedyOf(code);
  return {
    code,
    part,
    why,
    rewrite: remedy?.rewrite ?? null,
    page: remedy === null ? null : `docs/operators/${remedy.page}`,
  };
}
