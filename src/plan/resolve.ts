import {
  type Ast,
  child,
  children,
  columnRef,
  isAst,
  isExpression,
  mapAst,
  mapParts,
  text,
  texts,
} from "../sql/ast.js";
import type { FunctionCatalog } from "../sql/functions.js";
import { CLOCK } from "./relation.js";
import type { Scope } from "./scope.js";
import { Unsupported } from "./unsupported.js";

export interface SelectItem {
  /** Empty where DuckDB would make up a name from the expression's text. */
  readonly name: string;
  readonly ast: Ast;
  /** Set where `*` gave the item: its column references are ids already. */
  readonly resolved: boolean;
}

/** The select list with every `*` and `t.*` written out. */
export function expandStars(list: readonly Ast[], scope: Scope): SelectItem[] {
  return list.flatMap((ast) =>
    ast["class"] === "STAR" ? expandStar(ast, scope) : [{ ...namedItem(ast), resolved: false }],
  );
}

function namedItem(ast: Ast): { name: string; ast: Ast } {
  const alias = text(ast, "alias");
  if (alias !== "") return { name: alias, ast };
  return { name: ast["class"] === "COLUMN_REF" ? (texts(ast, "column_names").at(-1) ?? "") : "", ast };
}

function expandStar(star: Ast, scope: Scope): SelectItem[] {
  if (star["columns"] === true || isAst(star["expr"])) {
    throw new Unsupported("columns_expression", "COLUMNS(…) and filtered stars have no incremental rule");
  }
  if (children(star, "qualified_exclude_list").length > 0 || children(star, "rename_list").length > 0) {
    throw new Unsupported("star_modifier", "a star with RENAME or a qualified EXCLUDE has no incremental rule");
  }
  const table = text(star, "relation_name");
  const columns = table === "" ? scope.star() : scope.tableStar(table);
  if (columns === undefined) throw new Unsupported("unknown_table", `the table ${table} of ${table}.* was not found`);
  const excluded = new Set(texts(star, "exclude_list").map((name) => name.toLowerCase()));
  const replaced = new Map(
    children(star, "replace_list").map((entry) => [text(entry, "key").toLowerCase(), child(entry, "value")]),
  );
  return columns
    .filter((column) => !excluded.has(column.name.toLowerCase()))
    .map((column) => {
      const replacement = replaced.get(column.name.toLowerCase());
      if (replacement !== undefined) return { name: column.name, ast: replacement, resolved: false };
      return { name: column.name, ast: columnRef([column.id]), resolved: true };
    });
}

/** Replaces the names in expressions by column ids, by DuckDB's rules for columns, select aliases and lambdas. */
export class Resolver {
  constructor(
    private readonly functions: FunctionCatalog,
    private readonly scope: Scope,
    private readonly items: readonly SelectItem[] = [],
    private readonly outer?: Scope,
    /** Plans a subquery and answers with the column of its value. */
    private readonly subquery?: (node: Ast) => Ast,
  ) {}

  /** The resolved expression of one select item; it may name the aliases of items before it. */
  item(item: SelectItem, index: number): Ast {
    return item.resolved ? item.ast : this.rewrite(item.ast, index, NO_LAMBDA);
  }

  /** Columns first, then any select alias: WHERE, GROUP BY, join conditions, arguments. */
  resolve(ast: Ast): Ast {
    return this.rewrite(ast, this.items.length, NO_LAMBDA);
  }

  /**
   * HAVING and QUALIFY look at aliases first. A name that is both an alias and a column is left to DuckDB, since the
   * two readings can differ.
   */
  afterGrouping(ast: Ast): Ast {
    mapAst(ast, (node) => {
      // Inside an aggregate's arguments DuckDB takes the column.
      if (node["class"] === "FUNCTION" && this.functions.aggregates.has(text(node, "function_name").toLowerCase()))
        return node;
      const names = node["class"] === "COLUMN_REF" ? texts(node, "column_names") : [];
      const [name] = names;
      if (name !== undefined && names.length === 1 && this.scope.hasColumn(name)) {
        const item = this.items.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
        const plain = item === undefined || item.resolved || item.ast["class"] === "COLUMN_REF";
        if (!plain) throw new Unsupported("ambiguous_alias", `"${name}" is both a column and a select alias`);
      }
      return undefined;
    });
    return this.resolve(ast);
  }

  private rewrite(ast: Ast, visibleItems: number, lambda: ReadonlySet<string>): Ast {
    const change = (node: Ast): Ast | undefined => {
      if (!isExpression(node)) return undefined;
      switch (node["class"]) {
        case "COLUMN_REF":
          return this.column(node, visibleItems, lambda);
        case "FUNCTION":
          return this.call(node, visibleItems, lambda, change);
        case "SUBQUERY":
          if (this.subquery === undefined) {
            throw new Unsupported("subquery", "a subquery at this place has no incremental rule");
          }
          return { ...this.subquery(node), alias: text(node, "alias") };
        case "POSITIONAL_REFERENCE":
          throw new Unsupported("positional_reference", "a column named by its place has no incremental rule");
        case "STAR":
          // count(*) has no star in the tree; any other star among arguments is expanded by DuckDB itself.
          throw new Unsupported("columns_expression", "a star inside an expression has no incremental rule");
        default:
          return undefined;
      }
    };
    return mapAst(ast, change) as Ast;
  }

  private call(
    node: Ast,
    visibleItems: number,
    lambda: ReadonlySet<string>,
    change: (node: Ast) => Ast | undefined,
  ): Ast {
    const name = text(node, "function_name").toLowerCase();
    if (this.functions.opaqueMacros.has(name)) {
      throw new Unsupported("macro", `the macro ${name}() aggregates or reads by itself and has no incremental rule`);
    }
    const schema = text(node, "schema");
    let call = node;
    if (schema !== "" && schema !== "main") {
      // `column.function(…)` is parsed as a function of a schema with the column's name.
      const subject = this.column(columnRef([schema]), visibleItems, lambda);
      call = { ...node, schema: "", children: [subject, ...children(node, "children")] };
    }
    const takesLambda = this.functions.lambdas.has(text(call, "function_name").toLowerCase());
    const parts = children(call, "children").map((part, index) => {
      if (call !== node && index === 0) return part;
      if (takesLambda && part["class"] === "LAMBDA") return this.lambda(part, visibleItems, lambda);
      return mapAst(part, change) as Ast;
    });
    return { ...mapParts({ ...call, children: [] }, change), children: parts };
  }

  private column(node: Ast, visibleItems: number, lambda: ReadonlySet<string>): Ast {
    const names = texts(node, "column_names");
    const [first = ""] = names;
    if (lambda.has(first.toLowerCase()) || first === CLOCK) return node;
    const found = this.scope.resolve(node) ?? this.outer?.resolve(node);
    if (found !== undefined) return found;
    if (names.length === 1) {
      const index = this.items.findIndex((item) => item.name.toLowerCase() === first.toLowerCase());
      const item = this.items[index];
      if (item !== undefined && index < visibleItems) {
        const value = item.resolved ? item.ast : this.rewrite(item.ast, index, NO_LAMBDA);
        return { ...value, alias: text(node, "alias") };
      }
    }
    throw new Unsupported(
      "unknown_column",
      `the name ${names.join(".")} was not found among the columns of the tables`,
    );
  }

  private lambda(node: Ast, visibleItems: number, outer: ReadonlySet<string>): Ast {
    const parameters = lambdaParameters(child(node, "lhs")).map((name) => name.toLowerCase());
    return { ...node, expr: this.rewrite(child(node, "expr"), visibleItems, new Set([...outer, ...parameters])) };
  }
}

const NO_LAMBDA: ReadonlySet<string> = new Set();

function lambdaParameters(lhs: Ast): readonly string[] {
  if (lhs["class"] === "COLUMN_REF") return texts(lhs, "column_names").slice(0, 1);
  return children(lhs, "children").flatMap(lambdaParameters);
}
