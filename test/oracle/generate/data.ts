/** Random changes to base tables, every one with a single outcome as a bag. */

import type { Column, ColumnReference } from "../ast.js";
import { identifier, printExpression } from "../print.js";
import type { Event, Statement, Table } from "../scenario.js";
import type { Draw } from "./draw.js";
import { ExpressionMaker } from "./expression.js";
import { bulkValue, typedLiteral, value } from "./values.js";

export class ChangeMaker {
  private next = 0;

  constructor(
    private readonly draw: Draw,
    private readonly tables: readonly Table[],
    private readonly extremes: boolean,
    private readonly read: ReadonlySet<string>,
  ) {}

  /** Mostly one that a view reads. */
  private table(): Table {
    return this.draw.weighted(this.tables.map((table) => [this.read.has(table.name) ? 6 : 1, table] as const));
  }

  /** Rows that a table starts with; null for a table that starts empty. */
  initial(table: Table): Event | null {
    if (this.draw.chance(7)) return null;
    const insert = this.draw.chance(25) ? this.bulk(table) : this.insert(table, 12);
    return { kind: "transaction", statements: [insert] };
  }

  transaction(): Event {
    const count = this.draw.weighted([
      [65, 1],
      [20, 2],
      [10, 3],
      [5, 5],
    ]);
    const table = this.table();
    const statements = Array.from({ length: count }, () => {
      // Several statements on one table in one transaction are the ones that go wrong.
      return this.statement(this.draw.chance(60) ? table : this.table());
    });
    return { kind: "transaction", statements };
  }

  private statement(table: Table): Statement {
    const name = identifier(table.name);
    const sql = (text: string): Statement => ({ kind: "sql", table: table.name, sql: text });
    const where = () => this.where(table);
    return this.draw.weighted<() => Statement>([
      [38, () => this.insert(table, 5)],
      [6, () => this.bulk(table)],
      [20, () => sql(`DELETE FROM ${name} WHERE ${where()}`)],
      [24, () => sql(`UPDATE ${name} SET ${this.assignments(table)} WHERE ${where()}`)],
      [4, () => sql(`INSERT INTO ${name} SELECT * FROM ${name} WHERE ${where()}`)],
      [1, () => sql(`DELETE FROM ${name}`)],
      [2, () => sql(`UPDATE ${name} SET ${this.assignments(table)}`)],
      [2, () => sql(`DELETE FROM ${name} WHERE false`)],
      [2, () => sql(this.unchanged(table))],
      [4, () => sql(this.merge(table) ?? `DELETE FROM ${name} WHERE ${where()}`)],
    ])();
  }

  private insert(table: Table, most: number): Statement {
    const rows: string[][] = [];
    for (let count = this.draw.integer(1, most); count > 0; count--) {
      const copy = rows.length > 0 && this.draw.chance(25);
      rows.push(copy ? this.draw.pick(rows) : table.columns.map(({ type }) => value(this.draw, type, this.extremes)));
    }
    return { kind: "insert", table: table.name, rows };
  }

  private bulk(table: Table): Statement {
    const from = this.next;
    this.next += this.draw.integer(11, 40);
    const values = table.columns.map((column) => bulkValue(this.draw, column.type));
    return { kind: "bulk", table: table.name, values, from, to: this.next };
  }

  private where(table: Table): string {
    const column = this.draw.pick(table.columns);
    if (this.draw.chance(65)) {
      return `${identifier(column.name)} = ${typedLiteral(this.draw, column.type).sql}`;
    }
    return printExpression(new ExpressionMaker(this.draw, atoms(table.columns)).condition(1));
  }

  private assignments(table: Table): string {
    const maker = new ExpressionMaker(this.draw, atoms(table.columns));
    return this.draw
      .sample(table.columns, this.draw.integer(1, 2))
      .map((column) => {
        const literal = this.draw.chance(60) ? value(this.draw, column.type, this.extremes) : null;
        return `${identifier(column.name)} = ${literal ?? printExpression(maker.make(column.type, 1))}`;
      })
      .join(", ");
  }

  /** An UPDATE that writes every row again as it was. */
  private unchanged(table: Table): string {
    const column = identifier(this.draw.pick(table.columns).name);
    return `UPDATE ${identifier(table.name)} SET ${column} = ${column}`;
  }

  /** An upsert of one row on an INTEGER key; null where the table has none. */
  private merge(table: Table): string | null {
    const key = table.columns.find((column) => column.type === "INTEGER");
    if (key === undefined) return null;
    const names = table.columns.map((column) => identifier(column.name));
    const row = table.columns.map((column) =>
      column === key ? this.draw.pick(["1", "2", "7"]) : value(this.draw, column.type, this.extremes),
    );
    const casts = table.columns.map((column, index) => `CAST(${row[index]} AS ${column.type}) AS ${names[index]}`);
    const on = `target.${identifier(key.name)} = source.${identifier(key.name)}`;
    const set = names.map((name) => `${name} = source.${name}`).join(", ");
    return (
      `MERGE INTO ${identifier(table.name)} AS target USING (SELECT ${casts.join(", ")}) AS source ON ${on} ` +
      `WHEN MATCHED THEN UPDATE SET ${set} ` +
      `WHEN NOT MATCHED THEN INSERT (${names.join(", ")}) VALUES (${names.map((name) => `source.${name}`).join(", ")})`
    );
  }
}

function atoms(columns: readonly Column[]): ColumnReference[] {
  return columns.map((column) => ({ kind: "column", relation: null, ...column }));
}
