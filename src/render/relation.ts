import {
  CLOCK,
  type DeltaScan,
  type Expression,
  inputsOf,
  outputOf,
  type Relation,
  readsDirectly,
  type Scan,
  type Version,
} from "../plan/relation.js";
import { quoteIdentifier } from "../sql/quote.js";
import { joinOrder } from "./join-order.js";

/** How the leaves are read: each gives a whole SELECT whose columns are named by the ids. */
export interface LeafRenderer {
  scan(scan: Scan): string;
  deltaScan(scan: DeltaScan): string;
  /** The time at a version, as an expression. */
  instant(version: Version): string;
}

/** A relation as one SQL statement; shared parts become common table expressions, computed once. */
export function renderRelation(relation: Relation, leaves: LeafRenderer): string {
  const shared = new Map<string, string>();
  const renderer = new Renderer(leaves, shared);
  const body = renderer.select(relation);
  if (shared.size === 0) return body;
  const definitions = [...shared].map(([name, sql]) => `${quoteIdentifier(name)} AS MATERIALIZED (\n${indent(sql)}\n)`);
  return `WITH ${definitions.join(",\n")}\n${body}`;
}

/** Sums the weights of equal rows over all terms and drops those that vanish. */
export function renderConsolidated(
  terms: readonly { readonly relation: Relation; readonly weight: string }[],
  columns: readonly string[],
  leaves: LeafRenderer,
): string {
  return consolidated(columns, renderTerms(terms, columns, leaves));
}

/** The rows of all terms, with the columns and `weight`. */
export function renderTerms(
  terms: readonly { readonly relation: Relation; readonly weight: string }[],
  columns: readonly string[],
  leaves: LeafRenderer,
): string {
  const union: Relation = {
    kind: "union-all",
    columns: [...columns, "weight"],
    branches: terms.map((term) => ({ input: term.relation, columns: [...columns, term.weight] })),
  };
  return renderRelation(union, leaves);
}

/** Rows with `weight`, those with equal columns summed and those that vanish dropped. */
export function consolidated(columns: readonly string[], rows: string): string {
  const names = columns.map(quoteIdentifier);
  const groups = names.length === 0 ? "" : `\nGROUP BY ${names.map((_, index) => index + 1).join(", ")}`;
  return `SELECT ${[...names, `CAST(sum("weight") AS BIGINT) AS "weight"`].join(", ")}\nFROM (\n${indent(rows)}\n)${groups}\nHAVING sum("weight") <> 0`;
}

function indent(sql: string): string {
  return sql
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}

class Renderer {
  /** Names of parts by their text. */
  private readonly parts = new Map<string, string>();

  constructor(
    private readonly leaves: LeafRenderer,
    private readonly shared: Map<string, string>,
  ) {}

  select(relation: Relation): string {
    switch (relation.kind) {
      case "scan":
        return this.leaves.scan(relation);
      case "delta-scan":
        return this.leaves.deltaScan(relation);
      case "constant":
        return relation.sql;
      case "filter":
        return this.filter(relation, []);
      case "time-filter": {
        const now = `${this.leaves.instant(relation.version)} AS ${quoteIdentifier(CLOCK)}`;
        const columns = list(outputOf(relation).map(quoteIdentifier));
        return `SELECT ${columns}\nFROM (SELECT *, ${now} FROM ${this.from(relation.input)})\nWHERE ${relation.predicate.sql}`;
      }
      case "project":
        return `SELECT ${list(relation.columns.map((column) => named(column.expression, column.id)))}\nFROM ${this.from(relation.input)}`;
      case "join": {
        const where = relation.predicates.length === 0 ? "" : `\nWHERE ${conjunction(relation.predicates)}`;
        return `SELECT *\nFROM ${joinOrder(relation)
          .map((input) => this.from(input))
          .join(",\n")}${where}`;
      }
      case "outer-join":
        return `SELECT *\nFROM ${this.from(relation.left)}\n${relation.side.toUpperCase()} JOIN ${this.from(relation.right)}\nON ${relation.predicate.sql}`;
      case "asof-join": {
        const keys = relation.keys.map((pair) => `(${pair.left.sql}) = (${pair.right.sql})`);
        const { left, right } = relation.order;
        // DuckDB's sorting ASOF join takes a NULL for a value to be found, which no comparison is true for.
        const order = [`(${left.sql}) ${relation.operator} (${right.sql})`, `(${left.sql}) IS NOT NULL`];
        const on = [...keys, ...order].join(" AND ");
        const word = relation.side === "left" ? "ASOF LEFT JOIN" : "ASOF JOIN";
        return `SELECT *\nFROM ${this.from(relation.left)}\n${word} ${this.from(relation.right)}\nON ${on}`;
      }
      case "semi-join":
        return `SELECT *\nFROM ${this.from(relation.left)}\n${relation.anti ? "ANTI" : "SEMI"} JOIN ${this.from(relation.right)}\nON ${relation.predicate.sql}`;
      case "mark-join":
        return this.mark(relation);
      case "restrict":
        return this.restrict(relation);
      case "aggregate":
        return this.aggregate(relation);
      case "window":
        return `SELECT *, ${list(relation.columns.map((column) => named(column.expression, column.id)))}\nFROM ${this.from(relation.input)}`;
      case "union-all":
        return relation.branches
          .map((branch) => {
            const columns = branch.columns.map((id, index) => {
              const name = relation.columns[index] ?? id;
              return id === name ? quoteIdentifier(id) : `${quoteIdentifier(id)} AS ${quoteIdentifier(name)}`;
            });
            return `SELECT ${list(columns)}\nFROM ${this.from(branch.input)}`;
          })
          .join("\nUNION ALL\n");
      case "repeat": {
        const copies = `unnest(range(greatest(CAST(${relation.count.sql} AS BIGINT), 0)))`;
        const columns = list(outputOf(relation.input).map(quoteIdentifier));
        return `SELECT ${columns}\nFROM (SELECT *, ${copies} AS "copy" FROM ${this.from(relation.input)})`;
      }
      case "limit": {
        const orders = relation.orders.map((order) => `${order.expression.sql} ${order.direction}`);
        const by = orders.length === 0 ? "" : `\nORDER BY ${orders.join(", ")}`;
        const limit = relation.limit === null ? "" : `\nLIMIT ${relation.limit}`;
        const offset = relation.offset === null ? "" : `\nOFFSET ${relation.offset}`;
        return `SELECT *\nFROM ${this.from(relation.input)}${by}${limit}${offset}`;
      }
      case "shared":
        return `SELECT *\nFROM ${this.share(relation.name, relation.input)}`;
    }
  }

  private from(relation: Relation): string {
    if (relation.kind === "shared") return this.share(relation.name, relation.input);
    return `(\n${indent(this.select(relation))}\n)`;
  }

  private share(name: string, input: Relation): string {
    if (!this.shared.has(name)) {
      const sql = this.select(input);
      this.shared.set(name, sql);
    }
    return quoteIdentifier(name);
  }

  private filter(relation: Relation, predicates: readonly Expression[]): string {
    if (relation.kind === "filter") return this.filter(relation.input, [relation.predicate, ...predicates]);
    return `SELECT *\nFROM ${this.from(relation)}\nWHERE ${conjunction(predicates)}`;
  }

  /** By semi and anti joins: DuckDB 1.5.5 takes NULL <> x for true in some correlated subqueries. */
  private mark(relation: Extract<Relation, { kind: "mark-join" }>): string {
    const { correlation, comparison, mark } = relation;
    const left = this.readAgain(relation.left);
    const right = this.readAgain(relation.right);
    const branch = (value: string, join: "SEMI" | "ANTI", condition: string, rows = left): string =>
      `SELECT *, ${value} AS ${quoteIdentifier(mark)}\nFROM ${rows}\n${join} JOIN ${right}\nON (${correlation.sql}) AND (${condition})`;
    if (comparison === null) return `${branch("true", "SEMI", "true")}\nUNION ALL\n${branch("false", "ANTI", "true")}`;
    const unmatched = `(SELECT * FROM ${left} ANTI JOIN ${right} ON (${correlation.sql}) AND (${comparison.sql}))`;
    return [
      branch("true", "SEMI", comparison.sql),
      branch("CAST(NULL AS BOOLEAN)", "SEMI", `(${comparison.sql}) IS NULL`, unmatched),
      branch("false", "ANTI", `(${comparison.sql}) IS DISTINCT FROM false`),
    ].join("\nUNION ALL\n");
  }

  /** A relation that stands in FROM several times, computed once where it is more than a read. */
  private readAgain(relation: Relation): string {
    if (relation.kind === "shared" || readsDirectly(relation)) return this.from(relation);
    const sql = this.select(relation);
    const known = this.parts.get(sql) ?? `part ${this.parts.size + 1}`;
    this.parts.set(sql, known);
    this.shared.set(known, sql);
    return quoteIdentifier(known);
  }

  private restrict(relation: Extract<Relation, { kind: "restrict" }>): string {
    const [input, keys] = inputsOf(relation).map((part) => this.from(part));
    if (relation.pairs.length === 0) return `SELECT *\nFROM ${input}\nWHERE EXISTS (SELECT 1 FROM ${keys})`;
    const plain = plainColumns(relation.keys);
    const matches = relation.pairs.map(([expression, key]) => {
      // Only `=` lets DuckDB pass over row groups outside of the keys' range.
      const equals = plain.includes(key) ? "=" : "IS NOT DISTINCT FROM";
      return `(${expression.sql}) ${equals} ${quoteIdentifier(key)}`;
    });
    return `SELECT *\nFROM ${input}\nSEMI JOIN ${keys}\nON ${matches.join(" AND ")}`;
  }

  private aggregate(relation: Extract<Relation, { kind: "aggregate" }>): string {
    const keys = relation.keys.map((key) => named(key.expression, key.id));
    const calls = relation.calls.map((call) => named(call.expression, call.id));
    const from = this.from(relation.input);
    if (keys.length === 0)
      return `SELECT ${calls.length === 0 ? `count(*) AS "rows"` : calls.join(", ")}\nFROM ${from}`;
    return `SELECT ${[...keys, ...calls].join(", ")}\nFROM ${from}\nGROUP BY ${keys.map((_, index) => index + 1).join(", ")}`;
  }
}

function plainColumns(relation: Relation): readonly string[] {
  if (relation.kind === "shared") return plainColumns(relation.input);
  return relation.kind === "constant" ? (relation.plain ?? []) : [];
}

function named(expression: Expression, id: string): string {
  return expression.ref === id ? quoteIdentifier(id) : `${expression.sql} AS ${quoteIdentifier(id)}`;
}

function list(parts: readonly string[]): string {
  return parts.length === 0 ? `1 AS "row"` : parts.join(", ");
}

function conjunction(predicates: readonly Expression[]): string {
  return predicates.map((predicate) => `(${predicate.sql})`).join(" AND ");
}
