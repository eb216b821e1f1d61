/** A random test: tables, views over them and what happens to them. The generators make it and the shrinker cuts it. */

import type { Column, Query } from "./ast.js";
import type { History, HistoryEvent } from "./history.js";
import { identifier, path, printQuery } from "./print.js";

export type Statement =
  | { readonly kind: "insert"; readonly table: string; readonly rows: readonly (readonly string[])[] }
  | {
      readonly kind: "bulk";
      readonly table: string;
      readonly values: readonly string[];
      readonly from: number;
      readonly to: number;
    }
  | { readonly kind: "sql"; readonly table: string; readonly sql: string };

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly partitionBy: string | null;
}

export interface View {
  readonly name: string;
  readonly query: Query;
  readonly columns: readonly Column[];
  readonly refresh: "auto" | "incremental" | "full";
}

export type Event =
  | { readonly kind: "transaction"; readonly statements: readonly Statement[] }
  | Exclude<HistoryEvent, { kind: "transaction" }>;

export interface Scenario {
  readonly inlining: number | null;
  readonly tables: readonly Table[];
  /** Ordinary DuckLake views that the materialized ones may read. */
  readonly plainViews: readonly View[];
  readonly views: readonly View[];
  /** Before the views are defined. */
  readonly setup: readonly Event[];
  readonly events: readonly Event[];
}

export function toHistory(scenario: Scenario): History {
  const create = scenario.tables.flatMap((table) => {
    const columns = table.columns.map((column) => `${identifier(column.name)} ${column.type}`).join(", ");
    return `CREATE TABLE ${identifier(table.name)}(${columns})`;
  });
  const partition = scenario.tables.flatMap(({ name, partitionBy }) =>
    partitionBy === null ? [] : [`ALTER TABLE ${identifier(name)} SET PARTITIONED BY (${identifier(partitionBy)})`],
  );
  const plain = scenario.plainViews.map((view) => `CREATE VIEW ${identifier(view.name)} AS ${printQuery(view.query)}`);
  return {
    inlining: scenario.inlining,
    setup: [
      ...create.map((sql): HistoryEvent => ({ kind: "transaction", sql: [sql] })),
      ...partition.map((sql): HistoryEvent => ({ kind: "maintenance", sql })),
      ...scenario.setup.map(toEvent),
      ...plain.map((sql): HistoryEvent => ({ kind: "transaction", sql: [sql] })),
    ],
    views: scenario.views.map((view) => ({ name: view.name, sql: printQuery(view.query), refresh: view.refresh })),
    events: scenario.events.map(toEvent),
  };
}

function toEvent(event: Event): HistoryEvent {
  if (event.kind !== "transaction") return event;
  return { kind: "transaction", sql: event.statements.map(printStatement) };
}

function printStatement(statement: Statement): string {
  const table = path([statement.table]);
  switch (statement.kind) {
    case "insert":
      return `INSERT INTO ${table} VALUES ${statement.rows.map((row) => `(${row.join(", ")})`).join(", ")}`;
    case "bulk": {
      const { values, from, to } = statement;
      return `INSERT INTO ${table} SELECT ${values.join(", ")} FROM range(${from}, ${to}) r(i)`;
    }
    case "sql":
      return statement.sql;
  }
}
