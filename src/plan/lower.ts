import {
  type Ast,
  children,
  columnRef,
  conjunctsOf,
  optionalChild,
  selectStatement,
  text,
  walkAst,
} from "../sql/ast.js";
import type { FunctionCatalog } from "../sql/functions.js";
import { containsAggregate, lowerAggregates, mayDependOnKeys, multipliesRows } from "./lower-aggregate.js";
import type { SubqueryValue } from "./lower-correlated.js";
import { lowerDistinctOn } from "./lower-distinct-on.js";
import { type FromResult, lowerFrom } from "./lower-from.js";
import { lowerLateral } from "./lower-lateral.js";
import { limitClause, lowerLimit, withSortColumns } from "./lower-limit.js";
import { type Iteration, lowerRecursion } from "./lower-recursive.js";
import { lowerSetOperation } from "./lower-set.js";
import { isSubqueryPredicate, lowerSubqueryPredicate } from "./lower-subquery.js";
import { attachSubquery } from "./lower-subquery-value.js";
import { lowerWindows } from "./lower-window.js";
import type { Recursion } from "./recursion.js";
import type { Expression, Relation } from "./relation.js";
import { CLOCK, ColumnIds, columnExpression, keepColumns } from "./relation.js";
import { expandStars, Resolver, type SelectItem } from "./resolve.js";
import { Scope } from "./scope.js";
import { Unsupported } from "./unsupported.js";

/** A query in the algebra, with the names of its columns. */
export interface LoweredQuery {
  readonly relation: Relation;
  readonly columns: readonly { readonly name: string; readonly id: string }[];
}

/** The query of a common table expression. */
interface CommonTable {
  readonly node: Ast;
  readonly aliases: readonly string[];
  readonly env: Environment;
}

/** The common table expressions that names may mean. */
export type Environment = ReadonlyMap<string, CommonTable | { readonly iteration: Iteration }>;

/** Names of the columns of a source. */
export type SourceColumns = (source: string) => readonly string[];

/** Text that DuckDB has still to print: the expression or constant query is filled in afterwards, all in one call. */
export interface Unprinted {
  readonly target: { sql: string };
  readonly ast: Ast;
  readonly statement: boolean;
}

/**
 * Translates a bound syntax tree (tables replaced by their sources, see `bindTables`) into relational algebra. Pure:
 * expressions are left to be printed by the caller.
 */
export class Lowering {
  readonly unprinted: Unprinted[] = [];
  readonly known = new Set<string>([CLOCK]);
  /** Recursive common table expressions by their nodes, each after those that it reads. */
  readonly recursions = new Map<Ast, Recursion>();
  occurrences = 0;

  constructor(
    readonly functions: FunctionCatalog,
    readonly sourceColumns: SourceColumns,
    readonly ids: ColumnIds = new ColumnIds(),
  ) {}

  id(name: string): string {
    const id = this.ids.create(name);
    this.known.add(id);
    return id;
  }

  /** An expression from a tree whose column references are ids already. */
  expression(ast: Ast): Expression {
    const columns = new Set<string>();
    walkAst(ast, (node) => {
      if (node["class"] === "COLUMN_REF") {
        const [name] = node["column_names"] as string[];
        if (name !== undefined && this.known.has(name)) columns.add(name);
      }
      return undefined;
    });
    if (ast["class"] === "COLUMN_REF") {
      const [only] = [...columns];
      if (only !== undefined) return columnExpression(only);
    }
    const expression = {
      sql: "",
      columns: [...columns],
      ...(multipliesRows(ast) ? { multipliesRows: true as const } : {}),
    };
    this.unprinted.push({ target: expression, ast, statement: false });
    return expression;
  }

  /** Rows that depend on no table. */
  constant(statement: Ast, columns: readonly string[]): Relation {
    const constant = { kind: "constant" as const, sql: "", columns };
    this.unprinted.push({ target: constant, ast: statement, statement: true });
    return constant;
  }

  /** A join whose right side names columns of its left side. */
  lateral(join: Ast, left: FromResult, right: Ast, env: Environment): FromResult {
    return lowerLateral(this, join, left, right, env);
  }

  query(node: Ast, env: Environment): LoweredQuery {
    const inner = withCommonTables(node, env);
    const limit = limitClause(node);
    let lowered: LoweredQuery;
    switch (node["type"]) {
      case "SELECT_NODE":
        lowered = this.select(limit === undefined ? node : withSortColumns(node, limit), inner);
        break;
      case "SET_OPERATION_NODE":
        lowered = lowerSetOperation(this, node, inner);
        break;
      case "RECURSIVE_CTE_NODE":
        lowered = lowerRecursion(this, node, inner);
        break;
      default:
        throw new Unsupported("query_form", `a query of the form ${text(node, "type")} has no incremental rule`);
    }
    lowered = this.distinct(node, lowered);
    return limit === undefined ? lowered : lowerLimit(this, lowered, node, limit);
  }

  /** GROUPING SETS, ROLLUP and CUBE are the union of one SELECT for each set. */
  private select(node: Ast, env: Environment): LoweredQuery {
    const sets = (node["group_sets"] as readonly unknown[]).length;
    if (sets <= 1) return this.selectSet(node, env, 0);
    const queries = Array.from({ length: sets }, (_, set) => this.selectSet(node, env, set));
    const columns = (queries[0]?.columns ?? []).map(({ name }) => ({ name, id: this.id(name || "column") }));
    const branches = queries.map((query) => ({
      input: query.relation,
      columns: query.columns.map((column) => column.id),
    }));
    return { relation: { kind: "union-all", columns: columns.map((column) => column.id), branches }, columns };
  }

  private selectSet(node: Ast, env: Environment, set: number): LoweredQuery {
    if (optionalChild(node, "sample") !== undefined) throw new Unsupported("sample", "SAMPLE has no incremental rule");
    const from = this.from(node, env);
    const items = expandStars(children(node, "select_list"), from.scope);
    let relation = this.where(optionalChild(node, "where_clause"), from, items, env);
    const grouped = this.isGrouped(node, items);
    const scalars: SubqueryValue[] = [];
    const ofKeys = new Set<string>();
    const attach = (subquery: Ast): string => {
      const attached = attachSubquery(this, relation, subquery, from.scope, resolver, env);
      relation = attached.relation;
      return attached.value;
    };
    const resolver: Resolver = new Resolver(this.functions, from.scope, items, undefined, (subquery) => {
      if (!grouped) return columnRef([attach(subquery)]);
      const above = this.aboveGroups(subquery, resolver, env, mayDependOnKeys(this.functions, node, subquery));
      if (above !== undefined) scalars.push(above);
      const value = above?.value ?? attach(subquery);
      if (above === undefined) ofKeys.add(value);
      return columnRef([value]);
    });
    let selected = items.map((item, index) => resolver.item(item, index));
    let having = optionalChild(node, "having");
    let qualify = optionalChild(node, "qualify");
    if (having !== undefined) having = resolver.afterGrouping(having);
    if (qualify !== undefined) qualify = resolver.afterGrouping(qualify);
    if (grouped) {
      const aggregated = lowerAggregates(this, {
        node,
        set,
        input: relation,
        resolver,
        items,
        selected,
        having,
        qualify,
        scalars,
        ofKeys,
      });
      ({ relation, selected, qualify } = aggregated);
    }
    const windows = lowerWindows(this, relation, qualify === undefined ? selected : [...selected, qualify]);
    relation = windows.relation;
    selected = windows.expressions.slice(0, selected.length);
    if (qualify !== undefined) {
      const predicate = windows.expressions.at(-1);
      if (predicate !== undefined)
        relation = { kind: "filter", input: relation, predicate: this.expression(predicate) };
    }
    return this.project(relation, items, selected);
  }

  /**
   * A subquery that is joined to the groups of a GROUP BY. One that names columns of the outer rows can't be: undefined,
   * where it may be joined to the rows below instead.
   */
  private aboveGroups(
    subquery: Ast,
    resolver: Resolver,
    env: Environment,
    mayDepend: boolean,
  ): SubqueryValue | undefined {
    try {
      return attachSubquery(this, this.oneRow(), subquery, Scope.empty, resolver, env);
    } catch (error) {
      if (mayDepend && error instanceof Unsupported && error.reason.code === "unknown_column") return undefined;
      throw error;
    }
  }

  private from(node: Ast, env: Environment): FromResult {
    const from = optionalChild(node, "from_table");
    if (from === undefined) throw new Unsupported("query_form", "a SELECT without a FROM clause of a known form");
    return lowerFrom(this, from, env);
  }

  private isGrouped(node: Ast, items: readonly SelectItem[]): boolean {
    const aggregates = (ast: Ast | undefined): boolean => ast !== undefined && containsAggregate(this.functions, ast);
    return (
      children(node, "group_expressions").length > 0 ||
      (node["group_sets"] as readonly unknown[]).length > 0 ||
      node["aggregate_handling"] === "FORCE_AGGREGATES" ||
      optionalChild(node, "having") !== undefined ||
      aggregates(optionalChild(node, "qualify")) ||
      items.some((item) => aggregates(item.ast))
    );
  }

  private where(where: Ast | undefined, from: FromResult, items: readonly SelectItem[], env: Environment): Relation {
    let { relation } = from;
    const resolver: Resolver = new Resolver(this.functions, from.scope, items, undefined, (subquery) => {
      const attached = attachSubquery(this, relation, subquery, from.scope, resolver, env);
      relation = attached.relation;
      return columnRef([attached.value]);
    });
    for (const conjunct of where === undefined ? [] : conjunctsOf(where)) {
      if (isSubqueryPredicate(conjunct)) {
        relation = lowerSubqueryPredicate(this, relation, conjunct, from.scope, resolver, env);
      } else {
        const predicate = this.expression(resolver.resolve(conjunct));
        relation = { kind: "filter", input: relation, predicate };
      }
    }
    return relation;
  }

  private project(relation: Relation, items: readonly SelectItem[], expressions: readonly Ast[]): LoweredQuery {
    const columns = expressions.map((ast, index) => {
      const name = items[index]?.name ?? "";
      return { name, id: this.id(name === "" ? "column" : name), expression: this.expression(ast) };
    });
    return {
      relation: {
        kind: "project",
        input: relation,
        columns: columns.map(({ id, expression }) => ({ id, expression })),
      },
      columns: columns.map(({ name, id }) => ({ name, id })),
    };
  }

  private distinct(node: Ast, lowered: LoweredQuery): LoweredQuery {
    const modifier = children(node, "modifiers").find((candidate) => candidate["type"] === "DISTINCT_MODIFIER");
    if (modifier === undefined) return lowered;
    if (children(modifier, "distinct_on_targets").length > 0) {
      return { ...lowered, relation: lowerDistinctOn(this, lowered.relation, lowered.columns, node) };
    }
    const keys = keepColumns(lowered.columns.map((column) => column.id));
    return { ...lowered, relation: { kind: "aggregate", input: lowered.relation, keys, calls: [] } };
  }

  /** A statement that gives literal rows; used for FROM-less selects. */
  oneRow(): Relation {
    const id = this.id("one");
    const one: Ast = {
      class: "CONSTANT",
      type: "VALUE_CONSTANT",
      alias: id,
      query_location: 0,
      value: { type: { id: "INTEGER", type_info: null }, is_null: false, value: 1 },
    };
    return this.constant(selectStatement([one]), [id]);
  }
}

function withCommonTables(node: Ast, env: Environment): Environment {
  const map = optionalChild(node, "cte_map");
  const entries = map === undefined ? [] : children(map, "map");
  if (entries.length === 0) return env;
  let inner = new Map(env);
  for (const entry of entries) {
    const value = optionalChild(entry, "value");
    const query = value === undefined ? undefined : optionalChild(value, "query");
    const body = query === undefined ? undefined : optionalChild(query, "node");
    if (value === undefined || body === undefined) throw new Unsupported("query_form", "an unknown form of WITH");
    const aliases = (value["aliases"] as readonly string[] | undefined) ?? [];
    const next = new Map(inner);
    next.set(text(entry, "key").toLowerCase(), { node: body, aliases, env: inner });
    inner = next;
  }
  return inner;
}
