import { type ColumnId, keepColumns, outputOf, type Relation, type UnionAll } from "../plan/relation.js";
import type { DeltaContext, Term } from "./contract.js";

/** `after` minus `before`, as one term: the rows of the one with weight +1, of the other with −1. */
export function differenceTerm(
  after: Relation,
  before: Relation,
  occurrences: readonly number[],
  context: DeltaContext,
): Term {
  const weight = context.ids.create("weight");
  const columns = outputOf(after);
  const branch = (input: Relation, sign: string): UnionAll["branches"][number] => ({
    columns: [...columns, weight],
    input: {
      kind: "project",
      input,
      columns: [...keepColumns(columns), { id: weight, expression: { sql: sign, columns: [] } }],
    },
  });
  return {
    relation: {
      kind: "union-all",
      columns: [...columns, weight],
      branches: [branch(after, "1"), branch(before, "-1")],
    },
    weight,
    occurrences,
  };
}

/** All rows that some term names, whatever their weights. */
export function rowsOf(terms: readonly Term[], columns: readonly ColumnId[]): Relation {
  return {
    kind: "union-all",
    columns,
    branches: terms.map((term) => ({ input: term.relation, columns })),
  };
}

export function occurrencesOf(terms: readonly Term[]): readonly number[] {
  return [...new Set(terms.flatMap((term) => term.occurrences))].sort((a, b) => a - b);
}
