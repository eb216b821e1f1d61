import { dependsOnOrder, familyOf } from "../plan/aggregate-classes.js";
import {
  type Ast,
  allConditions,
  child,
  children,
  functionCall,
  isNotNull,
  mapParts,
  optionalChild,
  text,
  textConstant,
  walkAst,
} from "../sql/ast.js";

/**
 * Some aggregates depend on the order of their rows, which a table has not: DuckDB may answer one thing today and
 * another tomorrow. Of the answers that it may give, this chooses one that follows from the rows alone:
 *
 *   any_value(x), first(x), last(x)   min(x)
 *   arg_max(x, y)                     of the rows with the greatest y, the greatest x
 *   arg_min(x, y)                     of the rows with the least y, the least x
 *   first(x ORDER BY y)               of the rows that come first, the least x, or with DESC the greatest
 *   list(x), string_agg(x, s) …       ordered by what the author gives, then by x
 *
 * Picks become a minimum or maximum of (y, x), which is kept as such. Gives the statement itself where nothing is open.
 */
export function settleOrder(statement: Ast): Ast {
  if (hasOrderInside(statement)) return statement;
  let changed = false;
  const visit = (node: Ast): Ast | undefined => {
    if (node["class"] !== "FUNCTION") return undefined;
    if (isSortedList(node)) return node;
    const settled = settleCall(node);
    if (settled === undefined) return undefined;
    changed = true;
    return settled;
  };
  const settled = mapParts(statement, visit);
  return changed ? settled : statement;
}

/** True where a query inside is in an order: who aggregates over such rows means them to be taken in it. */
function hasOrderInside(statement: Ast): boolean {
  const top = child(statement, "node");
  let found = false;
  walkAst(top, (node) => {
    const ordered = children(node, "modifiers").some((modifier) => modifier["type"] === "ORDER_MODIFIER");
    if (ordered && node !== top) found = true;
    return !found;
  });
  return found;
}

/** DuckDB's parser makes list_sort(list(x)) of list(x ORDER BY x). */
function isSortedList(node: Ast): boolean {
  return (
    text(node, "function_name") === "list_sort" &&
    children(node, "children").some((part) => familyOf(nameOf(part)) === "list")
  );
}

function nameOf(call: Ast): string {
  return text(call, "function_name").toLowerCase();
}

/** A call of an aggregate in an order of its own; undefined for any other call, and where no order can be given. */
function settleCall(call: Ast): Ast | undefined {
  const name = nameOf(call);
  if (!dependsOnOrder(name) || hasSubquery(call)) return undefined;
  if (familyOf(name) === "pick") {
    const picked = pickOf(call);
    if (picked !== undefined) return picked;
  }
  return ordered(call);
}

function hasSubquery(call: Ast): boolean {
  let found = false;
  walkAst(call, (node) => {
    if (node["class"] === "SUBQUERY") found = true;
    return !found;
  });
  return found;
}

interface Order {
  readonly expression: Ast;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
}

/** The orders of a call, in DuckDB's defaults: ascending, NULLs last. */
function ordersOf(call: Ast): readonly Order[] {
  return children(child(call, "order_bys"), "orders").map((order) => ({
    expression: child(order, "expression"),
    descending: text(order, "type") === "DESCENDING",
    nullsFirst: text(order, "null_order") === "NULLS FIRST",
  }));
}

interface Pick {
  readonly value: Ast;
  /** The row with the value comes first in these. */
  readonly orders: readonly Order[];
  /** Expressions that must not be NULL in the row. */
  readonly present: readonly Ast[];
}

/** The call as a minimum or maximum; undefined where its orders have unlike directions. */
function pickOf(call: Ast): Ast | undefined {
  const pick = pickedBy(call);
  if (pick === undefined) return undefined;
  const alias = text(call, "alias");
  const [first] = pick.orders;
  if (first === undefined) return { ...functionCall("min", [pick.value], alias), filter: call["filter"] ?? null };
  if (pick.orders.some((order) => order.descending !== first.descending)) return undefined;
  // Inside a struct NULL is greater than any value.
  const fields = pick.orders.flatMap(({ expression, nullsFirst }, index) => {
    const known = pick.present.includes(expression) || nullsFirst === first.descending;
    const name = `k${index + 1}`;
    return [...(known ? [] : [isNotNull(expression, `${name}_known`)]), { ...expression, alias: name }];
  });
  const struct = functionCall("struct_pack", [...fields, { ...pick.value, alias: "v" }]);
  const filter = optionalChild(call, "filter");
  const conditions = [...(filter === undefined ? [] : [filter]), ...pick.present.map((part) => isNotNull(part))];
  const extreme = {
    ...functionCall(first.descending ? "max" : "min", [struct]),
    filter: conditions.length === 0 ? null : allConditions(conditions),
  };
  return functionCall("struct_extract", [extreme, textConstant("v")], alias);
}

function pickedBy(call: Ast): Pick | undefined {
  const name = nameOf(call);
  const [value, by, count] = children(call, "children");
  if (value === undefined || count !== undefined) return undefined;
  const orders = ordersOf(call);
  if (by === undefined) {
    switch (name) {
      case "any_value":
      case "arbitrary":
        return { value, orders, present: orders.length === 0 ? [] : [value] };
      case "first":
        return { value, orders, present: [] };
      case "last":
        return { value, orders: orders.map(reversed), present: [] };
      default:
        return undefined;
    }
  }
  const descending = !name.includes("min");
  // A row is never NULL, and inside of it NULL is greater than any value. Its type has no name to be stored under.
  const parts = nameOf(by) === "row" ? children(by, "children") : undefined;
  const nullsFirst = parts !== undefined && descending;
  const extremes = (parts ?? [by]).map((part): Order => ({ expression: part, descending, nullsFirst }));
  const all = [...extremes, ...orders];
  // arg_min_null keeps a NULL to be picked, arg_min_nulls_last also one to be picked by.
  const present = name.endsWith("_nulls_last") ? [] : name.endsWith("_null") ? [by] : [value, by];
  return { value, orders: all, present: parts === undefined ? present : present.filter((part) => part !== by) };
}

function reversed(order: Order): Order {
  return { ...order, descending: !order.descending, nullsFirst: !order.nullsFirst };
}

/** The call with its own values behind its orders; undefined where it has none that differ from row to row. */
function ordered(call: Ast): Ast | undefined {
  const values = children(call, "children").filter(readsColumn);
  if (values.length === 0) return undefined;
  const modifier = child(call, "order_bys");
  const added = values.map((value) => ({
    type: "ASCENDING",
    null_order: "NULLS LAST",
    expression: { ...value, alias: "" },
  }));
  return { ...call, order_bys: { ...modifier, orders: [...children(modifier, "orders"), ...added] } };
}

function readsColumn(ast: Ast): boolean {
  let found = false;
  walkAst(ast, (node) => {
    if (node["class"] === "COLUMN_REF") found = true;
    return !found;
  });
  return found;
}
