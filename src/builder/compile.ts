import { DefinitionError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../sql/quote.js";
import type { AccumulateNode, ExpressionNode, JoinKind, JoinNode, NamedNode, QueryNode } from "../types.js";

/** A builder's query as the text of one SELECT. */
export function compileQuery(node: QueryNode): string {
  return new Compiler().select(node);
}

/** What stands behind FROM, and how its columns are called. */
interface From {
  readonly sql: string;
  /** Names that columns can be qualified with. */
  readonly aliases: readonly string[];
  readonly conditions: readonly string[];
}

const JOINS: Readonly<Record<JoinKind, string>> = {
  inner: "JOIN",
  left: "LEFT JOIN",
  right: "RIGHT JOIN",
  full: "FULL JOIN",
  semi: "SEMI JOIN",
  anti: "ANTI JOIN",
  cross: "CROSS JOIN",
  asof: "ASOF JOIN",
  asof_left: "ASOF LEFT JOIN",
};

/** The nearest alias that a column's name is qualified with, and the name without it. */
export function splitColumn(
  name: string,
  aliases: readonly string[],
): { readonly alias?: string; readonly name: string } {
  const alias = aliases.find((candidate) => name.startsWith(`${candidate}.`));
  return alias === undefined ? { name } : { alias, name: name.slice(alias.length + 1) };
}

class Compiler {
  private derived = 0;

  select(node: QueryNode, distinct = false): string {
    switch (node.kind) {
      case "select": {
        const from = this.from(node.input);
        const items = node.items.map((item) => {
          if ("all" in item) return item.all === null ? "*" : `${quoteIdentifier(item.all)}.*`;
          return this.named(item, from);
        });
        return block(items, from, distinct);
      }
      case "distinct":
        if (node.input.kind === "select") return this.select(node.input, true);
        return block(["*"], this.from(node.input), true);
      case "aggregate": {
        const from = this.from(node.input);
        const items = [...node.by, ...node.aggregates].map((item) => this.named(item, from));
        const keys = node.by.map((_, index) => index + 1).join(", ");
        return block(items, from) + (keys === "" ? "" : `\nGROUP BY ${keys}`);
      }
      case "accumulate":
        return this.accumulate(node);
      case "union": {
        const [left, right] = node.inputs.map((input) => `(${this.select(input)})`);
        return `${left}\nUNION ${node.all ? "ALL " : ""}BY NAME\n${right}`;
      }
      case "text":
        return this.expression(node.sql, NOTHING);
      case "source":
      case "alias":
      case "join":
      case "where":
        return block(["*"], this.from(node));
    }
  }

  private accumulate(node: AccumulateNode): string {
    const from = this.from(node.input);
    const by = node.by.map((key) => this.expression(key, from));
    const along = node.along.map(
      ({ expression, descending }) => this.expression(expression, from) + (descending ? " DESC" : ""),
    );
    const partition = by.length === 0 ? "" : `PARTITION BY ${by.join(", ")} `;
    const columns = node.columns.map(({ name, expression, frame }) => {
      const rows = frame === null ? "" : ` ROWS BETWEEN ${frame - 1} PRECEDING AND CURRENT ROW`;
      const over = `OVER (${partition}ORDER BY ${along.join(", ")}${rows})`;
      return `${this.expression(expression, from)} ${over} AS ${quoteIdentifier(name)}`;
    });
    return block(["*", ...columns], from);
  }

  private from(node: QueryNode): From {
    switch (node.kind) {
      case "source": {
        const path = quotePath(node.schema === null ? [node.table] : [node.schema, node.table]);
        const alias = node.alias ?? node.table;
        const sql = node.alias === null ? path : `${path} AS ${quoteIdentifier(alias)}`;
        return { sql, aliases: [alias], conditions: [] };
      }
      case "where": {
        const input = this.from(node.input);
        return { ...input, conditions: [...input.conditions, this.expression(node.condition, input)] };
      }
      case "join":
        return this.join(node);
      case "alias":
        return derivedTable(this.select(node.input), node.alias);
      default: {
        this.derived += 1;
        return derivedTable(this.select(node), `q${this.derived}`);
      }
    }
  }

  private join(node: JoinNode): From {
    const keepsRight = node.join === "right" || node.join === "full";
    const left = keepsRight ? filtered(this.from(node.left)) : this.from(node.left);
    const right = filtered(this.from(node.right));
    const taken = left.aliases.find((alias) =>
      right.aliases.some((other) => other.toLowerCase() === alias.toLowerCase()),
    );
    if (taken !== undefined) {
      throw new DefinitionError("builder_alias", `Two joined sources are both called ${taken}.`, {
        hint: 'Give one of them another name: .as("other").',
      });
    }
    const both = { sql: "", aliases: [...left.aliases, ...right.aliases], conditions: [] };
    const conditions = [
      ...node.pairs.map((pair) => `${this.column(pair.left, left)} = ${this.column(pair.right, right)}`),
      ...(node.on === null ? [] : [this.expression(node.on, both)]),
    ];
    const how =
      node.using !== null
        ? ` USING (${node.using.map(quoteIdentifier).join(", ")})`
        : conditions.length > 0
          ? ` ON ${conditions.join(" AND ")}`
          : "";
    const rightSql = right.aliases.length > 1 ? `(${right.sql})` : right.sql;
    const visible = node.join === "semi" || node.join === "anti" ? left.aliases : both.aliases;
    return {
      sql: `${left.sql}\n${JOINS[node.join]} ${rightSql}${how}`,
      aliases: visible,
      conditions: left.conditions,
    };
  }

  private named({ name, expression }: NamedNode, from: From): string {
    return `${this.expression(expression, from)} AS ${quoteIdentifier(name)}`;
  }

  private expression(node: ExpressionNode, from: From): string {
    switch (node.kind) {
      case "column":
        return this.column(node.name, from);
      case "literal":
        return literalSql(node.value);
      case "template":
        return node.texts.reduce((sql, text, index) => {
          const value = node.values[index - 1];
          return value === undefined ? sql + text : sql + this.part(value, from) + text;
        });
    }
  }

  private part(value: ExpressionNode | QueryNode, from: From): string {
    if (value.kind === "column" || value.kind === "literal" || value.kind === "template") {
      return this.expression(value, from);
    }
    return `(${this.select(value)})`;
  }

  /** Qualified where only one source is meant, so that a join further on can't make it ambiguous. */
  private column(name: string, { aliases }: From): string {
    const split = splitColumn(name, aliases);
    const alias = split.alias ?? (aliases.length === 1 ? aliases[0] : undefined);
    return quotePath(alias === undefined ? [split.name] : [alias, split.name]);
  }
}

const NOTHING: From = { sql: "", aliases: [], conditions: [] };

function derivedTable(select: string, alias: string): From {
  return { sql: `(${select}) AS ${quoteIdentifier(alias)}`, aliases: [alias], conditions: [] };
}

/** A source whose conditions are met before it is joined. */
function filtered(from: From): From {
  if (from.conditions.length === 0) return from;
  const [alias, ...others] = from.aliases;
  if (alias === undefined || others.length > 0) {
    throw new DefinitionError(
      "builder_where",
      `A condition on ${from.aliases.join(" and ")} must be met before the two are joined with more.`,
      { hint: 'Put .as("name") or .select(…) between the condition and the join.' },
    );
  }
  return derivedTable(block(["*"], from), alias);
}

function block(items: readonly string[], { sql, conditions }: From, distinct = false): string {
  const list = items.length < 2 ? items.join("") : items.join(",\n  ");
  return `SELECT ${distinct ? "DISTINCT " : ""}${list}\nFROM ${sql}${conditions.length === 0 ? "" : `\nWHERE ${conditions.join(" AND ")}`}`;
}

function literalSql(value: string | number | bigint | boolean | null): string {
  if (typeof value === "string") return quoteLiteral(value);
  if (typeof value === "number" && !Number.isFinite(value)) return `CAST(${quoteLiteral(String(value))} AS DOUBLE)`;
  return value === null ? "NULL" : String(value);
}
