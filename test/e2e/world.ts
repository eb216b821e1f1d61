/** One lake, what writes to it beside this project, and the oracle that says what its views should hold. */

import type { DuckDBConnection } from "@duckdb/node-api";
import { expect } from "vitest";
import {
  type Lake,
  type LakeConfig,
  open,
  type RefreshOptions,
  type RefreshResult,
  type ViewDefinition,
  type ViewResult,
} from "../../src/index.js";
import { quoteLiteral, quotePath } from "../../src/sql/quote.js";
import { type LakeKind, type TempLake, tempLake } from "../setup/lake.js";
import { type NamedQuery, Oracle } from "./oracle.js";
import { PlainReader } from "./plain.js";

/** The alias of other programs; this project's own is `lake`. */
const OTHER = "the other";

export class World implements AsyncDisposable {
  private definitions: readonly ViewDefinition[] = [];
  private readonly horizons = new Map<string, bigint>();

  private constructor(
    readonly kind: LakeKind,
    readonly place: TempLake,
    readonly config: LakeConfig,
    readonly lake: Lake,
    private readonly plain: PlainReader | undefined,
    /** What another program would use to change the lake. */
    readonly writer: DuckDBConnection,
    readonly oracle: Oracle,
  ) {}

  static async start(kind: LakeKind, overrides: Partial<LakeConfig> = {}): Promise<World> {
    const place = await tempLake(kind);
    const config = { ...place.config, ...overrides };
    const lake = await open(config);
    const schemas = { schema: config.schema ?? "main", stateSchema: config.stateSchema ?? "ivm" };
    // A catalog in a DuckDB file serves one instance only, so other programs are other connections there.
    if (kind.catalog === "duckdb") {
      const oracle = await Oracle.create(await lake.connect(), lake.name, schemas);
      return new World(kind, place, config, lake, undefined, await lake.connect(), oracle);
    }
    const plain = await PlainReader.attach(config, OTHER);
    if (config.engine?.threads !== undefined) await plain.connection.run(`SET threads = ${config.engine.threads}`);
    const oracle = await Oracle.create(await plain.connect(), OTHER, schemas);
    return new World(kind, place, config, lake, plain, plain.connection, oracle);
  }

  get stateSchema(): string {
    return this.config.stateSchema ?? "ivm";
  }

  /** The lake's name on the writer's connection. */
  get alias(): string {
    return this.plain === undefined ? this.lake.name : OTHER;
  }

  async sql(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.writer.run(statement);
  }

  async transaction(...statements: readonly string[]): Promise<void> {
    await this.sql("BEGIN", ...statements, "COMMIT");
  }

  /** Rows as other programs read them. */
  async rows(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.writer.runAndReadAll(sql)).getRowObjectsJS() as Record<string, unknown>[];
  }

  async value(sql: string): Promise<unknown> {
    const rows = await this.rows(sql);
    return Object.values(rows[0] ?? {})[0];
  }

  async snapshot(): Promise<bigint> {
    return (await this.value(`FROM ducklake_current_snapshot('${this.alias}')`)) as bigint;
  }

  /** Makes these the only views of the lake; in the order in which they read each other. */
  async define(definitions: readonly ViewDefinition[]): Promise<void> {
    await this.lake.define(definitions, { drop: true });
    this.definitions = definitions;
    for (const name of [...this.horizons.keys()]) {
      if (!definitions.some((definition) => definition.name === name)) this.horizons.delete(name);
    }
  }

  /** Drops all views and tables. */
  async clear(): Promise<void> {
    await this.define([]);
    const tables = await this.rows(
      `SELECT schema_name AS schema, table_name AS name FROM duckdb_tables()
       WHERE database_name = ${quoteLiteral(this.alias)} AND schema_name <> ${quoteLiteral(this.stateSchema)}`,
    );
    for (const { schema, name } of tables) {
      await this.sql(`DROP TABLE ${quotePath([this.alias, String(schema), String(name)])}`);
    }
  }

  /** The cursors and horizons that the lake holds, as text. */
  async progress(): Promise<unknown[]> {
    const state = (table: string) => quotePath([this.alias, this.stateSchema, table]);
    return this.rows(`SELECT view, horizon::VARCHAR AS horizon, cursors FROM ${state("progress")} ORDER BY ALL`);
  }

  /** Defines views by their queries and builds them. */
  async build(views: Readonly<Record<string, string>>, refresh: "auto" | "incremental" = "incremental"): Promise<void> {
    await this.define(Object.entries(views).map(([name, sql]) => ({ name, sql, refresh })));
    await this.refresh();
  }

  /** Refreshes, with no failure, and compares all views with the oracle. */
  async refresh(options: RefreshOptions = {}, helpers: readonly NamedQuery[] = []): Promise<RefreshResult> {
    const result = await this.lake.refresh(options);
    expect(result.views.flatMap((view) => view.error ?? [])).toEqual([]);
    for (const view of result.views) this.horizons.set(view.view, result.horizon);
    await this.check(helpers);
    return result;
  }

  /** Compares every view with its definition at the horizon of its last refresh. */
  async check(helpers: readonly NamedQuery[] = []): Promise<void> {
    const queries = [...helpers, ...this.definitions];
    for (const horizon of new Set(this.horizons.values())) {
      const views = [...this.horizons].filter(([, its]) => its === horizon).map(([name]) => name);
      expect(await this.oracle.differences(queries, horizon, views), `at snapshot ${horizon}`).toEqual([]);
    }
  }

  /** The project's own proof. */
  async verify(): Promise<void> {
    const results = await this.lake.verify();
    expect(results.filter((result) => !result.ok)).toEqual([]);
    expect(results.map((result) => result.view).sort()).toEqual(this.definitions.map(({ name }) => name).sort());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lake.close();
    await this.plain?.[Symbol.asyncDispose]();
    await this.place.cleanup();
  }
}

/** The result of one view of a run. */
export function viewOf(result: RefreshResult, name: string): ViewResult {
  const found = result.views.find((view) => view.view === name);
  if (found === undefined) throw new Error(`${name} is not in the result`);
  return found;
}
