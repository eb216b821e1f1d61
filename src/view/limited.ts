import { inputsOf, keepColumns, type Limit, outputOf, type Relation } from "../plan/relation.js";
import { HELPER_PREFIX } from "./states.js";

/** What a LIMIT over rows picks among: the first rows in its order, with all ties, more than it shows. */
export interface Candidates {
  /** The rows below the LIMIT, by the ids of the physical columns. */
  readonly input: Relation;
  readonly orders: Limit["orders"];
  /** How many rows the LIMIT needs; with fewer the table must be filled anew. */
  readonly needed: string;
  /** With more rows than this the table is filled anew, to be small again. */
  readonly most: string;
}

/** A plan split below the lowest LIMIT that only projections, filters and limits stand above. */
export interface Limited {
  /** The rows that the LIMIT picks among. */
  readonly below: Relation;
  readonly limit: Limit;
  readonly above: (input: Relation) => Relation;
}

export function splitAtLimit(relation: Relation): Limited | undefined {
  if (relation.kind !== "project" && relation.kind !== "filter" && relation.kind !== "limit") return undefined;
  const inner = splitAtLimit(relation.input);
  if (inner !== undefined) return { ...inner, above: (input) => ({ ...relation, input: inner.above(input) }) };
  if (relation.kind !== "limit") return undefined;
  return { below: relation.input, limit: relation, above: (input) => ({ ...relation, input }) };
}

/** True where a LIMIT stands above rows that nothing has grouped, and says too little, or too much, to keep candidates. */
export function limitsRows(relation: Relation): boolean {
  const limited = splitAtLimit(relation);
  return limited !== undefined && !hasAggregate(limited.below) && neededRows(limited.limit) === undefined;
}

function hasAggregate(relation: Relation): boolean {
  return relation.kind === "aggregate" || inputsOf(relation).some(hasAggregate);
}

const MOST_NEEDED = 100_000n;

/** How many of the first rows a LIMIT needs; undefined where it has no order, no end, or one too far away. */
function neededRows({ orders, limit, offset }: Limit): bigint | undefined {
  if (orders.length === 0 || limit === null) return undefined;
  const needed = BigInt(limit) + BigInt(offset ?? 0);
  return needed > MOST_NEEDED ? undefined : needed;
}

/** The rows that are stored for a LIMIT: all, where they are groups, else the first ones as candidates. */
export function storedRows({ below, limit }: Limited): { rows: Relation; candidates?: Candidates } {
  const needed = neededRows(limit);
  if (needed === undefined || hasAggregate(below)) return { rows: below };
  // As many again, and some more, can go before the table has to be filled anew.
  const filled = needed * 2n + 100n;
  const rank = `${HELPER_PREFIX}rank`;
  const order = limit.orders.map(({ expression, direction }) => `${expression.sql} ${direction}`).join(", ");
  const columns = limit.orders.flatMap(({ expression }) => expression.columns);
  const ranked: Relation = {
    kind: "window",
    input: below,
    partition: [],
    columns: [{ id: rank, expression: { sql: `rank() OVER (ORDER BY ${order})`, columns } }],
  };
  const first: Relation = {
    kind: "filter",
    input: ranked,
    predicate: { sql: `"${rank}" <= ${filled}`, columns: [rank] },
  };
  return {
    rows: { kind: "project", input: first, columns: keepColumns(outputOf(below)) },
    candidates: { input: below, orders: limit.orders, needed: `${needed}`, most: `${filled * 10n}` },
  };
}
