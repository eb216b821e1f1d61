import {
  type ColumnId,
  columnExpression,
  type Expression,
  outputOf,
  type Relation,
  withInputs,
} from "../plan/relation.js";

type Pair = readonly [Expression, ColumnId];

/**
 * Cuts a relation down to the rows with one of the given keys, as near to the tables as the keys can be traced:
 * through projections, filters, joins, unions and complete groups. `keys` is shared, so it is computed once however
 * many inputs it cuts.
 */
export function restrictTo(relation: Relation, keys: Relation, pairs: readonly Pair[]): Relation {
  if (pairs.length === 0) return { kind: "restrict", input: relation, keys, pairs };
  const here = (): Relation => ({ kind: "restrict", input: relation, keys, pairs });
  switch (relation.kind) {
    case "filter":
    case "time-filter":
    case "repeat":
      return { ...relation, input: restrictTo(relation.input, keys, pairs) };
    case "mark-join":
    case "asof-join":
      if (!pairs.every((pair) => isOf(relation.left, pair))) return here();
      return { ...relation, left: restrictTo(relation.left, keys, pairs) };
    case "semi-join":
      return { ...relation, left: restrictTo(relation.left, keys, pairs) };
    case "project": {
      const traced = trace(pairs, (id) => relation.columns.find((column) => column.id === id)?.expression);
      return traced === undefined ? here() : { ...relation, input: restrictTo(relation.input, keys, traced) };
    }
    case "aggregate": {
      const traced = trace(pairs, (id) => relation.keys.find((key) => key.id === id)?.expression);
      return traced === undefined ? here() : { ...relation, input: restrictTo(relation.input, keys, traced) };
    }
    case "window": {
      // Whole partitions only: a window function must still see every row of the partitions that are kept.
      const whole = pairs.every(([expression]) => relation.partition.some((part) => part.sql === expression.sql));
      return whole ? { ...relation, input: restrictTo(relation.input, keys, pairs) } : here();
    }
    case "union-all": {
      const branches = relation.branches.map((branch) => {
        const traced = trace(pairs, (id) => {
          const column = branch.columns[relation.columns.indexOf(id)];
          return column === undefined ? undefined : columnExpression(column);
        });
        return traced === undefined ? undefined : { ...branch, input: restrictTo(branch.input, keys, traced) };
      });
      return branches.every((branch) => branch !== undefined) ? { ...relation, branches } : here();
    }
    case "outer-join": {
      if (relation.side === "full") return here();
      const preserved = relation.side === "left" ? relation.left : relation.right;
      if (!pairs.every((pair) => isOf(preserved, pair))) return here();
      return { ...relation, [relation.side]: restrictTo(preserved, keys, pairs) };
    }
    case "join":
      return restrictJoin(relation, keys, pairs);
    default:
      return here();
  }
}

/** Each input is cut by the keys that are its own; where they come from several inputs, the join is cut once more. */
function restrictJoin(join: Extract<Relation, { kind: "join" }>, keys: Relation, pairs: readonly Pair[]): Relation {
  const inputs = join.inputs.map((input) => {
    const own = pairs.filter((pair) => isOf(input, pair));
    return own.length === 0 ? input : restrictTo(input, keys, own);
  });
  const cut = withInputs(join, inputs);
  const complete = join.inputs.some((input) => pairs.every((pair) => isOf(input, pair)));
  return complete ? cut : { kind: "restrict", input: cut, keys, pairs };
}

function isOf(relation: Relation, [expression]: Pair): boolean {
  if (expression.columns.length === 0) return false;
  const output = new Set(outputOf(relation));
  return expression.columns.every((column) => output.has(column));
}

/** The pairs in terms of the input, where each is a plain column that `find` knows. */
function trace(pairs: readonly Pair[], find: (id: ColumnId) => Expression | undefined): Pair[] | undefined {
  const traced: Pair[] = [];
  for (const [expression, key] of pairs) {
    const below = expression.ref === undefined ? undefined : find(expression.ref);
    if (below === undefined || below.columns.length === 0 || below.multipliesRows === true) return undefined;
    traced.push([below, key]);
  }
  return traced;
}
