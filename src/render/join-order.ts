import { type Expression, inputsOf, type Join, outputOf, type Relation } from "../plan/relation.js";

/**
 * The inputs of a join in the order in which they are best joined: from one that is cut down to what changed outward,
 * next always the input that most predicates tie to those before it. A delta has few rows, and DuckDB's estimates of
 * joins with tables whose statistics it does not have take that for few distinct values on the other side as well:
 * over many inputs the estimates overflow, and the plan with them.
 */
export function joinOrder(join: Join): readonly Relation[] {
  const open = join.inputs.map((relation) => ({ relation, columns: new Set(outputOf(relation)) }));
  const take = (index: number): Relation[] => open.splice(index, 1).map((input) => input.relation);
  const ordered = take(startOf(join.inputs));
  const placed = new Set(ordered.flatMap(outputOf));
  while (open.length > 0) {
    const ties = open.map((input) => join.predicates.filter((predicate) => connects(predicate, placed, input.columns)));
    const most = Math.max(...ties.map((found) => found.length));
    const [next] = take(ties.findIndex((found) => found.length === most));
    if (next === undefined) break;
    ordered.push(next);
    for (const column of outputOf(next)) placed.add(column);
  }
  return ordered;
}

function startOf(inputs: readonly Relation[]): number {
  const delta = inputs.findIndex((input) => holds(input, "delta-scan"));
  if (delta >= 0) return delta;
  return Math.max(
    inputs.findIndex((input) => holds(input, "restrict")),
    0,
  );
}

function holds(relation: Relation, kind: Relation["kind"]): boolean {
  return relation.kind === kind || inputsOf(relation).some((input) => holds(input, kind));
}

/** True where a predicate can be tested as soon as the input is there, and speaks of it and of what was before. */
function connects(predicate: Expression, placed: ReadonlySet<string>, input: ReadonlySet<string>): boolean {
  return (
    predicate.columns.some((column) => placed.has(column)) &&
    predicate.columns.some((column) => input.has(column)) &&
    predicate.columns.every((column) => placed.has(column) || input.has(column))
  );
}
