import { keepColumns, type OuterJoin, outputOf, type Relation, type UnionAll } from "../plan/relation.js";
import type { DeltaContext, Derive, Term } from "./contract.js";

/**
 * An outer join is its inner join and, padded with NULLs, the rows of a preserved side without a match:
 *
 *   L ⟕ R = (L ⋈ R) ⊎ pad(L ▷ R)        L ⟗ R = (L ⋈ R) ⊎ pad(L ▷ R) ⊎ pad(R ▷ L)
 *
 * so its delta is that of an inner join and of anti joins, for any predicate.
 */
export function outerJoinDelta(join: OuterJoin, context: DeltaContext, derive: Derive): readonly Term[] {
  return derive(decompose(join, context), context);
}

function decompose(join: OuterJoin, context: DeltaContext): UnionAll {
  const { left, right, predicate } = join;
  const columns = outputOf(join);
  const branches: UnionAll["branches"][number][] = [
    { input: { kind: "join", inputs: [left, right], predicates: [predicate] }, columns },
  ];
  if (join.side !== "right") branches.push({ input: padded(left, right), columns });
  if (join.side !== "left") branches.push({ input: padded(right, left), columns });
  return { kind: "union-all", columns, branches };

  function padded(kept: Relation, missing: Relation): Relation {
    return {
      kind: "project",
      input: { kind: "semi-join", anti: true, left: kept, right: missing, predicate },
      columns: [
        ...keepColumns(outputOf(kept)),
        ...outputOf(missing).map((id) => ({
          id,
          expression: { sql: `CAST(NULL AS ${context.typeOf(id)})`, columns: [] },
        })),
      ],
    };
  }
}
