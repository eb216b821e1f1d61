import { type Ast, child, children, isAst, optionalChild, text, walkAst } from "../sql/ast.js";
import type { Lowering } from "./lower.js";
import { direction } from "./lower-limit.js";
import type { Order, RunningState, WindowRule } from "./relation.js";

/** Looking back further than so many rows costs as much as reading the partition. */
const FURTHEST = 10_000;

/** Functions of the place of a row among the others, which take no frame. */
const PLACES = new Set(["row_number", "rank", "rank_dense", "dense_rank"]);
/** Aggregates whose value up to a row follows from that up to the row before, with the states that this takes. */
const RUNNING: ReadonlyMap<string, readonly RunningState["function"][]> = new Map([
  ["count_star", []],
  ["count", []],
  ["sum", []],
  ["min", []],
  ["max", []],
  ["bool_and", []],
  ["bool_or", []],
  ["avg", ["sum", "count"]],
  ["mean", ["sum", "count"]],
]);

export function ordersOf(lowering: Lowering, node: Ast): Order[] {
  return children(node, "orders").map((order) => ({
    expression: lowering.expression(child(order, "expression")),
    direction: direction(order),
  }));
}

/** How a window function goes on behind the end of a partition; what its types allow is decided later. */
export function windowRule(lowering: Lowering, node: Ast, id: string): WindowRule {
  const name = text(node, "function_name").toLowerCase();
  const whole = (why: string): WindowRule => ({ rule: "whole", why });
  if (children(node, "orders").length === 0) return whole(`the window of ${name} has no ORDER BY`);
  if (children(node, "orders").some(isCollated)) return whole(`the window of ${name} is in the order of a collation`);
  if (PLACES.has(name)) {
    if (children(node, "arg_orders").length > 0) return whole(`${name} has an ORDER BY of its own`);
    const counted = name === "rank" ? [state(lowering, countRows(node), id, "count")] : [];
    return { rule: "running", function: name, shared: name !== "row_number", states: counted };
  }
  if (name === "lag") return lagRule(node);
  if (name === "lead") return whole("lead looks at rows that come later");
  if (name === "ntile" || name === "percent_rank" || name === "cume_dist") {
    return whole(`${name} depends on how many rows the partition has`);
  }
  return framed(lowering, node, id, name);
}

function framed(lowering: Lowering, node: Ast, id: string, name: string): WindowRule {
  const whole = (why: string): WindowRule => ({ rule: "whole", why });
  const [start, end] = [text(node, "start"), text(node, "end")];
  if (end.includes("FOLLOWING")) return whole(`the frame of ${name} reaches rows that come later`);
  const rows = framedRows(node, start, end);
  if (rows !== undefined && rows <= FURTHEST) return { rule: "look-back", rows };
  if (start !== "UNBOUNDED_PRECEDING" || !end.startsWith("CURRENT_ROW_")) {
    return whole(`the frame of ${name} looks back by other than a fixed number of rows, or by too many`);
  }
  const shared = end !== "CURRENT_ROW_ROWS";
  if (text(node, "exclude_clause") !== "NO_OTHER") return whole(`the frame of ${name} leaves rows out`);
  if (name === "first_value" && children(node, "arg_orders").length === 0) {
    const known = node["ignore_nulls"] === true ? "first_value ignore nulls" : name;
    return { rule: "running", function: known, shared, states: [] };
  }
  if (name === "last_value" && node["ignore_nulls"] !== true && children(node, "arg_orders").length === 0) {
    return { rule: "look-back", rows: 0 };
  }
  const states = RUNNING.get(name);
  if (states === undefined || children(node, "children").length > 1) {
    return whole(`${name} up to a row does not follow from its value up to the row before`);
  }
  if (node["distinct"] === true) return whole(`${name} of DISTINCT values has to know all values`);
  const kept = states.map((what) => state(lowering, { ...node, function_name: what, alias: "" }, id, what));
  return { rule: "running", function: name === "mean" ? "avg" : name, shared, states: kept };
}

function lagRule(node: Ast): WindowRule {
  const offset = optionalChild(node, "offset_expr");
  const rows = offset === undefined ? 1 : constant(offset);
  if (node["ignore_nulls"] === true) return { rule: "whole", why: "lag with IGNORE NULLS may look back to any row" };
  if (children(node, "arg_orders").length > 0) return { rule: "whole", why: "lag has an ORDER BY of its own" };
  return rows === undefined || rows > FURTHEST
    ? { rule: "whole", why: "lag looks back by other than a fixed number of rows, or by too many" }
    : { rule: "look-back", rows };
}

/** How many rows before the current one a frame reaches; undefined where that is no fixed number. */
function framedRows(node: Ast, start: string, end: string): number | undefined {
  if (start.startsWith("CURRENT_ROW_")) return 0;
  if (start !== "EXPR_PRECEDING_ROWS" || !(end === "CURRENT_ROW_ROWS" || end === "EXPR_PRECEDING_ROWS")) {
    return undefined;
  }
  const from = optionalChild(node, "start_expr");
  return from === undefined ? undefined : constant(from);
}

function constant(ast: Ast): number | undefined {
  const value = isAst(ast["value"]) ? ast["value"]["value"] : undefined;
  if (ast["class"] !== "CONSTANT" || (typeof value !== "number" && typeof value !== "bigint")) return undefined;
  const rows = Number(value);
  return Number.isSafeInteger(rows) && rows >= 0 ? rows : undefined;
}

/** The number of rows up to and with the peers of the current one. */
function countRows(node: Ast): Ast {
  return {
    ...node,
    type: "WINDOW_AGGREGATE",
    function_name: "count_star",
    alias: "",
    children: [],
    start: "UNBOUNDED_PRECEDING",
    end: "CURRENT_ROW_RANGE",
    start_expr: null,
    end_expr: null,
    exclude_clause: "NO_OTHER",
    filter_expr: null,
  };
}

function state(lowering: Lowering, node: Ast, id: string, name: RunningState["function"]): RunningState {
  return { id: `${id}.${name}`, function: name, expression: lowering.expression(node) };
}

function isCollated(order: Ast): boolean {
  let found = false;
  walkAst(order, (node) => {
    if (node["class"] === "COLLATE") found = true;
    return !found;
  });
  return found;
}
