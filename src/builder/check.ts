import { DefinitionError } from "../errors.js";
import { sameName } from "../sql/quote.js";
import { didYouMean } from "../suggest.js";
import type { ExpressionNode, JoinNode, QueryNode } from "../types.js";
import { splitColumn } from "./compile.js";

/** The columns of a table or view; undefined where they are not known. */
export type ColumnsOf = (table: {
  readonly schema: string | null;
  readonly table: string;
}) => readonly string[] | undefined;

/** What one alias brings into scope. */
interface InScope {
  readonly alias: string | null;
  /** The table behind it, for messages. */
  readonly table: string | null;
  /** Undefined where they are not known. */
  readonly columns: readonly string[] | undefined;
}

/**
 * Checks that the columns that a query names are there, as far as tables are known.
 * @throws DefinitionError `column_missing`, which names the column, where it was looked for, and what may be meant.
 */
export function checkColumns(query: QueryNode, columnsOf: ColumnsOf, subject: { view: string; file?: string }): void {
  new Checker(columnsOf, subject).output(query);
}

class Checker {
  constructor(
    private readonly columnsOf: ColumnsOf,
    private readonly subject: { readonly view: string; readonly file?: string },
  ) {}

  /** The names of a query's columns; undefined where they are not all known. */
  output(node: QueryNode): readonly string[] | undefined {
    switch (node.kind) {
      case "select": {
        const scope = this.scope(node.input);
        return flat(
          node.items.map((item) => {
            if (!("all" in item)) {
              this.expression(item.expression, scope);
              return [item.name];
            }
            const { all } = item;
            if (all === null) return allColumns(scope);
            const found = scope.find(({ alias }) => alias !== null && sameName(alias, all));
            if (found === undefined) throw this.unknownAlias(all, scope);
            return found.columns;
          }),
        );
      }
      case "aggregate": {
        const scope = this.scope(node.input);
        const items = [...node.by, ...node.aggregates];
        for (const { expression } of items) this.expression(expression, scope);
        return items.map(({ name }) => name);
      }
      case "accumulate": {
        const scope = this.scope(node.input);
        const parts = [...node.by, ...[...node.along, ...node.columns].map(({ expression }) => expression)];
        for (const part of parts) this.expression(part, scope);
        return flat([allColumns(scope), node.columns.map(({ name }) => name)]);
      }
      case "union": {
        const [left, right] = node.inputs.map((input) => this.output(input));
        if (left !== undefined && right !== undefined) this.sameColumns(left, right);
        return left ?? right;
      }
      case "text":
        this.expression(node.sql, []);
        return undefined;
      case "distinct":
        return this.output(node.input);
      default:
        return allColumns(this.scope(node));
    }
  }

  private scope(node: QueryNode): readonly InScope[] {
    switch (node.kind) {
      case "source": {
        const table = node.schema === null ? node.table : `${node.schema}.${node.table}`;
        return [{ alias: node.alias ?? node.table, table, columns: this.columnsOf(node) }];
      }
      case "alias":
        return [{ alias: node.alias, table: null, columns: this.output(node.input) }];
      case "where": {
        const scope = this.scope(node.input);
        this.expression(node.condition, scope);
        return scope;
      }
      case "join":
        return this.join(node);
      default:
        return [{ alias: null, table: null, columns: this.output(node) }];
    }
  }

  private join(node: JoinNode): readonly InScope[] {
    const [left, right] = [this.scope(node.left), this.scope(node.right)];
    for (const name of node.using ?? []) {
      this.column(name, left);
      this.column(name, right);
    }
    for (const pair of node.pairs) {
      this.column(pair.left, left);
      this.column(pair.right, right);
    }
    if (node.on !== null) this.expression(node.on, [...left, ...right]);
    return node.join === "semi" || node.join === "anti" ? left : [...left, ...right];
  }

  private expression(node: ExpressionNode, scope: readonly InScope[]): void {
    if (node.kind === "column") this.column(node.name, scope);
    if (node.kind !== "template") return;
    for (const value of node.values) {
      if (value.kind === "column" || value.kind === "literal" || value.kind === "template") {
        this.expression(value, scope);
      } else this.output(value);
    }
  }

  private column(reference: string, scope: readonly InScope[]): void {
    const aliases = scope.flatMap(({ alias }) => (alias === null ? [] : [alias]));
    const { alias, name } = splitColumn(reference, aliases);
    const places = alias === undefined ? scope : scope.filter((place) => place.alias === alias);
    if (places.some(({ columns }) => columns === undefined || columns.some((column) => sameName(column, name)))) return;
    const where = places.map(placeName).join(" or ");
    const candidates = places.flatMap((place) => place.columns ?? []);
    const [only] = places.length === 1 ? places : [];
    throw new DefinitionError("column_missing", `View ${this.subject.view}: "${name}" is no column of ${where}.`, {
      subject: {
        ...this.subject,
        column: name,
        ...(only?.table === null || only === undefined ? {} : { table: only.table }),
      },
      hint: didYouMean(name, candidates, "There are"),
    });
  }

  private unknownAlias(alias: string, scope: readonly InScope[]): DefinitionError {
    const aliases = scope.flatMap((place) => (place.alias === null ? [] : [place.alias]));
    return new DefinitionError("column_missing", `View ${this.subject.view}: no source is called "${alias}".`, {
      subject: this.subject,
      hint: didYouMean(alias, aliases, "There are"),
    });
  }

  private sameColumns(left: readonly string[], right: readonly string[]): void {
    const missing = (from: readonly string[], of: readonly string[]): string | undefined =>
      of.find((name) => !from.some((other) => sameName(name, other)));
    const [inRight, inLeft] = [missing(right, left), missing(left, right)];
    const name = inRight ?? inLeft;
    if (name === undefined) return;
    const side = inRight === undefined ? "first" : "second";
    throw new DefinitionError(
      "column_missing",
      `View ${this.subject.view}: the ${side} query of a union has no column "${name}", which the other one has.`,
      {
        subject: { ...this.subject, column: name },
        hint: didYouMean(name, inRight === undefined ? left : right, "It has"),
      },
    );
  }
}

function placeName({ alias, table }: InScope): string {
  if (table === null) return alias === null ? "the rows before it" : alias;
  return alias === null || alias === table ? table : `${table} (${alias})`;
}

function allColumns(scope: readonly InScope[]): readonly string[] | undefined {
  const names = flat(scope.map(({ columns }) => columns));
  // Of columns with one name, DuckDB gives all but the first another one.
  const different = new Set(names?.map((name) => name.toLowerCase()));
  return names === undefined || different.size < names.length ? undefined : names;
}

function flat(parts: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const known = parts.filter((part) => part !== undefined);
  return known.length < parts.length ? undefined : known.flat();
}
