import { DuckDBInstance } from "@duckdb/node-api";
import type { LakeObjects } from "../../src/catalog/tables.js";
import type { DeltaContext } from "../../src/delta/contract.js";
import { derive } from "../../src/delta/derive.js";
import { Session } from "../../src/engine/session.js";
import { atVersion, CLOCK, type ColumnId, ColumnIds, outputOf, type Relation } from "../../src/plan/relation.js";
import { type LeafRenderer, renderConsolidated, renderRelation } from "../../src/render/relation.js";
import { columnRef } from "../../src/sql/ast.js";
import { type FunctionCatalog, loadFunctions } from "../../src/sql/functions.js";
import { parseSelect, printStatement } from "../../src/sql/parse.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../../src/sql/quote.js";
import { type BoundQuery, bindTables } from "../../src/view/bind.js";
import { type PlanResult, planView, type TypedColumn, type ViewPlan } from "../../src/view/plan-view.js";
import { pinTime, replaceTime } from "../../src/view/time.js";

/** Columns of a table, with DuckDB's names of their types. */
export type Columns = Readonly<Record<string, string>>;
type Value = string | number | bigint | boolean | null;
export type Row = readonly Value[];
/** Rows by table. */
export type Rows = Readonly<Record<string, readonly Row[]>>;

type TableVersion = "old" | "new";

/** The times that the two versions see. */
export const INSTANTS: Readonly<Record<TableVersion, string>> = {
  old: "2020-02-01 12:00:00+00",
  new: "2020-03-01 12:00:00+00",
};

/**
 * Plain DuckDB in memory, without a lake: every table stands empty in the schema `main`, where definitions are bound,
 * and once in `old`, `new` and `delta`, which are what the leaves of plans read.
 */
export class World {
  private constructor(
    readonly session: Session,
    readonly functions: FunctionCatalog,
    private readonly tables: Readonly<Record<string, Columns>>,
    private readonly changed: Set<string>,
  ) {}

  static async create(tables: Readonly<Record<string, Columns>>): Promise<World> {
    const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
    const session = new Session(await instance.connect());
    await session.run("ATTACH ':memory:' AS lake");
    await session.run("USE lake");
    // The way of ASOF joins that finds no partner for a NULL.
    await session.run("SET asof_loop_join_threshold = 1000000");
    for (const schema of ["old", "new", "delta"]) await session.run(`CREATE SCHEMA ${quoteIdentifier(schema)}`);
    for (const [table, columns] of Object.entries(tables)) {
      const list = Object.entries(columns).map(([name, type]) => `${quoteIdentifier(name)} ${type}`);
      for (const schema of ["main", "old", "new"]) {
        await session.run(`CREATE TABLE ${quotePath(["lake", schema, table])} (${list.join(", ")})`);
      }
    }
    const world = new World(session, await loadFunctions(session), tables, new Set());
    await world.measure();
    return world;
  }

  /** Replaces the rows of all tables at both versions and works out the deltas. */
  async load(rows: { readonly old: Rows; readonly new: Rows }): Promise<void> {
    for (const version of ["old", "new"] as const) {
      for (const table of Object.keys(this.tables)) await this.fill(version, table, rows[version][table] ?? []);
    }
    await this.measure();
  }

  async run(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.session.run(statement);
  }

  /** Works out the deltas after statements have changed the tables of `old` and `new`. */
  async measure(): Promise<void> {
    this.changed.clear();
    for (const [table, columns] of Object.entries(this.tables)) {
      const names = Object.keys(columns).map(quoteIdentifier).join(", ");
      const delta = quotePath(["lake", "delta", table]);
      await this.session.run(
        `CREATE OR REPLACE TABLE ${delta} AS SELECT ${names}, CAST(sum(change) AS BIGINT) AS weight
         FROM (SELECT ${names}, 1 AS change FROM ${this.path("new", table)}
               UNION ALL SELECT ${names}, -1 FROM ${this.path("old", table)}) GROUP BY ALL HAVING sum(change) <> 0`,
      );
      if ((await this.session.rows(`SELECT 1 FROM ${delta} LIMIT 1`)).length > 0) this.changed.add(table);
    }
  }

  private async fill(version: TableVersion, table: string, rows: readonly Row[]): Promise<void> {
    await this.session.run(`DELETE FROM ${this.path(version, table)}`);
    if (rows.length === 0) return;
    const values = rows.map((row) => `(${row.map(literal).join(", ")})`);
    await this.session.run(`INSERT INTO ${this.path(version, table)} VALUES ${values.join(", ")}`);
  }

  private path(version: TableVersion, table: string): string {
    return quotePath(["lake", version, table]);
  }

  readonly leaves: LeafRenderer = {
    scan: (scan) => `SELECT ${columnList(scan.columns, [])} FROM ${this.path(scan.version, tableOf(scan.source))}`,
    deltaScan: (scan) => {
      const weight = `weight AS ${quoteIdentifier(scan.weight)}`;
      return `SELECT ${columnList(scan.columns, [weight])} FROM ${quotePath(["lake", "delta", tableOf(scan.source)])}`;
    },
    instant: (version) => `CAST(${quoteLiteral(INSTANTS[version])} AS TIMESTAMP WITH TIME ZONE)`,
  };

  /** The rows of a relation, as a SELECT. */
  at(version: TableVersion, relation: Relation): string {
    const columns = outputOf(relation).map(quoteIdentifier);
    const rows = renderRelation(atVersion(relation, version), this.leaves);
    return columns.length === 0 ? rows : `SELECT ${columns.join(", ")} FROM (${rows})`;
  }

  context(typeOf: (id: ColumnId) => string = () => "INTEGER", ids = new ColumnIds(1000)): DeltaContext {
    return { changed: (source) => this.changed.has(tableOf(source)), timeMoves: true, ids, typeOf };
  }

  contextOf(plan: ViewPlan): DeltaContext {
    return this.context((id) => plan.types[id] ?? "VARCHAR", new ColumnIds(plan.nextId));
  }

  /**
   * The rows by which old + Σ terms differs from new, with how many copies are too many; none where the rules hold.
   * The references are the relation itself at both versions.
   */
  async deltaErrors(relation: Relation, context = this.context()): Promise<readonly unknown[]> {
    const terms = derive(relation, context);
    const columns = outputOf(relation);
    return this.errors(columns.length, this.at("old", relation), this.at("new", relation), () =>
      terms.length === 0 ? undefined : renderConsolidated(terms, columns, this.leaves),
    );
  }

  /** As `deltaErrors`, for a definition: the references are its own SQL over the tables of both versions. */
  async definitionErrors(sql: string, plan: ViewPlan): Promise<readonly unknown[]> {
    const terms = derive(plan.relation, this.contextOf(plan));
    const reference = await this.references(sql);
    return this.errors(plan.output.length, reference.old, reference.new, () =>
      terms.length === 0 ? undefined : renderConsolidated(terms, plan.output, this.leaves),
    );
  }

  /** The rows of a definition's own SQL over the tables of each version. */
  async references(sql: string): Promise<{ readonly old: string; readonly new: string }> {
    for (const version of ["old", "new"] as const) {
      const pinned = await this.pinned(sql, version);
      await this.session.run(`USE lake.${quoteIdentifier(version)}`);
      await this.session.run(`CREATE OR REPLACE TEMP TABLE ${quoteIdentifier(`reference_${version}`)} AS ${pinned}`);
    }
    await this.session.run("USE lake.main");
    return { old: "FROM temp.reference_old", new: "FROM temp.reference_new" };
  }

  /** A definition's own SQL with the time that a version sees. */
  async pinned(sql: string, version: TableVersion): Promise<string> {
    const statement = await parseSelect(this.session, sql, { view: "v" });
    return printStatement(this.session, pinTime(statement, INSTANTS[version], new Set()));
  }

  private async errors(
    width: number,
    before: string,
    after: string,
    delta: () => string | undefined,
  ): Promise<readonly unknown[]> {
    const names = Array.from({ length: width }, (_, index) => `c${index + 1}`);
    const list = names.map((name) => `${name}, `).join("");
    const part = (rows: string, weight: string, extra = ""): string =>
      `SELECT ${list}${weight} AS copies FROM (${rows}) AS part(${[...names, ...(extra === "" ? [] : [extra])].join(", ")})`;
    const change = delta();
    const parts = [part(before, "1"), part(after, "-1")];
    if (change !== undefined) parts.push(part(change, "change", "change"));
    const total = names.length === 0 ? "GROUP BY ()" : `GROUP BY ${names.map((_, index) => index + 1).join(", ")}`;
    return this.session.rows(
      `SELECT ${list}sum(copies)::INTEGER AS copies FROM (${parts.join(" UNION ALL ")}) ${total} HAVING sum(copies) <> 0`,
    );
  }

  /** Rows in which two SELECTs differ as bags. */
  async bagDifference(left: string, right: string, width: number): Promise<readonly unknown[]> {
    return this.errors(width, left, right, () => undefined);
  }

  async bind(sql: string): Promise<BoundQuery> {
    const statement = await parseSelect(this.session, sql, { view: "v" });
    const context = {
      session: this.session,
      objects: this.objects(),
      functions: this.functions,
      views: [],
      schema: "main",
      dropped: [],
    };
    return bindTables(context, statement, { view: "v" });
  }

  /** Plans a definition as `apply` does, over the tables of `main`. */
  async plan(sql: string, columns?: readonly TypedColumn[]): Promise<PlanResult> {
    const bound = await this.bind(sql);
    const expected = columns ?? (await this.describe(sql));
    const statement = replaceTime(bound.statement, columnRef([CLOCK]), new Set());
    return planView(this.session, statement, this.functions, (source) => this.columnsOf(source), expected);
  }

  async describe(sql: string): Promise<TypedColumn[]> {
    const described = await this.session.rows<{ column_name: string; column_type: string }>(`DESCRIBE ${sql}`);
    return described.map((column) => ({ name: column.column_name, type: column.column_type }));
  }

  /** As `plan`, for definitions that have an incremental rule for all their parts. */
  async planned(sql: string): Promise<ViewPlan> {
    const result = await this.plan(sql);
    if (result.plan === null) throw new Error(`no plan: ${result.reason.code}: ${result.reason.text}`);
    return result.plan;
  }

  objects(): LakeObjects {
    const find = (schema: string, name: string) => {
      const table = Object.keys(this.tables).find((known) => known.toLowerCase() === name.toLowerCase());
      if (schema.toLowerCase() !== "main" || table === undefined) return undefined;
      return { schema: "main", table, columns: this.columnsOf(`main.${table}`) };
    };
    return {
      table: find,
      view: () => undefined,
      hasSchema: (name) => name === "main",
      names: Object.keys(this.tables).map((table) => `main.${table}`),
    };
  }

  private columnsOf(source: string): readonly TypedColumn[] {
    return Object.entries(this.tables[tableOf(source)] ?? {}).map(([name, type]) => ({ name, type }));
  }
}

function tableOf(source: string): string {
  return source.replace(/^main\./, "");
}

function columnList(columns: readonly { id: string; name: string }[], more: readonly string[]): string {
  const list = [...columns.map(({ id, name }) => `${quoteIdentifier(name)} AS ${quoteIdentifier(id)}`), ...more];
  return list.length === 0 ? `1 AS "row"` : list.join(", ");
}

function literal(value: Value): string {
  if (value === null) return "NULL";
  return typeof value === "string" ? quoteLiteral(value) : String(value);
}
