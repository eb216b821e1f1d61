import {
  type Ast,
  child,
  children,
  columnRef,
  optionalChild,
  selectStatement,
  text,
  texts,
  walkAst,
} from "../sql/ast.js";
import type { Environment, LoweredQuery, Lowering } from "./lower.js";
import { lowerAsof } from "./lower-asof.js";
import { lowerPivot } from "./lower-pivot.js";
import { readIteration } from "./lower-recursive.js";
import { CLOCK, columnExpression, expression, keepColumns, outputOf, type Relation } from "./relation.js";
import { Resolver } from "./resolve.js";
import { type Equality, mergedColumn, Scope, type ScopeColumn } from "./scope.js";
import { unsupportedTime } from "./time.js";
import { Unsupported } from "./unsupported.js";

export interface FromResult {
  readonly relation: Relation;
  readonly scope: Scope;
}

/** Translates a FROM clause; inner joins are flattened into one join of all inputs. */
export function lowerFrom(lowering: Lowering, from: Ast, env: Environment): FromResult {
  if (optionalChild(from, "sample") !== undefined) throw new Unsupported("sample", "SAMPLE has no incremental rule");
  switch (from["type"]) {
    case "EMPTY":
    case "EMPTY_FROM":
      return { relation: lowering.oneRow(), scope: Scope.empty };
    case "BASE_TABLE":
      return lowerTable(lowering, from, env);
    case "SUBQUERY": {
      const query = lowering.query(child(child(from, "subquery"), "node"), env);
      return named(query, text(from, "alias") || "subquery", texts(from, "column_name_alias"));
    }
    case "JOIN":
      return lowerJoin(lowering, from, env);
    case "EXPRESSION_LIST":
      return lowerValues(lowering, from);
    case "PIVOT":
      return lowerPivot(lowering, from, lowerFrom(lowering, child(from, "source"), env));
    case "TABLE_FUNCTION":
      return lowerTableFunction(lowering, from);
    default:
      throw new Unsupported("from_form", `${text(from, "type")} in FROM has no incremental rule`);
  }
}

function lowerTable(lowering: Lowering, from: Ast, env: Environment): FromResult {
  const name = text(from, "table_name");
  const aliases = texts(from, "column_name_alias");
  const source = text(from, "ivm_source");
  if (source === "") {
    const table = env.get(name.toLowerCase());
    if (table === undefined) throw new Unsupported("unknown_table", `the table ${name} was not found`);
    if ("iteration" in table)
      return named(readIteration(lowering, table.iteration), text(from, "alias") || name, aliases);
    const query = lowering.query(table.node, table.env);
    const renamed = query.columns.map((column, index) => ({ ...column, name: table.aliases[index] ?? column.name }));
    return named({ ...query, columns: renamed }, text(from, "alias") || name, aliases);
  }
  if (optionalChild(from, "at_clause") !== undefined) {
    throw new Unsupported("fixed_version", "a table read at a version of its own has no incremental rule");
  }
  lowering.occurrences += 1;
  const columns = lowering.sourceColumns(source).map((column) => ({ id: lowering.id(column), name: column }));
  const alias = text(from, "alias") || name;
  const relation: Relation = { kind: "scan", source, occurrence: lowering.occurrences, alias, columns, version: "new" };
  const scoped = columns.map((column, index) => ({ id: column.id, name: aliases[index] ?? column.name }));
  const qualified =
    text(from, "alias") === "" ? { schema: text(from, "ivm_schema"), catalog: text(from, "ivm_catalog") } : {};
  return { relation, scope: new Scope([{ alias, ...qualified, columns: scoped }]) };
}

function named(query: LoweredQuery, alias: string, aliases: readonly string[]): FromResult {
  const columns = query.columns.map((column, index) => ({ id: column.id, name: aliases[index] ?? column.name }));
  return { relation: query.relation, scope: new Scope([{ alias, columns }]) };
}

/** A whole constant FROM item as a query, its columns renamed to ids by the list of column aliases. */
function constantFrom(lowering: Lowering, from: Ast, alias: string, names: readonly string[]): FromResult {
  const columns = names.map((name) => ({ name, id: lowering.id(name) }));
  const statement = selectStatement(columns.map((column) => columnRef([column.id])));
  const node = child(statement, "node");
  const item = { ...from, alias: "constant_rows", column_name_alias: columns.map((column) => column.id) };
  // DuckDB names the columns of VALUES col0, col1 …; a subquery around it takes aliases for every form.
  const star = {
    class: "STAR",
    type: "STAR",
    alias: "",
    query_location: 0,
    relation_name: "",
    exclude_list: [],
    replace_list: [],
    columns: false,
    expr: null,
    qualified_exclude_list: [],
    rename_list: [],
  };
  const inner = selectStatement([star]);
  const all = { ...inner, node: { ...child(inner, "node"), from_table: from } };
  const subquery = {
    type: "SUBQUERY",
    alias: item.alias,
    sample: null,
    query_location: 0,
    subquery: all,
    column_name_alias: item.column_name_alias,
  };
  const relation = lowering.constant(
    { ...statement, node: { ...node, from_table: subquery } },
    columns.map((column) => column.id),
  );
  return { relation, scope: new Scope([{ alias, columns }]) };
}

function lowerValues(lowering: Lowering, from: Ast): FromResult {
  const rows = (from["values"] as readonly (readonly Ast[])[] | undefined) ?? [];
  requireConstant(rows.flat());
  const width = rows[0]?.length ?? 0;
  const aliases = texts(from, "expected_names");
  const names = Array.from({ length: width }, (_, index) => aliases[index] ?? `col${index}`);
  return constantFrom(lowering, from, text(from, "alias") || "valueslist", names);
}

function lowerTableFunction(lowering: Lowering, from: Ast): FromResult {
  const call = child(from, "function");
  const name = text(call, "function_name").toLowerCase();
  if (name === "unnest") requireConstant(children(call, "children"));
  if (name !== "range" && name !== "generate_series") {
    throw new Unsupported("table_function", `the table function ${name} has no incremental rule`);
  }
  requireConstant(children(call, "children"));
  const [column = text(from, "alias") || name] = texts(from, "column_name_alias");
  return constantFrom(lowering, { ...from, column_name_alias: [] }, text(from, "alias") || name, [column]);
}

const LATERAL = "lateral";

function requireConstant(expressions: readonly Ast[]): void {
  walkAst(expressions, (node) => {
    if (texts(node, "column_names")[0] === CLOCK) throw unsupportedTime("rows of constants");
    if (node["class"] === "COLUMN_REF" || node["class"] === "SUBQUERY") {
      throw new Unsupported(LATERAL, "rows that depend on another table of the same FROM have no rule in this form");
    }
    return undefined;
  });
}

function lowerJoin(lowering: Lowering, from: Ast, env: Environment): FromResult {
  const reference = text(from, "ref_type");
  const type = text(from, "join_type");
  if (reference === "POSITIONAL") {
    throw new Unsupported(
      "positional_join",
      "a POSITIONAL join goes by an order of rows that a table has not, and has no incremental rule",
    );
  }
  const left = lowerFrom(lowering, child(from, "left"), env);
  const rightAst = child(from, "right");
  const right = lowerRight(lowering, rightAst, env);
  if (right === undefined) return lowering.lateral(from, left, rightAst, env);
  const shared = reference === "NATURAL" ? commonColumns(left.scope, right.scope) : texts(from, "using_columns");
  const equalities = shared.map((name) => ({
    name,
    left: requireColumn(left.scope, name),
    right: requireColumn(right.scope, name),
  }));
  if (reference === "ASOF") return lowerAsof(lowering, from, left, right);
  const predicates = equalities.map(
    (pair) => expression`${columnExpression(pair.left)} = ${columnExpression(pair.right)}`,
  );
  const condition = optionalChild(from, "condition");
  if (condition !== undefined) {
    const resolver = new Resolver(lowering.functions, left.scope.join(right.scope));
    predicates.push(lowering.expression(resolver.resolve(condition)));
  }
  switch (type) {
    case "INNER": {
      const merged = equalities.map((pair) => mergedColumn(pair, pair.left));
      return {
        relation: innerJoin(left.relation, right.relation, predicates),
        scope: left.scope.join(right.scope, merged),
      };
    }
    case "SEMI":
    case "ANTI": {
      const predicate = allOf(predicates);
      const relation: Relation = {
        kind: "semi-join",
        anti: type === "ANTI",
        left: left.relation,
        right: right.relation,
        predicate,
      };
      return { relation, scope: left.scope };
    }
    case "LEFT":
    case "RIGHT":
    case "OUTER":
    case "FULL":
      return outerJoin(lowering, type, left, right, equalities, predicates);
    default:
      throw new Unsupported("join_form", `a join of type ${type} has no incremental rule`);
  }
}

/** Undefined where the right side names columns that are not its own, which can only be those of the left side. */
function lowerRight(lowering: Lowering, right: Ast, env: Environment): FromResult | undefined {
  try {
    return lowerFrom(lowering, right, env);
  } catch (error) {
    const code = error instanceof Unsupported ? error.reason.code : "";
    if (code === "unknown_column" && right["type"] === "SUBQUERY") return undefined;
    if (code === LATERAL && right["type"] === "TABLE_FUNCTION") return undefined;
    throw error;
  }
}

function outerJoin(
  lowering: Lowering,
  type: string,
  left: FromResult,
  right: FromResult,
  equalities: readonly Equality[],
  predicates: readonly ReturnType<typeof columnExpression>[],
): FromResult {
  const side = type === "LEFT" ? "left" : type === "RIGHT" ? "right" : "full";
  let relation: Relation = {
    kind: "outer-join",
    side,
    left: left.relation,
    right: right.relation,
    predicate: allOf(predicates),
  };
  if (side !== "full" || equalities.length === 0) {
    const merged = equalities.map((pair) => mergedColumn(pair, side === "right" ? pair.right : pair.left));
    return { relation, scope: left.scope.join(right.scope, merged) };
  }
  const combined = equalities.map((pair) => ({ pair, id: lowering.id(pair.name) }));
  relation = {
    kind: "project",
    input: relation,
    columns: [
      ...keepColumns(outputOf(relation)),
      ...combined.map(({ pair, id }) => ({
        id,
        expression: expression`coalesce(${columnExpression(pair.left)}, ${columnExpression(pair.right)})`,
      })),
    ],
  };
  return {
    relation,
    scope: left.scope.join(
      right.scope,
      combined.map(({ pair, id }) => mergedColumn(pair, id)),
    ),
  };
}

export function innerJoin(
  left: Relation,
  right: Relation,
  predicates: readonly ReturnType<typeof columnExpression>[],
): Relation {
  const flat = (relation: Relation) => (relation.kind === "join" ? relation : { inputs: [relation], predicates: [] });
  const [first, second] = [flat(left), flat(right)];
  return {
    kind: "join",
    inputs: [...first.inputs, ...second.inputs],
    predicates: [...first.predicates, ...second.predicates, ...predicates],
  };
}

export function allOf(predicates: readonly ReturnType<typeof columnExpression>[]): ReturnType<typeof columnExpression> {
  const [first, ...rest] = predicates;
  if (first === undefined) return { sql: "true", columns: [] };
  if (rest.length === 0) return first;
  // Built when the text is asked for: the parts may not be printed yet.
  const columns = [...new Set(predicates.flatMap((predicate) => predicate.columns))];
  return {
    get sql() {
      return predicates.map((predicate) => `(${predicate.sql})`).join(" AND ");
    },
    columns,
  };
}

function commonColumns(left: Scope, right: Scope): string[] {
  const names = left
    .star()
    .map((column: ScopeColumn) => column.name)
    .filter((name) => name !== "");
  return names.filter((name) => right.hasColumn(name));
}

function requireColumn(scope: Scope, name: string): string {
  const id = scope.column(name);
  if (id === undefined) throw new Unsupported("unknown_column", `the column ${name} of USING was not found`);
  return id;
}
