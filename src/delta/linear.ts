import {
  columnExpression,
  expression,
  type Filter,
  keepColumns,
  outputOf,
  type Project,
  type Repeat,
  type Scan,
  type UnionAll,
} from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";

/** Δ of a source is its change in the window. */
export function scanDelta(scan: Scan, context: DeltaContext): readonly Term[] {
  if (!context.changed(scan.source)) return [];
  const weight = context.ids.create("weight");
  const { source, occurrence, alias, columns } = scan;
  return [
    { relation: { kind: "delta-scan", source, occurrence, alias, columns, weight }, weight, occurrences: [occurrence] },
  ];
}

/** Δσ(R) = σ(ΔR). */
export function filterDelta(filter: Filter, context: DeltaContext, derive: Derive): readonly Term[] {
  return derive(filter.input, context).map((term) => ({ ...term, relation: { ...filter, input: term.relation } }));
}

/** Δπ(R) = π(ΔR). */
export function projectDelta(project: Project, context: DeltaContext, derive: Derive): readonly Term[] {
  return derive(project.input, context).map((term) => ({
    ...term,
    relation: { ...project, input: term.relation, columns: [...project.columns, ...keepColumns([term.weight])] },
  }));
}

/** Δ(R ⊎ S) = ΔR ⊎ ΔS. */
export function unionAllDelta(union: UnionAll, context: DeltaContext, derive: Derive): readonly Term[] {
  return union.branches.flatMap((branch) =>
    derive(branch.input, context).map((term) => {
      const columns = union.columns.map((id, index) => ({
        id,
        expression: columnExpression(branch.columns[index] ?? id),
      }));
      return {
        ...term,
        relation: {
          kind: "project",
          input: term.relation,
          columns: [...columns, ...keepColumns([term.weight])],
        } as const,
      };
    }),
  );
}

/** A row repeated n times has n times its weight. */
export function repeatDelta(repeat: Repeat, context: DeltaContext, derive: Derive): readonly Term[] {
  return derive(repeat.input, context).map((term) => {
    const weight = context.ids.create("weight");
    const scaled = expression`${columnExpression(term.weight)} * greatest(CAST(${repeat.count} AS BIGINT), 0)`;
    return {
      ...term,
      weight,
      relation: {
        kind: "project",
        input: term.relation,
        columns: [...keepColumns(outputOf(repeat)), { id: weight, expression: scaled }],
      } as const,
    };
  });
}
