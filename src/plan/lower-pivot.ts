import {
  type Ast,
  allConditions,
  children,
  columnRef,
  functionCall,
  isAst,
  mapAst,
  optionalChild,
  text,
  textConstant,
  texts,
  walkAst,
} from "../sql/ast.js";
import type { Lowering } from "./lower.js";
import { Grouping, isAggregateCall } from "./lower-aggregate.js";
import type { FromResult } from "./lower-from.js";
import { columnExpression, expression, keepColumns, type NamedExpression, type Relation } from "./relation.js";
import { expandStars, Resolver } from "./resolve.js";
import { Scope, type ScopeColumn } from "./scope.js";
import { Unsupported } from "./unsupported.js";

/** From so many columns on DuckDB compares the pivoted values as text. */
const FILTERED_COLUMNS = 20;

/** PIVOT with its values given is a GROUP BY with one filtered aggregate a column; UNPIVOT is an unnest of columns. */
export function lowerPivot(lowering: Lowering, from: Ast, source: FromResult): FromResult {
  const query =
    texts(from, "unpivot_names").length > 0 ? unpivot(lowering, from, source) : pivot(lowering, from, source);
  const aliases = texts(from, "column_name_alias");
  const columns = query.columns.map((column, index) => ({ ...column, name: aliases[index] ?? column.name }));
  return { relation: query.relation, scope: new Scope([{ alias: text(from, "alias") || "__unnamed_pivot", columns }]) };
}

interface Pivoted {
  readonly relation: Relation;
  readonly columns: readonly ScopeColumn[];
}

function pivot(lowering: Lowering, from: Ast, source: FromResult): Pivoted {
  const resolver = new Resolver(lowering.functions, source.scope);
  const aggregates = children(from, "aggregates").map((ast) => ({
    ast: resolver.resolve(ast),
    alias: text(ast, "alias"),
  }));
  const pivots = children(from, "pivots").map((ast) => choices(resolver, ast));
  const keys = groupsOf(from, source.scope, [
    ...aggregates.map(({ ast }) => ast),
    ...pivots.flat().map(({ condition }) => condition),
  ]);
  const named: NamedExpression[] = keys.map((key) => ({
    id: lowering.id(key.name),
    expression: columnExpression(key.id),
  }));
  const combinations = pivots.reduce<readonly Choice[]>(
    (before, next) => before.flatMap((first) => next.map((second) => combined(first, second))),
    [{ name: "", condition: undefined }],
  );
  if (combinations.length * aggregates.length > FILTERED_COLUMNS) {
    throw new Unsupported("pivot", `a PIVOT into more than ${FILTERED_COLUMNS} columns has no incremental rule`);
  }
  const grouping = new Grouping(lowering, []);
  const values = combinations.flatMap((choice) =>
    aggregates.map(({ ast, alias }) => {
      const value = grouping.rewrite(filtered(lowering, ast, choice.condition));
      const name =
        aggregates.length === 1 && alias === "" ? choice.name : alias === "" ? "" : `${choice.name}_${alias}`;
      return { name, id: lowering.id(name || "pivot"), expression: lowering.expression(value) };
    }),
  );
  const relation: Relation = {
    kind: "project",
    input: { kind: "aggregate", input: source.relation, keys: named, calls: grouping.calls },
    columns: [...keepColumns(named.map((key) => key.id)), ...values.map(({ id, expression }) => ({ id, expression }))],
  };
  const shown = keys.map((key, index) => ({ name: key.name, id: named[index]?.id ?? "" }));
  return { relation, columns: [...shown, ...values.map(({ name, id }) => ({ name, id }))] };
}

/** One value of a pivoted column, or of several together, with the name that its columns start with. */
interface Choice {
  readonly name: string;
  readonly condition: Ast | undefined;
}

function choices(resolver: Resolver, pivoted: Ast): (Choice & { readonly condition: Ast })[] {
  const entries = children(pivoted, "entries");
  if (entries.length === 0 || entries.some((entry) => children(entry, "values").length === 0)) {
    throw new Unsupported("pivot", "a PIVOT whose values are not listed has no incremental rule");
  }
  const expressions = children(pivoted, "pivot_expressions").map((ast) => resolver.resolve(ast));
  return entries.map((entry) => {
    const values = children(entry, "values");
    const conditions = expressions.map((ast, index) => {
      const value = values[index];
      if (value === undefined) throw new Unsupported("pivot", "a PIVOT by values of this form has no incremental rule");
      return same(ast, value);
    });
    return { name: text(entry, "alias") || values.map(nameOf).join("_"), condition: allConditions(conditions) };
  });
}

function same(left: Ast, value: Ast): Ast {
  const right = { class: "CONSTANT", type: "VALUE_CONSTANT", alias: "", query_location: 0, value };
  return { class: "COMPARISON", type: "COMPARE_NOT_DISTINCT_FROM", alias: "", query_location: 0, left, right };
}

function nameOf(value: Ast): string {
  if (value["is_null"] === true) return "NULL";
  const plain = value["value"];
  return typeof plain === "string" || typeof plain === "number" || typeof plain === "bigint" ? String(plain) : "";
}

function combined(first: Choice, second: Choice & { readonly condition: Ast }): Choice {
  if (first.condition === undefined) return second;
  return { name: `${first.name}_${second.name}`, condition: allConditions([first.condition, second.condition]) };
}

/** The named groups, or all columns that neither the pivoted expressions nor the aggregates read. */
function groupsOf(from: Ast, scope: Scope, read: readonly Ast[]): readonly ScopeColumn[] {
  const names = texts(from, "groups");
  if (names.length > 0) {
    return names.map((name) => {
      const id = scope.column(name);
      if (id === undefined) throw new Unsupported("unknown_column", `the column ${name} of PIVOT was not found`);
      return { name, id };
    });
  }
  const used = new Set<string>();
  walkAst(read, (node) => {
    for (const name of texts(node, "column_names").slice(0, 1)) used.add(name);
    return undefined;
  });
  return scope.star().filter((column) => !used.has(column.id));
}

function filtered(lowering: Lowering, ast: Ast, condition: Ast | undefined): Ast {
  if (condition === undefined) return ast;
  return mapAst({ ...ast, alias: "" }, (node) => {
    if (!isAggregateCall(lowering.functions, node)) return undefined;
    if (optionalChild(node, "filter") !== undefined) {
      throw new Unsupported(
        "pivot",
        "DuckDB leaves out the FILTER of an aggregate in PIVOT; it has no incremental rule",
      );
    }
    return { ...node, filter: condition };
  }) as Ast;
}

/** A row for each of the listed columns, with its name and its value; several columns can be one entry. */
function unpivot(lowering: Lowering, from: Ast, source: FromResult): Pivoted {
  const [pivoted, ...others] = children(from, "pivots");
  const [name] = pivoted === undefined ? [] : texts(pivoted, "unpivot_names");
  if (pivoted === undefined || name === undefined || others.length > 0) {
    throw new Unsupported("unpivot", "an UNPIVOT of this form has no incremental rule");
  }
  const entries = children(pivoted, "entries").flatMap((entry) => entriesOf(entry, source.scope));
  const used = new Set(entries.flatMap((entry) => entry.columns));
  const kept = source.scope.star().filter((column) => !used.has(column.id));
  const list = (values: readonly Ast[]): Ast => functionCall("unnest", [functionCall("list_value", values)]);
  const names = { name, id: lowering.id(name), ast: list(entries.map((entry) => textConstant(entry.name))) };
  const values = texts(from, "unpivot_names").map((value, index) => {
    const columns = entries.map((entry) => columnRef([entry.columns[index] ?? ""]));
    return { name: value, id: lowering.id(value), ast: list(columns) };
  });
  const rows: Relation = {
    kind: "project",
    input: source.relation,
    columns: [
      ...keepColumns(kept.map((column) => column.id)),
      ...[names, ...values].map(({ id, ast }) => ({ id, expression: lowering.expression(ast) })),
    ],
  };
  const relation = values.reduce<Relation>(
    (input, { id }) => ({ kind: "filter", input, predicate: expression`${columnExpression(id)} IS NOT NULL` }),
    rows,
  );
  const columns = [...kept, ...[names, ...values].map(({ name, id }) => ({ name, id }))];
  return { relation: from["include_nulls"] === true ? rows : relation, columns };
}

/** The columns that an entry names together; a star stands for one entry a column. */
function entriesOf(entry: Ast, scope: Scope): { readonly name: string; readonly columns: readonly string[] }[] {
  const star = optionalChild(entry, "star_expr");
  if (star !== undefined) {
    if (star["class"] !== "STAR" || isAst(star["expr"])) throw unknownEntry();
    return expandStars([{ ...star, columns: false }], scope).map((item) => {
      const [id] = item.resolved ? texts(item.ast, "column_names") : [];
      if (id === undefined) throw unknownEntry();
      return { name: item.name, columns: [id] };
    });
  }
  const names = children(entry, "values").map((value) => text(value, "value"));
  if (names.length === 0) throw unknownEntry();
  const columns = names.map((name) => {
    const id = scope.column(name);
    if (id === undefined) throw new Unsupported("unknown_column", `the column ${name} of UNPIVOT was not found`);
    return id;
  });
  return [{ name: text(entry, "alias") || names.join("_"), columns }];
}

function unknownEntry(): Unsupported {
  return new Unsupported("unpivot", "an UNPIVOT of anything but columns has no incremental rule");
}
