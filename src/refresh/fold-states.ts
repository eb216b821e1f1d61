import type { ColumnId, Expression } from "../plan/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import type { GroupState, StateRule } from "../view/states.js";

/** The SQL of the rules that keep stored states: what a state needs of the changed rows, and its new value. */

/** Gives the quoted column in which the changed rows have an expression's value. */
export type TakeColumn = (expression: Expression, name: string) => string;

const change = (id: ColumnId): string => q(`${id} change`);
const inserted = (id: ColumnId): string => q(`${id} inserted`);
const deleted = (id: ColumnId): string => q(`${id} deleted`);

/** What the changed rows of a group add up to for a state: items of a SELECT, over rows with a weight. */
export function stateChange(state: GroupState, take: TakeColumn): string[] {
  const { rule, id } = state;
  switch (rule.rule) {
    case "rows":
      return [`CAST(sum("weight") AS BIGINT) AS ${change(id)}`];
    case "count":
      return [`CAST(coalesce(sum("weight") FILTER (WHERE ${counted(rule, take)}), 0) AS BIGINT) AS ${change(id)}`];
    case "sum": {
      const argument = take(rule.argument, "argument");
      return [
        `sum(CAST(${argument} AS ${rule.type}) * "weight") FILTER (WHERE ${counted(rule, take)}) AS ${change(id)}`,
      ];
    }
    case "parity": {
      // Copies cancel out in pairs, whether they come or go.
      const argument = take(rule.argument, "argument");
      return [`bit_xor(${argument}) FILTER (WHERE "weight" % 2 <> 0 AND ${counted(rule, take)}) AS ${change(id)}`];
    }
    case "bits":
    case "extreme": {
      const argument = take(rule.argument, "argument");
      const condition = counted(rule, take);
      const over = (sign: string): string =>
        `${rule.function}(${argument}) FILTER (WHERE "weight" ${sign} 0 AND ${condition})`;
      return [`${over(">")} AS ${inserted(id)}`, `${over("<")} AS ${deleted(id)}`];
    }
    case "value":
      return [];
    case "reread":
      throw new TypeError("a state without a folding rule is not summed");
  }
}

/** The rows that an aggregate takes: its argument is not NULL and its filter holds. */
function counted(rule: { argument: Expression | null; filter: Expression | null }, take: TakeColumn): string {
  const conditions: string[] = [];
  if (rule.argument !== null) conditions.push(`${take(rule.argument, "argument")} IS NOT NULL`);
  if (rule.filter !== null) conditions.push(take(rule.filter, "filter"));
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

interface FoldedState {
  readonly value: string;
  /** True for groups that must be read anew. */
  readonly reread: string | null;
}

/** The new value of a state from its old one (`old` gives its column) and its change, in `changed`. */
export function foldState(id: ColumnId, rule: StateRule, old: (id: ColumnId) => string): FoldedState {
  const folded = (value: string): FoldedState => ({ value, reread: null });
  const counts = (count: ColumnId): string => `coalesce(${old(count)}, 0) + coalesce(changed.${change(count)}, 0)`;
  switch (rule.rule) {
    case "rows":
    case "count":
      return folded(counts(id));
    case "sum": {
      // A sum over no values is NULL, not 0.
      const total = `CAST(coalesce(${old(id)}, 0) + coalesce(changed.${change(id)}, 0) AS ${rule.type})`;
      const value = `CASE WHEN ${counts(rule.count)} > 0 THEN ${total} END`;
      if (rule.endless === undefined) return folded(value);
      // NaN and infinity can't be taken away again, and a sum of others may run over to infinity.
      const endless = `coalesce(${old(rule.endless)}, 0) > 0 OR ${counts(rule.endless)} > 0`;
      return { value, reread: `${endless} OR NOT isfinite(${total})` };
    }
    case "parity": {
      const value = `CAST(xor(coalesce(${old(id)}, 0), coalesce(changed.${change(id)}, 0)) AS ${rule.type})`;
      return folded(`CASE WHEN ${counts(rule.count)} > 0 THEN ${value} END`);
    }
    case "bits": {
      const [came, went] = [`changed.${inserted(id)}`, `changed.${deleted(id)}`];
      const none = `CAST(0 AS ${rule.type})`;
      const neutral = rule.function === "bit_or" ? none : `~${none}`;
      const both = `coalesce(${old(id)}, ${neutral}) ${rule.function === "bit_or" ? "|" : "&"} coalesce(${came}, ${neutral})`;
      // A bit may have been there for what went, unless that says nothing of any bit.
      const lost = `coalesce(${went}, ${neutral}) <> ${neutral}`;
      return { value: `CASE WHEN ${counts(rule.count)} > 0 THEN CAST(${both} AS ${rule.type}) END`, reread: lost };
    }
    case "extreme": {
      const [came, went] = [`changed.${inserted(id)}`, `changed.${deleted(id)}`];
      const [best, reaches] = rule.function === "min" ? ["least", "<="] : ["greatest", ">="];
      // Lost where a copy of the held extreme went and nothing that came takes its place.
      const lost = `(${went} IS NOT NULL AND ${went} ${reaches} ${old(id)} AND NOT (${came} IS NOT NULL AND ${came} ${reaches} ${old(id)}))`;
      const value = `CASE WHEN ${old(id)} IS NULL THEN ${came} WHEN ${came} IS NULL THEN ${old(id)} ELSE ${best}(${old(id)}, ${came}) END`;
      return { value, reread: lost };
    }
    case "value":
      throw new TypeError("a state made of others is not folded itself");
    case "reread":
      throw new TypeError("a state without a folding rule is not folded");
  }
}
