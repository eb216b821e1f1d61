import { affectedKeys } from "../delta/affected-keys.js";
import type { DeltaContext, Term } from "../delta/contract.js";
import { storedSource } from "../plan/recursion.js";
import { atVersion, inputsOf, type Relation, withInputs } from "../plan/relation.js";
import type { ExplainRead } from "../types.js";
import type { Layout } from "../view/layout.js";

/**
 * The states of tables that relations read besides deltas, each with the keys that cut it down. A scan without keys is
 * joined with what changed, or read as a whole.
 */
export function readsOf(relations: readonly Relation[]): ExplainRead[] {
  const reads = relations.flatMap((relation) => collect(relation, []));
  const distinct = new Map(reads.map((read) => [JSON.stringify(read), read]));
  return [...distinct.values()];
}

function collect(relation: Relation, keys: readonly string[]): ExplainRead[] {
  switch (relation.kind) {
    case "scan":
      return [
        {
          source: storedSource(relation.source),
          alias: relation.alias,
          state: relation.version,
          keys: [...new Set(keys)].sort(),
        },
      ];
    case "restrict": {
      const own = relation.pairs.map(([expression]) => expression.sql);
      // Only keys right above a table cut what is read of it; above a join they cut what comes of it.
      const below = isTable(relation.input) ? [...keys, ...own] : [];
      return [...collect(relation.input, below), ...collect(relation.keys, [])];
    }
    default:
      return inputsOf(relation).flatMap((input) => collect(input, []));
  }
}

function isTable(relation: Relation): boolean {
  return relation.kind === "scan" || (relation.kind === "restrict" && isTable(relation.input));
}

/** What is read of the tables for groups whose state can't be folded. */
export function rereadsOf(
  groups: NonNullable<Layout["groups"]>,
  terms: readonly Term[],
  context: DeltaContext,
): ExplainRead[] {
  const rereads = groups.states.some(
    ({ rule }) => rule.rule === "reread" || rule.rule === "extreme" || "endless" in rule,
  );
  if (!rereads || terms.length === 0) return [];
  const { input, keys } = groups.aggregate;
  const expressions = keys.map((key) => key.expression);
  const cut = affectedKeys(input, terms, expressions, context).restrict(atVersion(input, "new"));
  // The keys themselves come from the terms, which are told of on their own.
  return readsOf([withoutKeys(cut)]);
}

const NOTHING: Relation = { kind: "constant", sql: "", columns: [] };

function withoutKeys(relation: Relation): Relation {
  if (relation.kind === "restrict") return { ...relation, input: withoutKeys(relation.input), keys: NOTHING };
  return withInputs(relation, inputsOf(relation).map(withoutKeys));
}
