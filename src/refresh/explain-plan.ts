import { isIteration } from "../plan/recursion.js";
import type { Expression, Relation, Scan, Window } from "../plan/relation.js";
import type { ExplainNode } from "../types.js";
import type { Layout } from "../view/layout.js";
import type { ViewPlan } from "../view/plan-view.js";
import { windowStrategy } from "./explain-windows.js";

/** The plan as a tree with the rule that keeps each node. */
export function describePlan(plan: ViewPlan, layout: Layout): ExplainNode {
  return new Describer(plan, layout).node(plan.relation, true);
}

class Describer {
  constructor(
    private readonly plan: ViewPlan,
    private readonly layout: Layout,
  ) {}

  /** `top`: nothing but projections and filters stands above, so that states, or rows, can be stored. */
  node(relation: Relation, top: boolean): ExplainNode {
    switch (relation.kind) {
      case "scan":
        return this.scan(relation);
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
        return this.window(relation, top);
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

  private scan({ source, alias, columns }: Scan): ExplainNode {
    const names = `(${columns.map((column) => column.name).join(", ")})`;
    if (isIteration(source)) return leaf("round", `${alias} ${names}`, "rows that the round before has found");
    const recursion = this.plan.recursions?.find((candidate) => candidate.source === source);
    if (recursion === undefined) return leaf("scan", `${source} AS ${alias} ${names}`, "delta from snapshots");
    const parts = [recursion.anchor, recursion.step].map(({ relation }) => this.node(relation, false));
    const strategy = "semi-naive steps from the stored rows; recomputed when rows go";
    return {
      operator: "recursion",
      detail: `${recursion.name} (${recursion.columns.join(", ")})`,
      strategy,
      children: parts,
    };
  }

  private aggregate(relation: Extract<Relation, { kind: "aggregate" }>, top: boolean): ExplainNode {
    const keys = relation.keys.map((key) => key.expression.sql).join(", ");
    const calls = relation.calls.map((call) => call.expression.sql).join(", ");
    const operator = relation.calls.length === 0 && relation.keys.length > 0 ? "distinct" : "aggregate";
    const detail = [calls, keys === "" ? "" : `by ${keys}`].filter((part) => part !== "").join(" ");
    const inside = relation.keys.length === 0 ? "all rows, new minus old" : "affected groups, new minus old";
    return this.unary(operator, detail, top ? this.stored() : inside, relation.input, false);
  }

  private window(window: Window, top: boolean): ExplainNode {
    const detail = window.columns.map((column) => column.expression.sql).join(", ");
    const { strategy, why } = windowStrategy(this.plan, top ? this.layout : null, window);
    // Windows stand above each other, and all of them are stored.
    const node = this.unary("window", detail, strategy, window.input, top && window.input.kind === "window");
    return why === null ? node : { ...node, why };
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
