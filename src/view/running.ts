import {
  type ColumnId,
  columnExpression,
  type Expression,
  expression,
  type Order,
  outputOf,
  type Relation,
  type Window,
  type WindowColumn,
} from "../plan/relation.js";
import { decimalScale, isFloat, unscaledTotal } from "./number-types.js";
import { orderKey, type ViewPlan } from "./plan-view.js";

/**
 * Window functions at the top of a view, whose rows are stored with all that the functions take: rows that come after
 * the end of a partition get their values from there.
 */
export interface Running {
  /** The rows below the window functions; their columns are stored. */
  readonly input: Relation;
  readonly runs: readonly Run[];
}

/** Window functions over the same partitions in the same order. */
export interface Run {
  readonly partition: readonly Expression[];
  readonly orders: readonly Order[];
  /** How many of the last rows of a partition are needed; 0 where none goes on from there. */
  readonly rows: number;
  readonly columns: readonly RunColumn[];
  /** Why a partition with a changed row is evaluated as a whole; null where it can go on from its end. */
  readonly whole: string | null;
}

export interface RunColumn {
  readonly id: ColumnId;
  readonly type: string;
  /** The window function. */
  readonly expression: Expression;
  readonly next: NextValue;
}

/** The value of a row behind the stored end of its partition. */
type NextValue =
  /** The window function itself, over the last rows of the partition and those that came. */
  | { readonly from: "rows" }
  /** Made from `function` of the rows that came and the value of the last row before them. */
  | { readonly from: "value"; readonly function: string; readonly shared: boolean }
  /** Made from the new values of other columns. */
  | { readonly from: "states"; readonly value: Expression }
  | { readonly from: "whole" };

export interface RunningOptions {
  /** Floating-point sums go on too. */
  readonly foldFloats: boolean;
}

export type RunningResult =
  | { readonly running: Running; readonly rows: Relation; readonly top: Relation; readonly above: Above }
  | { readonly running: null; readonly why: string };

type Above = (input: Relation) => Relation;

interface Windows {
  /** From the lowest to the highest. */
  readonly windows: readonly Window[];
  readonly input: Relation;
  readonly above: Above;
  /** The columns of the windows that filters above read. */
  readonly filtered: readonly ColumnId[];
}

/** A filter on such a value keeps few rows of each partition. */
const RANKS = new Set(["row_number", "rank", "dense_rank", "rank_dense"]);
/** Types whose order the sort keys of the engine give exactly. */
const SORTED = new Set(
  `TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT DOUBLE FLOAT VARCHAR BOOLEAN
   DATE TIME TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS UUID BLOB`.split(/\s+/),
);

/** The windows at the top of a plan, where their values can go on from stored rows; else why they don't. */
export function runningOf(plan: ViewPlan, options: RunningOptions): RunningResult {
  const found = splitAtWindows(plan.relation);
  if (found === undefined) {
    return {
      running: null,
      why: "other operators than projections and filters stand above",
    };
  }
  const { windows, input, above } = found;
  const top = windows.at(-1);
  if (top === undefined) throw new TypeError("a window was met");
  if (outputOf(input).length === 0) return { running: null, why: "the rows below have no columns" };
  if (ranksOf(windows).some((id) => found.filtered.includes(id))) {
    return { running: null, why: "a filter above keeps few rows of each partition, and only those are stored" };
  }
  const runs = windows.flatMap((window) => runsOf(plan, window, options));
  if (runs.every((run) => run.whole !== null)) return { running: null, why: runs[0]?.whole ?? "" };
  const rows = windows.reduce<Relation>((below, window) => {
    const states = window.columns.flatMap((column) => usedStates(column, runs));
    return { ...window, input: below, columns: [...window.columns, ...states] };
  }, input);
  return { running: { input, runs }, rows, top, above };
}

function splitAtWindows(relation: Relation): Windows | undefined {
  if (relation.kind === "project" || relation.kind === "filter") {
    const below = splitAtWindows(relation.input);
    if (below === undefined) return undefined;
    const read = relation.kind === "filter" ? relation.predicate.columns : [];
    const filtered = [...below.filtered, ...read.flatMap((id) => originsOf(relation.input, id))];
    return { ...below, filtered, above: (rows) => ({ ...relation, input: below.above(rows) }) };
  }
  if (relation.kind !== "window") return undefined;
  const windows: Window[] = [];
  let input: Relation = relation;
  while (input.kind === "window") {
    windows.unshift(input);
    input = input.input;
  }
  return { windows, input, above: (rows) => rows, filtered: [] };
}

/** The columns of the windows that a column above them is made from. */
function originsOf(relation: Relation, id: ColumnId): readonly ColumnId[] {
  if (relation.kind === "filter") return originsOf(relation.input, id);
  if (relation.kind !== "project") return [id];
  const made = relation.columns.find((column) => column.id === id)?.expression.columns ?? [];
  return made.flatMap((column) => originsOf(relation.input, column));
}

function ranksOf(windows: readonly Window[]): readonly ColumnId[] {
  return windows.flatMap(({ columns }) =>
    columns.flatMap(({ id, rule }) => (rule?.rule === "running" && RANKS.has(rule.function) ? [id] : [])),
  );
}

function runsOf(plan: ViewPlan, window: Window, options: RunningOptions): Run[] {
  const byOrder = new Map<string, WindowColumn[]>();
  for (const column of window.columns) {
    const order = (column.orders ?? []).map(({ expression, direction }) => [expression.sql, direction]);
    const key = JSON.stringify(order);
    byOrder.set(key, [...(byOrder.get(key) ?? []), column]);
  }
  return [...byOrder.values()].map((columns) => runOf(plan, window, columns, options));
}

function runOf(plan: ViewPlan, window: Window, columns: readonly WindowColumn[], options: RunningOptions): Run {
  const [first] = columns;
  const whole = columns.map((column) => refusal(plan, column, options)).find((why) => why !== null) ?? null;
  const back = columns.map(({ rule }) => (rule?.rule === "look-back" ? rule.rows : 1));
  return {
    partition: window.partition,
    orders: first?.orders ?? [],
    rows: whole === null ? Math.max(1, ...back) : 0,
    columns: columns.flatMap((column) => columnsOf(plan, column, whole)),
    whole,
  };
}

/** Why the function can't go on behind the end of a partition. */
function refusal(plan: ViewPlan, column: WindowColumn, options: RunningOptions): string | null {
  const { rule, orders = [] } = column;
  if (rule === undefined) return "the view was planned by an older version, or its window comes from DISTINCT ON";
  if (rule.rule === "whole") return rule.why;
  const order = orders.map((_, index) => plan.types[orderKey(column.id, index)] ?? "");
  const unsorted = order.find((type) => !(SORTED.has(type) || /^(DECIMAL\(|TIMESTAMP WITH)/.test(type)));
  if (unsorted !== undefined) return `the place of a ${unsorted} in the order is not compared`;
  if (rule.rule === "look-back") return null;
  const summed = rule.function === "sum" ? [plan.types[column.id]] : statesOf(plan, rule, "sum");
  for (const type of summed) {
    if (isFloat(type) && !options.foldFloats) {
      return `${rule.function} of floating-point numbers depends on the order of additions (float_sums: fold allows it)`;
    }
    if (!isFloat(type) && type !== "HUGEINT" && type?.startsWith("DECIMAL(") !== true) {
      return `${rule.function} of this type has no exact next value`;
    }
  }
  return null;
}

type RunningRule = Extract<WindowColumn["rule"], { rule: "running" }>;

function statesOf(plan: ViewPlan, rule: RunningRule, name: "sum" | "count"): (string | undefined)[] {
  return rule.states.filter((state) => state.function === name).map((state) => plan.types[state.id]);
}

/** The column itself, and the states that it goes on from. */
function columnsOf(plan: ViewPlan, column: WindowColumn, whole: string | null): RunColumn[] {
  const { id, rule } = column;
  const type = plan.types[id] ?? "VARCHAR";
  const own = { id, type, expression: column.expression };
  if (whole !== null || rule === undefined || rule.rule === "whole") return [{ ...own, next: { from: "whole" } }];
  if (rule.rule === "look-back") return [{ ...own, next: { from: "rows" } }];
  const states = rule.states.map((state): RunColumn => {
    const next = { from: "value", function: state.function, shared: rule.shared } as const;
    return { id: state.id, type: plan.types[state.id] ?? "BIGINT", expression: state.expression, next };
  });
  if (rule.function !== "avg") {
    return [...states, { ...own, next: { from: "value", function: rule.function, shared: rule.shared } }];
  }
  const [sum, count] = [states[0], states[1]];
  if (sum === undefined || count === undefined) throw new TypeError("an average has a sum and a count");
  const [total, n] = [columnExpression(sum.id), columnExpression(count.id)];
  // As DuckDB does it, see the averages of groups.
  const scale = decimalScale(sum.type);
  const value = isFloat(sum.type)
    ? expression`${total} / ${n}`
    : expression`CAST(${unscaledTotal(total, scale)} AS DOUBLE) / (CAST(${n} AS DOUBLE) * CAST(${`${10n ** BigInt(scale)}`} AS DOUBLE))`;
  return [...states, { ...own, next: { from: "states", value: expression`CASE WHEN ${n} > 0 THEN ${value} END` } }];
}

function usedStates({ id, rule }: WindowColumn, runs: readonly Run[]): WindowColumn[] {
  const states = rule?.rule === "running" ? rule.states : [];
  const kept = runs.some((run) => run.whole === null && run.columns.some((column) => column.id === id));
  return kept ? states.map((state) => ({ id: state.id, expression: state.expression })) : [];
}
