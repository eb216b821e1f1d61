/** Smaller forms of a scenario, the boldest cuts first. */

import type { Event, Scenario, Statement, Table } from "../scenario.js";
import { each, fewer } from "./lists.js";
import { smallerQuery } from "./query.js";

export function* smaller(scenario: Scenario): Generator<Scenario> {
  for (const views of fewer(scenario.views, 1)) yield { ...scenario, views };
  for (const plainViews of fewer(scenario.plainViews)) yield { ...scenario, plainViews };
  for (const events of fewer(scenario.events, 1)) yield { ...scenario, events };
  for (const table of scenario.tables) yield withoutTable(scenario, table);
  for (const views of each(scenario.views, smallerView)) yield { ...scenario, views };
  for (const plainViews of each(scenario.plainViews, smallerView)) yield { ...scenario, plainViews };
  for (const setup of fewer(scenario.setup)) yield { ...scenario, setup };
  for (const events of each(scenario.events, smallerEvent)) yield { ...scenario, events };
  for (const setup of each(scenario.setup, smallerEvent)) yield { ...scenario, setup };
  for (const table of scenario.tables) yield* withoutColumns(scenario, table);
  for (const tables of each(scenario.tables, unpartitioned)) yield { ...scenario, tables };
  if (scenario.inlining !== null) yield { ...scenario, inlining: null };
}

function* smallerView(view: Scenario["views"][number]) {
  if (view.refresh !== "auto") yield { ...view, refresh: "auto" as const };
  for (const query of smallerQuery(view.query)) yield { ...view, query };
}

function* smallerEvent(event: Event): Generator<Event> {
  if (event.kind === "refresh") {
    if (event.toMark) yield { ...event, toMark: false };
    if (event.views !== null) yield { ...event, views: null };
  }
  if (event.kind !== "transaction") return;
  for (const statements of fewer(event.statements, 1)) yield { ...event, statements };
  for (const statements of each(event.statements, smallerStatement)) yield { ...event, statements };
}

function* smallerStatement(statement: Statement): Generator<Statement> {
  if (statement.kind === "insert") for (const rows of fewer(statement.rows, 1)) yield { ...statement, rows };
  if (statement.kind === "bulk" && statement.to - statement.from > 1) {
    yield { ...statement, to: statement.from + Math.floor((statement.to - statement.from) / 2) };
  }
}

function* unpartitioned(table: Table): Generator<Table> {
  if (table.partitionBy !== null) yield { ...table, partitionBy: null };
}

function withoutTable(scenario: Scenario, table: Table): Scenario {
  return changed(scenario, (statement) => (statement.table === table.name ? null : statement), {
    tables: scenario.tables.filter((other) => other !== table),
  });
}

function* withoutColumns(scenario: Scenario, table: Table): Generator<Scenario> {
  if (table.columns.length < 2) return;
  for (const [index, column] of table.columns.entries()) {
    const columns = table.columns.toSpliced(index, 1);
    const partitionBy = table.partitionBy === column.name ? null : table.partitionBy;
    const tables = scenario.tables.map((other) => (other === table ? { ...table, columns, partitionBy } : other));
    const cut = (statement: Statement): Statement => {
      if (statement.table !== table.name) return statement;
      if (statement.kind === "bulk") return { ...statement, values: statement.values.toSpliced(index, 1) };
      if (statement.kind === "sql") return statement;
      return { ...statement, rows: statement.rows.map((row) => row.toSpliced(index, 1)) };
    };
    yield changed(scenario, cut, { tables });
  }
}

/** Applies a change to every statement; a transaction that loses all of them goes too. */
function changed(
  scenario: Scenario,
  change: (statement: Statement) => Statement | null,
  parts: Partial<Scenario>,
): Scenario {
  const all = (events: readonly Event[]) =>
    events.flatMap((event): Event[] => {
      if (event.kind !== "transaction") return [event];
      const statements = event.statements.map(change).filter((statement) => statement !== null);
      return statements.length === 0 ? [] : [{ ...event, statements }];
    });
  return { ...scenario, ...parts, setup: all(scenario.setup), events: all(scenario.events) };
}
