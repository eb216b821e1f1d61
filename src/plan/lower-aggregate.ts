import {
  type Ast,
  children,
  columnRef,
  fingerprint,
  isAst,
  isExpression,
  mapAst,
  optionalChild,
  text,
  walkAst,
} from "../sql/ast.js";
import type { FunctionCatalog } from "../sql/functions.js";
import type { Lowering } from "./lower.js";
import type { AggregateCall, NamedExpression, Relation } from "./relation.js";
import type { Resolver, SelectItem } from "./resolve.js";
import { Unsupported } from "./unsupported.js";

/** Aggregates whose answer depends on the order of their input, which a bag has not. */
const ORDER_SENSITIVE = new Set([
  "list",
  "array_agg",
  "string_agg",
  "group_concat",
  "listagg",
  "first",
  "last",
  "any_value",
  "arbitrary",
  "arg_min",
  "argmin",
  "min_by",
  "arg_max",
  "argmax",
  "max_by",
  "arg_min_null",
  "arg_max_null",
  "arg_min_nulls_last",
  "arg_max_nulls_last",
  "mode",
  "json_group_array",
  "json_group_object",
  "json_group_structure",
  "map",
  "reservoir_quantile",
]);

export function isAggregateCall(functions: FunctionCatalog, node: Ast): boolean {
  return node["class"] === "FUNCTION" && functions.aggregates.has(text(node, "function_name").toLowerCase());
}

/** True where an aggregate is called outside of window functions' own call. */
export function containsAggregate(functions: FunctionCatalog, ast: Ast): boolean {
  let found = false;
  walkAst(ast, (node) => {
    if (isAggregateCall(functions, node)) found = true;
    return !found;
  });
  return found;
}

export interface AggregatedSelect {
  readonly relation: Relation;
  readonly selected: Ast[];
  readonly qualify: Ast | undefined;
}

/** GROUP BY, the aggregate calls of the whole SELECT, and HAVING. */
export function lowerAggregates(
  lowering: Lowering,
  node: Ast,
  input: Relation,
  resolver: Resolver,
  items: readonly SelectItem[],
  selected: readonly Ast[],
  having: Ast | undefined,
  qualify: Ast | undefined,
): AggregatedSelect {
  const keys = groupKeys(lowering, node, resolver, items, selected);
  const grouping = new Grouping(lowering, keys);
  const outputs = selected.map((ast) => grouping.rewrite(ast));
  const predicate = having === undefined ? undefined : lowering.expression(grouping.rewrite(having));
  const filter = qualify === undefined ? undefined : grouping.rewrite(qualify);
  const named: NamedExpression[] = keys.map((key) => ({ id: key.id, expression: lowering.expression(key.ast) }));
  let relation: Relation = { kind: "aggregate", input, keys: named, calls: grouping.calls };
  if (predicate !== undefined) relation = { kind: "filter", input: relation, predicate };
  return { relation, selected: outputs, qualify: filter };
}

interface GroupKey {
  readonly id: string;
  readonly ast: Ast;
  readonly print: string;
}

function groupKeys(
  lowering: Lowering,
  node: Ast,
  resolver: Resolver,
  items: readonly SelectItem[],
  selected: readonly Ast[],
): GroupKey[] {
  const sets = (node["group_sets"] as readonly (readonly unknown[])[] | undefined) ?? [];
  if (sets.length > 1) {
    throw new Unsupported("grouping_sets", "GROUPING SETS, ROLLUP and CUBE have no incremental rule");
  }
  const keys: GroupKey[] = [];
  const add = (ast: Ast, name: string): void => {
    const print = fingerprint(ast);
    if (!keys.some((key) => key.print === print)) keys.push({ id: lowering.id(name || "key"), ast, print });
  };
  if (node["aggregate_handling"] === "FORCE_AGGREGATES") {
    selected.forEach((ast, index) => {
      if (!containsAggregate(lowering.functions, ast)) add(ast, items[index]?.name ?? "");
    });
    return keys;
  }
  for (const group of children(node, "group_expressions")) {
    const position = ordinal(group);
    if (position !== undefined) {
      const ast = selected[position - 1];
      if (ast === undefined) throw new Unsupported("query_form", `GROUP BY ${position} names no column`);
      add(ast, items[position - 1]?.name ?? "");
    } else {
      const ast = resolver.resolve(group);
      const names = group["class"] === "COLUMN_REF" ? (group["column_names"] as readonly string[]) : [];
      add(ast, names.at(-1) ?? "");
    }
  }
  return keys;
}

function ordinal(ast: Ast): number | undefined {
  if (ast["class"] !== "CONSTANT" || !isAst(ast["value"])) return undefined;
  const value = ast["value"]["value"];
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}

/** Rewrites expressions above a GROUP BY in terms of its keys and calls. */
class Grouping {
  readonly calls: AggregateCall[] = [];
  private readonly callIds = new Map<string, string>();

  constructor(
    private readonly lowering: Lowering,
    private readonly keys: readonly GroupKey[],
  ) {}

  rewrite(ast: Ast): Ast {
    return mapAst(ast, (node) => {
      if (!isExpression(node)) return undefined;
      const print = fingerprint(node);
      const key = this.keys.find((candidate) => candidate.print === print);
      const alias = text(node, "alias");
      if (key !== undefined) return columnRef([key.id], alias);
      if (isAggregateCall(this.lowering.functions, node)) return columnRef([this.call(node, print)], alias);
      if (node["class"] === "COLUMN_REF" && this.isUngrouped(node)) {
        throw new Unsupported("ungrouped_column", "a column that is neither grouped nor aggregated");
      }
      return undefined;
    }) as Ast;
  }

  private isUngrouped(node: Ast): boolean {
    const [name = ""] = node["column_names"] as readonly string[];
    return this.lowering.known.has(name) && !this.callsInclude(name) && !this.keys.some((key) => key.id === name);
  }

  private callsInclude(id: string): boolean {
    return this.calls.some((call) => call.id === id);
  }

  private call(node: Ast, print: string): string {
    const existing = this.callIds.get(print);
    if (existing !== undefined) return existing;
    const name = text(node, "function_name").toLowerCase();
    const modifier = optionalChild(node, "order_bys");
    const ordered = modifier !== undefined && children(modifier, "orders").length > 0;
    if (ORDER_SENSITIVE.has(name) && !ordered) {
      throw new Unsupported("order_sensitive", `${name}() without ORDER BY depends on an order that a table has not`);
    }
    if (node["export_state"] === true) throw new Unsupported("query_form", "EXPORT_STATE has no incremental rule");
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
