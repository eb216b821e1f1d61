/**
 * Edges that mostly come, with a view of what can be reached over them: what is to be found out is whether a recursion goes
 * on from the rows that it has.
 */

import { type Column, type Expression, literal, type Query, scalar, select, simpleQuery } from "../ast.js";
import type { Event, Scenario, Table, View } from "../scenario.js";
import type { Draw } from "./draw.js";
import { changedBeforeRefreshes, transaction } from "./events.js";

const STARTS: Table = { name: "starts", columns: columns("node"), partitionBy: null };
const EDGES: Table = { name: "edges", columns: columns("a", "b", "cost"), partitionBy: null };
const NODES = 14;

/** The scenario with a graph, its view, and changes of the graph before each refresh. */
export function withGraph(draw: Draw, scenario: Scenario): Scenario {
  const events = changedBeforeRefreshes(draw, scenario.events, () => change(draw));
  return {
    ...scenario,
    tables: [...scenario.tables, STARTS, EDGES],
    views: [...scenario.views, makeView(draw)],
    setup: [
      ...scenario.setup,
      insert(STARTS, [[node(draw)], ["NULL"]]),
      insert(
        EDGES,
        draw.times(2, 8, () => edge(draw)),
      ),
    ],
    events,
  };
}

function change(draw: Draw): Event {
  return draw.weighted<() => Event>([
    [
      70,
      () =>
        insert(
          EDGES,
          draw.times(1, 4, () => edge(draw)),
        ),
    ],
    [15, () => insert(STARTS, [[node(draw)]])],
    [5, () => sql(EDGES, `DELETE FROM edges WHERE a = ${node(draw)}`)],
    [5, () => sql(EDGES, `UPDATE edges SET cost = cost + 1 WHERE b = ${node(draw)}`)],
    [5, () => sql(STARTS, `DELETE FROM starts WHERE node = ${node(draw)}`)],
  ])();
}

/** Some edges lead to or from nowhere. */
function edge(draw: Draw): string[] {
  const end = (): string => (draw.chance(6) ? "NULL" : node(draw));
  return [end(), end(), String(draw.integer(0, 3))];
}

function node(draw: Draw): string {
  return String(draw.integer(1, NODES));
}

function makeView(draw: Draw): View {
  const held: Column = { name: "held", type: "INTEGER", exact: true };
  const of = (relation: string, name: string): Expression => ({
    kind: "column",
    relation,
    name,
    type: "INTEGER",
    exact: true,
  });
  const item = (expression: Expression, alias: string | null = null) =>
    ({ kind: "expression", expression, alias }) as const;
  const anchor = select({ items: [item(of("s", "node"))], from: [{ kind: "table", path: ["starts"], alias: "s" }] });
  const equal = literal("", draw.pick(["=", "IS NOT DISTINCT FROM"]));
  const step = select({
    items: [item(of("e", "b"))],
    from: [
      {
        kind: "join",
        type: "INNER",
        left: { kind: "table", path: ["reach"], alias: "r" },
        right: { kind: "table", path: ["edges"], alias: "e" },
        condition: { kind: "on", predicate: scalar("BOOLEAN")`${of("e", "a")} ${equal} ${of("r", "held")}` },
      },
    ],
    where: draw.chance(40) ? scalar("BOOLEAN")`${of("e", "cost")} < 3` : null,
  });
  const recursion = simpleQuery({
    kind: "set",
    operator: "UNION",
    left: simpleQuery(anchor),
    right: simpleQuery(step),
  });
  const body = select({
    items: [item(of("reach", "held"), "held")],
    from: [{ kind: "table", path: ["reach"], alias: null }],
  });
  const cte = { name: "reach", columns: [held.name], materialized: false, query: recursion };
  const query: Query = { ...simpleQuery(body), recursive: true, ctes: [cte] };
  return { name: "reached", query, columns: [held], refresh: "incremental" };
}

function columns(...names: readonly string[]): Column[] {
  return names.map((name) => ({ name, type: "INTEGER", exact: true }));
}

function insert({ name }: Table, rows: readonly (readonly string[])[]): Event {
  return transaction({ kind: "insert", table: name, rows });
}

function sql({ name }: Table, text: string): Event {
  return transaction({ kind: "sql", table: name, sql: text });
}
