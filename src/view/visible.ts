import { derive } from "../delta/derive.js";
import { ColumnIds } from "../plan/relation.js";
import { renderRelation } from "../render/relation.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { Layout } from "./layout.js";
import type { PhysicalColumn } from "./states.js";

/** The value of a physical column as expressions take it. */
export function decode(column: PhysicalColumn): string {
  const name = quoteIdentifier(column.name);
  return column.stored === column.type ? name : `CAST(${name} AS ${column.type})`;
}

/** The value of a physical column as the lake holds it, from a column of the same name with the value itself. */
export function encode(column: PhysicalColumn): string {
  const name = quoteIdentifier(column.name);
  return column.stored === column.type ? name : `CAST(${name} AS ${column.stored}) AS ${name}`;
}

/** The view's visible rows from rows of its physical table (`from` stands in FROM). */
export function visibleSelect(layout: Layout, from: string): string {
  if (layout.groups === null && layout.rows === null) {
    const columns = layout.columns.map((column, index) => {
      const [value, name] = [decode(column), quoteIdentifier(layout.output[index]?.name ?? column.name)];
      return value === name ? value : `${value} AS ${name}`;
    });
    return `SELECT ${columns.join(", ")} FROM ${from}`;
  }
  const rows = renderRelation(layout.visible, {
    scan: () => `SELECT ${decodedById(layout).join(", ")} FROM ${from}`,
    deltaScan: noDelta,
    instant: noTime,
  });
  return `SELECT ${namesOf(layout).join(", ")} FROM (\n${rows}\n)`;
}

/**
 * The change of the visible rows from a change of the physical ones: `rows` is a SELECT that gives the physical
 * columns as the lake holds them, and the column `weight`, which the result has too.
 */
export function visibleDelta(layout: Layout, rows: string, weight: string, decoded: boolean): string {
  const ids = new ColumnIds(1_000_000);
  const terms = derive(layout.visible, {
    changed: () => true,
    timeMoves: false,
    ids,
    typeOf: () => {
      throw new TypeError("the visible rows of a view need no types");
    },
  });
  const [term] = terms;
  if (term === undefined || terms.length !== 1)
    throw new TypeError("the visible rows of a view are linear in its table");
  const columns = decoded
    ? layout.columns.map((column) => `${quoteIdentifier(column.name)} AS ${quoteIdentifier(column.id)}`)
    : decodedById(layout);
  const sql = renderRelation(term.relation, {
    scan: noDelta,
    instant: noTime,
    deltaScan: (scan) =>
      `SELECT ${[...columns, `${quoteIdentifier(weight)} AS ${quoteIdentifier(scan.weight)}`].join(", ")} FROM (${rows})`,
  });
  return `SELECT ${[...namesOf(layout), `${quoteIdentifier(term.weight)} AS ${quoteIdentifier(weight)}`].join(", ")} FROM (\n${sql}\n)`;
}

function namesOf(layout: Layout): string[] {
  return layout.output.map((column) => `${quoteIdentifier(column.id)} AS ${quoteIdentifier(column.name)}`);
}

function decodedById(layout: Layout): string[] {
  return layout.columns.map((column) => `${decode(column)} AS ${quoteIdentifier(column.id)}`);
}

function noDelta(): string {
  throw new TypeError("a scan of the other kind stands here");
}

function noTime(): string {
  throw new TypeError("the visible rows of a view are its table's at any time");
}
