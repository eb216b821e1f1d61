import {
  type Ast,
  castTo,
  child,
  children,
  columnRef,
  fingerprint,
  integerConstant,
  isAst,
  isExpression,
  mapAst,
  optionalChild,
  text,
  texts,
  walkAst,
} from "../sql/ast.js";
import type { FunctionCatalog } from "../sql/functions.js";
import { dependsOnOrder } from "./aggregate-classes.js";
import type { Lowering } from "./lower.js";
import { type AggregateCall, CLOCK, type Expression, type NamedExpression, type Relation } from "./relation.js";
import type { Resolver, SelectItem } from "./resolve.js";
import { Unsupported } from "./unsupported.js";

export function isAggregateCall(functions: FunctionCatalog, node: Ast): boolean {
  return node["class"] === "FUNCTION" && functions.aggregates.has(text(node, "function_name").toLowerCase());
}

/** True where an expression gives several rows for one. */
export function multipliesRows(ast: Ast): boolean {
  let found = false;
  walkAst(ast, (node) => {
    if (node["class"] === "FUNCTION" && ROW_FUNCTIONS.has(text(node, "function_name").toLowerCase())) found = true;
    return !found;
  });
  return found;
}

const ROW_FUNCTIONS = new Set(["unnest", "unlist"]);

/** The list() of list_sort(list(x)), which is what DuckDB's parser makes of list(x ORDER BY x): its order is given. */
function sortedList(functions: FunctionCatalog, node: Ast): Ast | undefined {
  if (node["class"] !== "FUNCTION" || text(node, "function_name") !== "list_sort") return undefined;
  const [list] = children(node, "children");
  const isList = list !== undefined && ["list", "array_agg"].includes(text(list, "function_name").toLowerCase());
  return isList && isAggregateCall(functions, list) ? list : undefined;
}

/** True where an aggregate is called outside of window functions' own call. */
export function containsAggregate(functions: FunctionCatalog, ast: Ast): boolean {
  let found = false;
  walkAst(ast, (node) => {
    if (isAggregateCall(functions, node)) found = true;
    return !found && node["class"] !== "SUBQUERY";
  });
  return found;
}

/**
 * True where a subquery above a GROUP BY that names outer columns may be joined to the rows below it. SQL lets it name
 * keys only, outside of aggregates, so that its value is one for each group; aggregates of outer columns inside it would
 * be the groups' own, and what a grouping set leaves out is NULL for it.
 */
export function mayDependOnKeys(functions: FunctionCatalog, node: Ast, subquery: Ast): boolean {
  const sets = node["group_sets"] as readonly unknown[];
  const isGrouped = sets.length === 1 || node["aggregate_handling"] === "FORCE_AGGREGATES";
  const isPlain = ["SCALAR", "EXISTS", "NOT_EXISTS"].includes(text(subquery, "subquery_type"));
  const where = optionalChild(child(child(subquery, "subquery"), "node"), "where_clause");
  return isGrouped && isPlain && (where === undefined || !containsAggregate(functions, where));
}

export interface AggregatedSelect {
  readonly relation: Relation;
  readonly selected: Ast[];
  readonly qualify: Ast | undefined;
}

/** A SELECT with its names resolved, before its grouping. */
export interface GroupedSelect {
  readonly node: Ast;
  /** Which of the grouping sets this is about. */
  readonly set: number;
  readonly input: Relation;
  readonly resolver: Resolver;
  readonly items: readonly SelectItem[];
  readonly selected: readonly Ast[];
  readonly having: Ast | undefined;
  readonly qualify: Ast | undefined;
  /** Subqueries that are joined above the grouping. */
  readonly scalars: readonly { readonly relation: Relation; readonly value: string }[];
  /** Columns of the input that depend on nothing but the keys: they are keys themselves where no aggregate takes them. */
  readonly ofKeys: ReadonlySet<string>;
}

/** GROUP BY, the aggregate calls of the whole SELECT, and HAVING. */
export function lowerAggregates(lowering: Lowering, select: GroupedSelect): AggregatedSelect {
  const { scalars, having, qualify, ofKeys } = select;
  const keys = groupKeys(lowering, select);
  const grouping = new Grouping(lowering, keys, new Set(scalars.map((scalar) => scalar.value)), ofKeys);
  const outputs = select.selected.map((ast) => grouping.rewrite(ast));
  const predicate = having === undefined ? undefined : lowering.expression(grouping.rewrite(having));
  const filter = qualify === undefined ? undefined : grouping.rewrite(qualify);
  let relation = aggregateOver(lowering, select.input, keys, grouping.calls);
  if (scalars.length > 0) {
    relation = { kind: "join", inputs: [relation, ...scalars.map((scalar) => scalar.relation)], predicates: [] };
  }
  if (predicate !== undefined) relation = { kind: "filter", input: relation, predicate };
  return { relation, selected: outputs, qualify: filter };
}

/**
 * Expressions outside of the grouping set are NULL, of their own type. The empty set has one row whatever the input,
 * so there the NULLs are aggregates over nothing instead of keys.
 */
function aggregateOver(
  lowering: Lowering,
  input: Relation,
  keys: readonly GroupKey[],
  calls: readonly AggregateCall[],
): Relation {
  const printed = keys.map((key) => ({ key, expression: lowering.expression(key.ast) }));
  const inside = printed.filter(({ key }) => key.inSet);
  if (inside.length > 0 || keys.length === 0) {
    const named: NamedExpression[] = printed.map(({ key, expression }) => ({
      id: key.id,
      expression: key.inSet ? expression : derived(expression, (sql) => `CASE WHEN false THEN ${sql} END`),
    }));
    return { kind: "aggregate", input, keys: named, calls };
  }
  const nulls = printed.map(
    ({ key, expression }): AggregateCall => ({
      id: key.id,
      name: "null_key",
      arguments: [],
      distinct: false,
      ordered: false,
      expression: derived(expression, (sql) => `min(${sql}) FILTER (WHERE false)`),
    }),
  );
  return { kind: "aggregate", input, keys: [], calls: [...nulls, ...calls] };
}

/** Text around an expression that is printed later. */
function derived(inner: Expression, around: (sql: string) => string): Expression {
  return {
    get sql() {
      return around(inner.sql);
    },
    columns: inner.columns,
  };
}

interface GroupKey {
  readonly id: string;
  readonly ast: Ast;
  readonly print: string;
  /** False where the grouping set leaves the key out. */
  readonly inSet: boolean;
}

function groupKeys(lowering: Lowering, select: GroupedSelect): GroupKey[] {
  const { node, items, selected, resolver } = select;
  const sets = (node["group_sets"] as readonly (readonly unknown[])[] | undefined) ?? [];
  const set = sets[select.set]?.map(Number);
  const keys: GroupKey[] = [];
  const add = (ast: Ast, name: string, inSet = true): void => {
    if (multipliesRows(ast)) throw new Unsupported("grouped_unnest", "GROUP BY over unnest() has no incremental rule");
    const print = fingerprint(ast);
    if (!keys.some((key) => key.print === print)) keys.push({ id: lowering.id(name || "key"), ast, print, inSet });
  };
  if (node["aggregate_handling"] === "FORCE_AGGREGATES") {
    selected.forEach((ast, index) => {
      if (!containsAggregate(lowering.functions, ast)) add(ast, items[index]?.name ?? "");
    });
    return keys;
  }
  children(node, "group_expressions").forEach((group, index) => {
    const inSet = set === undefined || set.includes(index);
    const position = ordinal(group);
    if (position !== undefined) {
      const ast = selected[position - 1];
      if (ast === undefined) throw new Unsupported("query_form", `GROUP BY ${position} names no column`);
      add(ast, items[position - 1]?.name ?? "", inSet);
    } else {
      const ast = resolver.resolve(group);
      const names = group["class"] === "COLUMN_REF" ? (group["column_names"] as readonly string[]) : [];
      add(ast, names.at(-1) ?? "", inSet);
    }
  });
  return keys;
}

function ordinal(ast: Ast): number | undefined {
  if (ast["class"] !== "CONSTANT" || !isAst(ast["value"])) return undefined;
  const value = ast["value"]["value"];
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}

/** Rewrites expressions above a GROUP BY in terms of its keys and calls. */
export class Grouping {
  readonly calls: AggregateCall[] = [];
  private readonly callIds = new Map<string, string>();

  constructor(
    private readonly lowering: Lowering,
    /** Columns that depend on them are added as they are met. */
    private readonly keys: GroupKey[],
    /** Columns that are joined above the grouping, so need not be grouped. */
    private readonly free: ReadonlySet<string> = new Set(),
    private readonly ofKeys: ReadonlySet<string> = new Set(),
  ) {}

  rewrite(ast: Ast): Ast {
    return mapAst(ast, (node) => {
      if (!isExpression(node)) return undefined;
      const print = fingerprint(node);
      const key = this.keys.find((candidate) => candidate.print === print);
      const alias = text(node, "alias");
      if (key !== undefined) return columnRef([key.id], alias);
      if (node["type"] === "GROUPING_FUNCTION") return { ...this.groupingBits(node), alias };
      const sorted = sortedList(this.lowering.functions, node);
      if (sorted !== undefined) {
        const [, ...rest] = children(node, "children");
        const list = columnRef([this.call(sorted, fingerprint(sorted), true)]);
        return { ...node, children: [list, ...rest.map((part) => this.rewrite(part))] };
      }
      if (isAggregateCall(this.lowering.functions, node)) return columnRef([this.call(node, print)], alias);
      if (node["class"] === "COLUMN_REF" && this.isUngrouped(node)) {
        const [name = ""] = texts(node, "column_names");
        if (this.ofKeys.has(name)) return columnRef([this.addKey(node, print)], alias);
        throw new Unsupported("ungrouped_column", "a column that is neither grouped nor aggregated");
      }
      return undefined;
    }) as Ast;
  }

  private addKey(ast: Ast, print: string): string {
    const id = this.lowering.id("key");
    this.keys.push({ id, ast, print, inSet: true });
    return id;
  }

  /** GROUPING(a, b …): one bit for each argument, set where the grouping set leaves it out. */
  private groupingBits(node: Ast): Ast {
    const bits = children(node, "children").map((argument) => {
      const key = this.keys.find((candidate) => candidate.print === fingerprint(argument));
      if (key === undefined)
        throw new Unsupported("grouping_function", "GROUPING() of an expression that is not grouped");
      return BigInt(key.inSet ? 0 : 1);
    });
    return castTo(integerConstant(bits.reduce((value, bit) => value * 2n + bit, 0n)), "BIGINT");
  }

  private isUngrouped(node: Ast): boolean {
    const [name = ""] = node["column_names"] as readonly string[];
    return this.lowering.known.has(name) && !this.free.has(name) && name !== CLOCK;
  }

  private call(node: Ast, print: string, orderGiven = false): string {
    const existing = this.callIds.get(print);
    if (existing !== undefined) return existing;
    const name = text(node, "function_name").toLowerCase();
    const modifier = optionalChild(node, "order_bys");
    const ordered = orderGiven || (modifier !== undefined && children(modifier, "orders").length > 0);
    if (dependsOnOrder(name) && !ordered) {
      throw new Unsupported("order_sensitive", `${name}() without ORDER BY depends on an order that a table has not`);
    }
    if (node["export_state"] === true) throw new Unsupported("export_state", "EXPORT_STATE has no incremental rule");
    const filter = optionalChild(node, "filter");
    const id = this.lowering.id(name === "count_star" ? "count" : name);
    this.calls.push({
      id,
      name,
      arguments: children(node, "children").map((argument) => this.lowering.expression(argument)),
      ...(filter === undefined ? {} : { filter: this.lowering.expression(filter) }),
      distinct: node["distinct"] === true,
      ordered,
      expression: this.lowering.expression(node),
    });
    this.callIds.set(print, id);
    return id;
  }
}
