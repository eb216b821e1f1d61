/**
 * A journal that mostly grows at its end, with a view of running window functions over it: what is to be found out is
 * whether their values go on from where each partition ended.
 */

import {
  type Call,
  type Column,
  type Expression,
  type ExpressionItem,
  type Query,
  scalar,
  select,
  simpleQuery,
} from "../ast.js";
import { identifier } from "../print.js";
import type { Event, Scenario, Table, View } from "../scenario.js";
import type { Draw } from "./draw.js";
import { changedBeforeRefreshes, transaction } from "./events.js";

const TABLE = "journal";
const VIEW = "running";
const COLUMNS: readonly Column[] = [
  ["p", "INTEGER"],
  ["q", "VARCHAR"],
  ["seq", "INTEGER"],
  ["n", "BIGINT"],
  ["price", "DECIMAL(9,2)"],
  ["x", "DOUBLE"],
  ["s", "VARCHAR"],
  ["id", "INTEGER"],
].map(([name, type]) => ({ name: name ?? "", type: type ?? "", exact: true }));

/** The scenario with a journal, its view, and changes of the journal before each refresh. */
export function withJournal(draw: Draw, scenario: Scenario): Scenario {
  const order = draw.pick(ORDERS);
  const windows = draw.times(1, 4, () => makeRunning(draw, order.direction));
  // Which of two copies of a row comes first is open in each window by itself, so with several there is no one answer.
  const copies = windows.filter(tellsPeersApart).length < 2;
  const journal = new Journal(draw, order.grows, copies);
  const table: Table = { name: TABLE, columns: COLUMNS, partitionBy: null };
  const initial: Event[] = draw.chance(90) ? [journal.grow(draw.integer(3, 14))] : [];
  const events = changedBeforeRefreshes(draw, scenario.events, () => journal.change());
  return {
    ...scenario,
    tables: [...scenario.tables, table],
    views: [...scenario.views, makeView(draw, windows)],
    setup: [...scenario.setup, ...initial],
    events,
  };
}

interface Growth {
  readonly direction: string;
  /** By which numbers rows come behind each other. */
  readonly grows: 1 | -1;
}

const ORDERS: readonly Growth[] = [
  { direction: "", grows: 1 },
  { direction: " NULLS FIRST", grows: 1 },
  { direction: " DESC", grows: -1 },
  { direction: " DESC NULLS FIRST", grows: -1 },
];

class Journal {
  private last = 0;
  private rows = 0;

  constructor(
    private readonly draw: Draw,
    private readonly grows: 1 | -1,
    private readonly copies: boolean,
  ) {}

  /** Rows that come behind all others, some of them as peers of each other. */
  grow(rows: number): Event {
    const values: string[][] = [];
    for (let count = 0; count < rows; count++) {
      const copied = values.at(-1);
      if (copied !== undefined && this.draw.chance(20)) {
        values.push(this.copies ? copied : [...copied.slice(0, -1), this.id()]);
        continue;
      }
      if (this.draw.chance(85)) this.last += this.grows;
      values.push(this.row(this.draw.chance(6) ? "NULL" : String(this.last)));
    }
    return transaction({ kind: "insert", table: TABLE, rows: values });
  }

  change(): Event {
    const { draw } = this;
    const sql = (text: string): Event => transaction({ kind: "sql", table: TABLE, sql: text });
    return draw.weighted<() => Event>([
      [60, () => this.behind()],
      [12, () => transaction({ kind: "insert", table: TABLE, rows: [this.row(String(this.last)), this.row("NULL")] })],
      [
        8,
        () =>
          transaction({
            kind: "insert",
            table: TABLE,
            rows: [this.row(String(this.last - this.grows * draw.integer(1, 9)))],
          }),
      ],
      [8, () => sql(`DELETE FROM ${TABLE} WHERE seq = ${this.last - this.grows * draw.integer(0, 6)}`)],
      [5, () => sql(`DELETE FROM ${TABLE} WHERE p = ${draw.integer(0, 2)} AND s = 'a'`)],
      [7, () => sql(`UPDATE ${TABLE} SET n = n + 1 WHERE seq = ${this.last - this.grows * draw.integer(0, 4)}`)],
    ])();
  }

  private behind(): Event {
    this.last += this.grows;
    return this.grow(this.draw.integer(1, 4));
  }

  private row(seq: string): string[] {
    const or = (value: string): string => (this.draw.chance(12) ? "NULL" : value);
    const { draw } = this;
    return [
      or(String(draw.integer(0, 2))),
      or(draw.pick(["'u'", "'v'"])),
      seq,
      or(String(draw.integer(-3, 9))),
      or(draw.pick(["0.50", "-3.10", "12.25"])),
      or(draw.pick(["0.25", "-2.5", "100.0", "'NaN'"])),
      or(draw.pick(["'a'", "'b'", "''"])),
      this.id(),
    ];
  }

  private id(): string {
    this.rows += 1;
    return String(this.rows);
  }
}

function makeView(draw: Draw, windows: readonly Call[]): View {
  const own = draw.sample(COLUMNS, draw.integer(1, 4)).map(reference);
  const items = [...own, ...windows].map(
    (expression, index): ExpressionItem => ({ kind: "expression", expression, alias: `c${index}` }),
  );
  const where = draw.chance(25) ? scalar("BOOLEAN")`${reference(column("n"))} IS DISTINCT FROM 2` : null;
  const columns = items.map(({ expression, alias }) => ({
    name: alias ?? "",
    type: expression.type,
    exact: expression.exact,
  }));
  const body = simpleQuery(select({ items, from: [{ kind: "table", path: [TABLE], alias: null }], where }));
  return { name: VIEW, query: draw.chance(30) ? filtered(body, columns) : body, columns, refresh: "incremental" };
}

/** The rows of a query for which a condition on its last column holds. */
function filtered(query: Query, columns: readonly Column[]): Query {
  const items = columns.map(
    (each): ExpressionItem => ({ kind: "expression", expression: reference(each), alias: null }),
  );
  const last = columns.at(-1);
  const where =
    last === undefined ? null : scalar("BOOLEAN")`coalesce(CAST(${reference(last)} AS VARCHAR) <> '3', true)`;
  return simpleQuery(select({ items, from: [{ kind: "derived", query, alias: "ran", lateral: false }], where }));
}

function reference({ name, type, exact }: Column): Expression {
  return { kind: "column", relation: null, name, type, exact };
}

function column(name: string): Column {
  const found = COLUMNS.find((each) => each.name === name);
  if (found === undefined) throw new RangeError(`the journal has no column ${name}`);
  return found;
}

const OTHERS = COLUMNS.map(({ name }) => (name === "seq" ? "" : `, ${identifier(name)}`)).join("");

function tellsPeersApart({ parts }: Call): boolean {
  return parts.some((part) => part.includes(OTHERS));
}

/** Functions that have one answer: those that tell peers apart are ordered by all columns. */
function makeRunning(draw: Draw, direction: string): Call {
  const partition = draw.pick(["PARTITION BY p ", "PARTITION BY p ", "PARTITION BY q ", "PARTITION BY p % 2, q ", ""]);
  const peers = `OVER (${partition}ORDER BY seq${direction})`;
  const total = `OVER (${partition}ORDER BY seq${direction}${OTHERS})`;
  const rows = (frame: string): string => total.replace(/\)$/, ` ROWS ${frame})`);
  const back = draw.integer(1, 3);
  const [type, text] = draw.pick<readonly [string, string]>([
    ["HUGEINT", `sum(n) ${peers}`],
    ["DECIMAL(38,2)", `sum(price) FILTER (WHERE s <> 'b') ${peers}`],
    ["HUGEINT", `sum(n) ${rows("UNBOUNDED PRECEDING")}`],
    ["DOUBLE", `avg(price) ${peers}`],
    ["DOUBLE", `avg(n) ${rows("UNBOUNDED PRECEDING")}`],
    ["BIGINT", `count(n) ${peers}`],
    ["BIGINT", `count(*) ${rows("UNBOUNDED PRECEDING")}`],
    ["DOUBLE", `max(x) ${peers}`],
    ["VARCHAR", `min(s) ${rows("UNBOUNDED PRECEDING")}`],
    ["BOOLEAN", `bool_and(n > 0) ${peers}`],
    ["BIGINT", `row_number() ${total}`],
    ["BIGINT", `rank() ${peers}`],
    ["BIGINT", `dense_rank() ${peers}`],
    ["VARCHAR", `first_value(s) ${total}`],
    ["BIGINT", `first_value(n IGNORE NULLS) ${total}`],
    ["BIGINT", `lag(n, ${back}) ${total}`],
    ["VARCHAR", `lag(s) ${total}`],
    ["HUGEINT", `sum(n) ${rows(`${back} PRECEDING`)}`],
    ["BIGINT", `count(DISTINCT s) ${rows(`BETWEEN ${back} PRECEDING AND 1 PRECEDING`)}`],
    ["BIGINT", `lead(n) ${total}`],
  ]);
  return { ...scalar(type)``, parts: [text], role: "window" };
}
