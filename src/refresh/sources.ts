import { WEIGHT } from "../catalog/consolidate.js";
import type { TableName } from "../catalog/tables.js";
import { tableAtVersion } from "../catalog/tables.js";
import { LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import type { DeltaScan, Scan, ScanColumn, Version } from "../plan/relation.js";
import type { LeafRenderer } from "../render/relation.js";
import { type Ast, baseTable, commonTable, text } from "../sql/ast.js";
import { printOver, subqueryName } from "../sql/parse.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../sql/quote.js";
import { replaceSources } from "../view/bind.js";
import type { Layout } from "../view/layout.js";
import { visibleSelect } from "../view/visible.js";

/** A source of a view with the versions that a run reads it at. */
export interface RunSource {
  readonly name: string;
  /** The physical table in the lake. */
  readonly table: TableName;
  /** Set where the source is a materialized view: how its visible rows come from its table. */
  readonly layout: Layout | null;
  /** The state before the window; the state after it where nothing is to be read of the old one. */
  readonly from: bigint;
  readonly to: bigint;
  /** The temporary table with the source's delta; null where it did not change. */
  readonly delta: string | null;
  /** True where the state before the window can't be read: its snapshot was expired. */
  readonly oldLost: boolean;
}

/** The times that a run pins for definitions that ask for it, as text with a time zone. */
export type Instants = Readonly<Record<Version, string>>;

/** The source's visible rows at a snapshot, as they stand in FROM. */
function sourceRows(source: RunSource, version: bigint): string {
  const table = tableAtVersion(source.table, version);
  return source.layout === null ? table : `(${visibleSelect(source.layout, table)})`;
}

/** A source's rows as they were at an expired snapshot: what is there now without what the log says came since. */
function rowsBefore(columns: readonly string[], table: string, delta: string): string {
  const list = columns.length === 0 ? "1" : columns.join(", ");
  const weight = quoteIdentifier(WEIGHT);
  return `SELECT ${list} FROM (
    SELECT ${[...columns, `unnest(range(${weight}))`].join(", ")} FROM (
      SELECT ${[...columns, `CAST(sum(${weight}) AS BIGINT) AS ${weight}`].join(", ")}
      FROM (SELECT ${[...columns, `1 AS ${weight}`].join(", ")} FROM ${table} UNION ALL SELECT ${[...columns, `-${weight}`].join(", ")} FROM ${delta})
      ${columns.length === 0 ? "" : `GROUP BY ${columns.map((_, index) => index + 1).join(", ")}`} HAVING sum(${weight}) > 0))`;
}

/** Rows that a plan reads and that no table of the lake has: each as it stands in FROM, its columns by their own names. */
export interface OwnRows {
  readonly old: string;
  readonly new: string;
  /** With the column `weight`; null where nothing changed. */
  readonly delta: string | null;
}

/** Reads the leaves of plans at the versions of a run. */
export class SourceLeaves implements LeafRenderer {
  constructor(
    private readonly sources: ReadonlyMap<string, RunSource>,
    private readonly instants: Instants,
    private readonly own: ReadonlyMap<string, OwnRows> = new Map(),
  ) {}

  scan(scan: Scan): string {
    const own = this.own.get(scan.source);
    if (own !== undefined) return `SELECT ${list(scan.columns)} FROM ${own[scan.version]}`;
    const source = this.source(scan.source);
    const old = scan.version === "old";
    if (old && source.oldLost && source.delta !== null) {
      const names = scan.columns.map((column) => column.name);
      const rows = rowsBefore(
        names.map(quoteIdentifier),
        sourceRows(source, source.to),
        quotePath(["temp", source.delta]),
      );
      return `SELECT ${list(scan.columns)} FROM (${rows})`;
    }
    const version = old ? source.from : source.to;
    return `SELECT ${list(scan.columns)} FROM ${sourceRows(source, version)}`;
  }

  deltaScan(scan: DeltaScan): string {
    const own = this.own.get(scan.source);
    const delta = own === undefined ? this.deltaTable(scan.source) : own.delta;
    if (delta === null) throw new TypeError(`the unchanged source ${scan.source} has no delta`);
    const weight = `${quoteIdentifier(WEIGHT)} AS ${quoteIdentifier(scan.weight)}`;
    const columns = scan.columns.map((column) => `${quoteIdentifier(column.name)} AS ${quoteIdentifier(column.id)}`);
    return `SELECT ${[...columns, weight].join(", ")} FROM ${delta}`;
  }

  instant(version: Version): string {
    return `CAST(${quoteLiteral(this.instants[version])} AS TIMESTAMP WITH TIME ZONE)`;
  }

  private deltaTable(name: string): string | null {
    const { delta } = this.source(name);
    return delta === null ? null : quotePath(["temp", delta]);
  }

  private source(name: string): RunSource {
    const source = this.sources.get(name);
    if (source === undefined) throw new TypeError(`the plan reads ${name}, which is no source of the view`);
    return source;
  }
}

function list(columns: readonly ScanColumn[]): string {
  if (columns.length === 0) return `1 AS "row"`;
  return columns.map((column) => `${quoteIdentifier(column.name)} AS ${quoteIdentifier(column.id)}`).join(", ");
}

/** The author's own statement as SQL, every source read by what `rows` gives for it. */
export async function statementSql(
  session: Session,
  statement: Ast,
  sources: ReadonlyMap<string, RunSource>,
  rows: (source: RunSource) => { table: TableName; version: bigint } | { select: string },
): Promise<string> {
  const queries: string[] = [];
  const names = new Map<string, string>();
  for (const source of sources.values()) {
    const read = rows(source);
    if ("select" in read) names.set(source.name, subqueryName(queries.push(read.select) - 1));
  }
  const replaced = replaceSources(statement, (name, node) => {
    const source = sources.get(name);
    if (source === undefined) throw new TypeError(`the statement reads ${name}, which is no source of the view`);
    const aliases = (node["column_name_alias"] as readonly string[] | undefined) ?? [];
    const query = names.get(name);
    if (query !== undefined) return commonTable(query, text(node, "alias") || text(node, "table_name"), aliases);
    const read = rows(source);
    if ("select" in read) throw new TypeError("unreachable: a subquery was made for this source");
    const own = node["at_clause"];
    const path = { catalog: LAKE_NAME, schema: read.table.schema, table: read.table.table };
    const table = baseTable(path, text(node, "alias"), read.version);
    // An AT of the author's own names one fixed state, whatever the horizon.
    return { ...table, column_name_alias: aliases, ...(own === null || own === undefined ? {} : { at_clause: own }) };
  });
  return printOver(session, replaced, queries);
}

/** The statement over the sources at the end of their windows. */
export function statementAtHorizon(
  session: Session,
  statement: Ast,
  sources: ReadonlyMap<string, RunSource>,
): Promise<string> {
  return statementSql(session, statement, sources, (source) => {
    if (source.layout === null) return { table: source.table, version: source.to };
    return { select: visibleSelect(source.layout, tableAtVersion(source.table, source.to)) };
  });
}
