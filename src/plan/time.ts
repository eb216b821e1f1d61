import { CLOCK, type Expression, inputsOf, type Relation, withInputs } from "./relation.js";
import { Unsupported } from "./unsupported.js";

const TIME_DEPENDENT = "time_dependent";

/** Makes filters that read the time into time filters; at any other place the time has no incremental rule. */
export function placeTime(relation: Relation): Relation {
  const placed = withInputs(relation, inputsOf(relation).map(placeTime));
  switch (placed.kind) {
    case "filter":
      return readsTime(placed.predicate) ? timeFilter(placed.input, placed.predicate) : placed;
    case "join": {
      const timed = placed.predicates.filter(readsTime);
      const join: Relation = { ...placed, predicates: placed.predicates.filter((predicate) => !readsTime(predicate)) };
      return timed.reduce(timeFilter, join);
    }
    case "project":
      return refuse(placed, placed.columns.map(expressionOf), "the SELECT list");
    case "aggregate":
      return refuse(placed, [...placed.keys, ...placed.calls].map(expressionOf), "a grouping or an aggregate");
    case "window":
      return refuse(placed, [...placed.partition, ...placed.columns.map(expressionOf)], "a window function");
    case "outer-join":
    case "semi-join":
      return refuse(placed, [placed.predicate], "the condition of an outer, semi or anti join");
    case "mark-join": {
      const compared = placed.comparison === null ? [] : [placed.comparison];
      return refuse(placed, [placed.correlation, ...compared], "the condition of a correlated subquery");
    }
    case "asof-join": {
      const compared = [...placed.keys, placed.order].flatMap((pair) => [pair.left, pair.right]);
      return refuse(placed, compared, "the condition of an ASOF join");
    }
    case "limit":
      return refuse(placed, placed.orders.map(expressionOf), "an ORDER BY with a LIMIT");
    case "repeat":
      return refuse(placed, [placed.count], "a set operation");
    default:
      return placed;
  }
}

export function unsupportedTime(place: string): Unsupported {
  return new Unsupported(
    TIME_DEPENDENT,
    `the time stands in ${place}, where any row may change with every snapshot; in a filter it has a rule`,
  );
}

function readsTime(expression: Expression): boolean {
  return expression.columns.includes(CLOCK);
}

function timeFilter(input: Relation, predicate: Expression): Relation {
  return { kind: "time-filter", input, predicate, version: "new" };
}

function expressionOf(part: { readonly expression: Expression }): Expression {
  return part.expression;
}

function refuse(relation: Relation, expressions: readonly Expression[], place: string): Relation {
  if (!expressions.some(readsTime)) return relation;
  throw unsupportedTime(place);
}
