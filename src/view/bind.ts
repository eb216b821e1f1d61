import type { LakeObjects } from "../catalog/tables.js";
import { LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { DefinitionError } from "../errors.js";
import {
  type Ast,
  type AstValue,
  allConditions,
  child,
  children,
  conjunctsOf,
  isAst,
  isNotNull,
  mapParts,
  optionalChild,
  subqueryTable,
  text,
} from "../sql/ast.js";
import type { FunctionCatalog } from "../sql/functions.js";
import { parseSelect, type SqlOrigin, subjectOf } from "../sql/parse.js";
import { sameName } from "../sql/quote.js";
import { refuseCollations } from "./collations.js";
import { sourceName } from "./names.js";

/** A table that a definition reads, found in the lake or among the materialized views. */
export type SourceRef =
  | { readonly kind: "table"; readonly name: string; readonly schema: string; readonly table: string }
  | { readonly kind: "view"; readonly name: string; readonly schema: string; readonly table: string };

export interface BindContext {
  readonly session: Session;
  readonly objects: LakeObjects;
  readonly functions: FunctionCatalog;
  /** Names of all materialized views, and the schema of their user-facing views. */
  readonly views: readonly string[];
  readonly schema: string;
  /** Views that are about to be dropped. */
  readonly dropped: readonly string[];
}

export interface BoundQuery {
  /** The statement with every table replaced by its source: plain views expanded, names complete. */
  readonly statement: Ast;
  readonly sources: readonly SourceRef[];
  /** True where plain views were written out: what they say can change. */
  readonly readsPlainViews: boolean;
}

/** Table functions whose rows follow from their arguments alone. */
const PURE_TABLE_FUNCTIONS = new Set([
  "range",
  "generate_series",
  "unnest",
  "repeat",
  "repeat_row",
  "json_each",
  "json_tree",
]);

/**
 * Finds every table of a definition. DuckLake's plain views are written out in place; our own views become sources.
 * @throws DefinitionError `table_missing`, `volatile_function`, `reads_outside_lake`, `collation`.
 */
export async function bindTables(context: BindContext, statement: Ast, origin: SqlOrigin): Promise<BoundQuery> {
  const plainViews = await parsePlainViews(context, statement, origin, new Map(), ["main"]);
  const sources = new Map<string, SourceRef>();
  const binder = new Binder(context, origin, plainViews, sources);
  const bound = stripSchemas(binder.statement(statement, new Set(), ["main"]), binder.expanded);
  refuseCollations(bound, origin);
  return { statement: bound, sources: [...sources.values()], readsPlainViews: binder.expanded.length > 0 };
}

type PlainViews = ReadonlyMap<string, Ast>;

/** Parses the plain views that a statement names, and those that they name. */
async function parsePlainViews(
  context: BindContext,
  statement: Ast,
  origin: SqlOrigin,
  parsed: Map<string, Ast>,
  path: readonly string[],
): Promise<PlainViews> {
  const found: { key: string; sql: string; schema: string }[] = [];
  forEachTable(statement, (table) => {
    const target = resolve(context, table, path);
    if (target?.kind === "plain" && !parsed.has(target.key)) {
      const { view } = target;
      const sql = view.aliases === "" ? view.sql : `SELECT * FROM (${view.sql}) AS aliased(${view.aliases})`;
      found.push({ key: target.key, sql, schema: view.schema });
    }
  });
  for (const view of found) {
    if (parsed.has(view.key)) continue;
    const tree = await parseSelect(context.session, view.sql, origin);
    parsed.set(view.key, tree);
    await parsePlainViews(context, tree, origin, parsed, [view.schema, "main"]);
  }
  return parsed;
}

function forEachTable(value: AstValue, visit: (table: Ast) => void): void {
  if (Array.isArray(value)) {
    for (const item of value as readonly AstValue[]) forEachTable(item, visit);
  } else if (isAst(value)) {
    if (value["type"] === "BASE_TABLE") visit(value);
    for (const part of Object.values(value)) forEachTable(part, visit);
  }
}

type Target =
  | { readonly kind: "source"; readonly source: SourceRef }
  | { readonly kind: "plain"; readonly key: string; readonly view: { schema: string; sql: string; aliases: string } };

function resolve(context: BindContext, table: Ast, path: readonly string[]): Target | undefined {
  const name = text(table, "table_name");
  const schema = text(table, "schema_name");
  const catalog = text(table, "catalog_name");
  if (catalog !== "" && !sameName(catalog, LAKE_NAME)) return undefined;
  const schemas = schema === "" ? [...path, context.schema] : [schema];
  for (const candidate of schemas) {
    const target = resolveIn(context, candidate, name);
    if (target !== undefined) return target;
  }
  // `lake.table`: DuckDB also reads a two-part name as catalog and table.
  return catalog === "" && sameName(schema, LAKE_NAME) ? resolveIn(context, "main", name) : undefined;
}

function resolveIn(context: BindContext, schema: string, name: string): Target | undefined {
  const table = context.objects.table(schema, name);
  if (table !== undefined) {
    const source = {
      kind: "table",
      name: sourceName(table.schema, table.table),
      schema: table.schema,
      table: table.table,
    } as const;
    return { kind: "source", source };
  }
  const view = sameName(schema, context.schema)
    ? context.views.find((candidate) => sameName(candidate, name))
    : undefined;
  if (view !== undefined) {
    return {
      kind: "source",
      source: { kind: "view", name: sourceName(context.schema, view), schema: context.schema, table: view },
    };
  }
  const plain = context.objects.view(schema, name);
  return plain === undefined
    ? undefined
    : { kind: "plain", key: sourceName(plain.schema, plain.view).toLowerCase(), view: plain };
}

class Binder {
  private readonly open: string[] = [];
  /** Plain views that were written out. */
  readonly expanded: { schema: string; table: string }[] = [];

  constructor(
    private readonly context: BindContext,
    private readonly origin: SqlOrigin,
    private readonly plainViews: PlainViews,
    private readonly sources: Map<string, SourceRef>,
  ) {}

  statement(statement: Ast, common: ReadonlySet<string>, path: readonly string[]): Ast {
    return { ...statement, node: this.query(child(statement, "node"), common, path) };
  }

  /** A query node: names of its common table expressions hide tables. */
  private query(node: Ast, outer: ReadonlySet<string>, path: readonly string[]): Ast {
    if (isAst(node["sample"])) throw this.volatile("SAMPLE");
    const common = new Set(outer);
    if (node["type"] === "RECURSIVE_CTE_NODE") common.add(text(node, "cte_name").toLowerCase());
    const map = optionalChild(node, "cte_map");
    const entries = (map === undefined ? [] : children(map, "map")).map((entry) => {
      const bound = mapParts(entry, (part) => this.part(part, new Set(common), path));
      common.add(text(entry, "key").toLowerCase());
      return bound;
    });
    const rest = map === undefined ? node : { ...node, cte_map: null };
    const bound = mapParts(rest, (part) => this.part(part, common, path));
    return map === undefined ? bound : { ...bound, cte_map: { ...map, map: entries } };
  }

  private part(node: Ast, common: ReadonlySet<string>, path: readonly string[]): Ast | undefined {
    if (isAst(node["sample"])) throw this.volatile("SAMPLE");
    if (typeof node["type"] === "string" && node["type"].endsWith("_NODE")) return this.query(node, common, path);
    if (node["type"] === "BASE_TABLE") return this.table(node, common, path);
    if (node["ref_type"] === "ASOF" && (node["join_type"] === "INNER" || node["join_type"] === "LEFT"))
      return mapParts(withoutNulls(node), (inner) => this.part(inner, common, path));
    if (node["type"] === "TABLE_FUNCTION") this.checkTableFunction(child(node, "function"));
    if (node["class"] === "FUNCTION") this.checkFunction(text(node, "function_name"));
    return undefined;
  }

  private table(node: Ast, common: ReadonlySet<string>, path: readonly string[]): Ast {
    const name = text(node, "table_name");
    const qualified = text(node, "schema_name") !== "" || text(node, "catalog_name") !== "";
    if (!qualified && common.has(name.toLowerCase())) return node;
    const target = resolve(this.context, node, path);
    if (target === undefined) {
      if (namesRecursion(node, common)) return node;
      throw this.missing(node);
    }
    if (target.kind === "plain") return this.plainView(node, target.key, target.view.schema);
    const { source } = target;
    this.sources.set(source.name, source);
    return { ...node, ivm_source: source.name, ivm_schema: source.schema, ivm_catalog: LAKE_NAME };
  }

  private plainView(node: Ast, key: string, schema: string): Ast {
    const statement = this.plainViews.get(key);
    if (statement === undefined || this.open.includes(key)) throw this.missing(node);
    this.open.push(key);
    const bound = this.statement(statement, new Set(), [schema, "main"]);
    this.open.pop();
    this.expanded.push({ schema, table: text(node, "table_name") });
    const aliases = (node["column_name_alias"] as readonly string[] | undefined) ?? [];
    return subqueryTable(bound, text(node, "alias") || text(node, "table_name"), aliases);
  }

  private missing(node: Ast): DefinitionError {
    const written = [text(node, "catalog_name"), text(node, "schema_name"), text(node, "table_name")].filter(
      (part) => part !== "",
    );
    const name = written.join(".");
    const dropped = this.context.dropped.find((view) => sameName(view, written.at(-1) ?? ""));
    if (dropped !== undefined) {
      return new DefinitionError(
        "reads_dropped_view",
        `View ${this.origin.view} reads ${dropped}, which this apply would drop.`,
        {
          subject: subjectOf(this.origin),
          hint: `Keep the definition of ${dropped}, or change or remove ${this.origin.view}.`,
        },
      );
    }
    return new DefinitionError("table_missing", `View ${this.origin.view}: the lake has no table or view ${name}.`, {
      subject: { ...subjectOf(this.origin), table: name },
      hint: "Tables are looked up in the schema main unless the name has another schema.",
    });
  }

  private checkFunction(written: string): void {
    const name = written.toLowerCase();
    if (this.context.functions.userMacros.has(name)) {
      throw new DefinitionError(
        "user_macro",
        `View ${this.origin.view}: ${name}() is a macro; what it means and reads can change without a trace in the lake's snapshots.`,
        { subject: subjectOf(this.origin), hint: "Write the macro's text in its place." },
      );
    }
    if (this.context.functions.volatile.has(name)) throw this.volatile(`${name}()`);
  }

  private volatile(what: string): DefinitionError {
    return new DefinitionError(
      "volatile_function",
      `View ${this.origin.view}: ${what} gives another answer every time, so the view would have no single right content.`,
      { subject: subjectOf(this.origin), hint: `Remove ${what}, or compute its result once and store it in a table.` },
    );
  }

  private checkTableFunction(call: Ast): void {
    const name = text(call, "function_name").toLowerCase();
    if (PURE_TABLE_FUNCTIONS.has(name)) return;
    this.checkFunction(name);
    throw new DefinitionError(
      "reads_outside_lake",
      `View ${this.origin.view}: ${name}() reads something that has no snapshots, so a change of it can't be noticed.`,
      { subject: subjectOf(this.origin), hint: "Load the data into a table of the lake and read that." },
    );
  }
}

/** `recurring.r` in a common table expression with USING KEY: all rows that r has so far, not those of the last round. */
function namesRecursion(node: Ast, common: ReadonlySet<string>): boolean {
  const qualified = text(node, "catalog_name") === "" && sameName(text(node, "schema_name"), "recurring");
  return qualified && common.has(text(node, "table_name").toLowerCase());
}

/**
 * An ASOF join whose inequality says that it takes no NULL. DuckDB has two ways of such joins, chosen by the number of
 * rows, and one of them takes a NULL for a value to be found.
 */
function withoutNulls(join: Ast): Ast {
  const condition = optionalChild(join, "condition");
  if (condition === undefined) return join;
  const conjuncts = conjunctsOf(condition);
  const given = conjuncts
    .filter((conjunct) => /^COMPARE_(LESS|GREATER)/.test(text(conjunct, "type")))
    .flatMap((inequality) => [child(inequality, "left"), child(inequality, "right")])
    .map((value) => isNotNull(value));
  return { ...join, condition: allConditions([...conjuncts, ...given]) };
}

/** The tables of a bound statement replaced, each by what `replace` gives for its source. */
export function replaceSources(statement: Ast, replace: (source: string, node: Ast) => Ast): Ast {
  const replaced: { schema: string; table: string }[] = [];
  const change = (node: Ast): Ast | undefined => {
    const source = node["type"] === "BASE_TABLE" ? text(node, "ivm_source") : "";
    if (source === "") return undefined;
    const { ivm_source, ivm_schema, ivm_catalog, ...plain } = node;
    const result = replace(source, plain);
    if (text(result, "schema_name") === "")
      replaced.push({ schema: text(node, "ivm_schema"), table: text(node, "table_name") });
    return result;
  };
  return stripSchemas(mapParts(statement, change), replaced);
}

/** A subquery has no schema: `schema.view.column`, also with the lake's name before it, becomes `view.column`. */
function stripSchemas(statement: Ast, tables: readonly { schema: string; table: string }[]): Ast {
  if (tables.length === 0) return statement;
  return mapParts(statement, (node) => {
    const names = node["class"] === "COLUMN_REF" ? (node["column_names"] as readonly string[]) : [];
    const start = sameName(names[0] ?? "", LAKE_NAME) && names.length > 3 ? 1 : 0;
    const [schema = "", table = "", column] = names.slice(start);
    const hit =
      column !== undefined && tables.some((item) => sameName(item.schema, schema) && sameName(item.table, table));
    return hit ? { ...node, column_names: names.slice(start + 1) } : undefined;
  });
}
