import { type ColumnId, type Expression, type Relation, withInputs } from "./relation.js";

/** The same relation without columns that nothing above it uses, down to the scans: only what is used is read. */
export function prune(relation: Relation, needed: ReadonlySet<ColumnId>): Relation {
  switch (relation.kind) {
    case "scan":
    case "delta-scan":
      return { ...relation, columns: relation.columns.filter((column) => needed.has(column.id)) };
    case "constant":
      return relation;
    case "filter":
    case "time-filter":
      return { ...relation, input: prune(relation.input, plus(needed, relation.predicate)) };
    case "project": {
      const columns = relation.columns.filter(
        (column) => needed.has(column.id) || column.expression.multipliesRows === true,
      );
      return {
        ...relation,
        columns,
        input: prune(relation.input, plus(NONE, ...columns.map((column) => column.expression))),
      };
    }
    case "join": {
      const below = plus(needed, ...relation.predicates);
      return withInputs(
        relation,
        relation.inputs.map((input) => prune(input, below)),
      );
    }
    case "outer-join":
    case "semi-join": {
      const below = plus(needed, relation.predicate);
      return withInputs(relation, [prune(relation.left, below), prune(relation.right, below)]);
    }
    case "asof-join": {
      const compared = [...relation.keys, relation.order].flatMap((pair) => [pair.left, pair.right]);
      const below = plus(needed, ...compared);
      return withInputs(relation, [prune(relation.left, below), prune(relation.right, below)]);
    }
    case "mark-join": {
      if (!needed.has(relation.mark)) return prune(relation.left, needed);
      const compared = relation.comparison === null ? [] : [relation.comparison];
      const below = plus(needed, relation.correlation, ...compared);
      return withInputs(relation, [prune(relation.left, below), prune(relation.right, below)]);
    }
    case "restrict": {
      const below = plus(needed, ...relation.pairs.map(([expression]) => expression));
      const keys = new Set(relation.pairs.map(([, key]) => key));
      return withInputs(relation, [prune(relation.input, below), prune(relation.keys, keys)]);
    }
    case "aggregate": {
      const calls = relation.calls.filter((call) => needed.has(call.id));
      const used = [...relation.keys.map((key) => key.expression), ...calls.map((call) => call.expression)];
      return { ...relation, calls, input: prune(relation.input, plus(NONE, ...used)) };
    }
    case "window": {
      const columns = relation.columns.filter((column) => needed.has(column.id));
      if (columns.length === 0) return prune(relation.input, needed);
      const below = plus(needed, ...relation.partition, ...columns.map((column) => column.expression));
      return { ...relation, columns, input: prune(relation.input, below) };
    }
    case "union-all": {
      const kept = relation.columns.flatMap((id, index) => (needed.has(id) ? [index] : []));
      const pick = (ids: readonly ColumnId[]): ColumnId[] => kept.map((index) => ids[index] ?? "");
      return {
        ...relation,
        columns: pick(relation.columns),
        branches: relation.branches.map((branch) => {
          const columns = pick(branch.columns);
          return { columns, input: prune(branch.input, new Set(columns)) };
        }),
      };
    }
    case "limit":
      return {
        ...relation,
        input: prune(relation.input, plus(needed, ...relation.orders.map((order) => order.expression))),
      };
    case "repeat":
      return { ...relation, input: prune(relation.input, plus(needed, relation.count)) };
    case "shared":
      return { ...relation, input: prune(relation.input, needed) };
  }
}

const NONE: ReadonlySet<ColumnId> = new Set();

function plus(needed: ReadonlySet<ColumnId>, ...expressions: readonly Expression[]): Set<ColumnId> {
  return new Set([...needed, ...expressions.flatMap((expression) => expression.columns)]);
}
