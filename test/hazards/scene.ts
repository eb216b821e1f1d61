/** A lake with views for one hazard: change it, refresh, and the view must equal DuckDB's own answer. */

import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { expect } from "vitest";
import {
  type Lake,
  type LogConfig,
  open,
  type RefreshOptions,
  type RefreshResult,
  type ViewDefinition,
  type ViewResult,
} from "../../src/index.js";
import { Reference } from "../oracle/reference.js";
import { type LakeKind, type TempLake, tempLake } from "../setup/lake.js";

export interface SceneOptions {
  /** `data_inlining_row_limit`; the lake's default where left out. */
  readonly inlining?: number;
  readonly kind?: LakeKind;
  /** Change logs in the lake's own folder; none where left out. */
  readonly log?: LogConfig;
}

export class Scene implements AsyncDisposable {
  private reference: Reference | undefined;
  private definitions: readonly ViewDefinition[] = [];

  private constructor(
    readonly place: TempLake,
    readonly lake: Lake,
    /** What another program would use to change the lake. */
    readonly writer: DuckDBConnection,
  ) {}

  static async start(options: SceneOptions = {}): Promise<Scene> {
    const temporary = await tempLake(options.kind);
    const { log } = options;
    const logs = log === undefined ? {} : { log: { path: join(temporary.folder, "logs"), ...log } };
    const place = { ...temporary, config: { ...temporary.config, ...logs } };
    const lake = await open(place.config);
    const writer = await lake.connect();
    if (options.inlining !== undefined) {
      await writer.run(`CALL lake.set_option('data_inlining_row_limit', ${options.inlining})`);
    }
    return new Scene(place, lake, writer);
  }

  async sql(...statements: string[]): Promise<void> {
    for (const statement of statements) await this.writer.run(statement);
  }

  async transaction(...statements: string[]): Promise<void> {
    await this.sql("BEGIN", ...statements, "COMMIT");
  }

  /** Defines the views, in the order in which they read each other, and builds them. */
  async define(views: Readonly<Record<string, string>>): Promise<void> {
    this.definitions = Object.entries(views).map(([name, sql]) => ({ name, sql }));
    await this.applyAgain();
    this.reference = await Reference.create(await this.lake.connect(), this.lake.name, this.definitions);
    await this.refresh();
  }

  /** Defines the same views, against the tables as they are now. */
  async applyAgain(): Promise<void> {
    await this.lake.define(this.definitions);
  }

  /** Refreshes and compares every view with its query. */
  async refresh(options: RefreshOptions = {}): Promise<RefreshResult> {
    const result = await this.lake.refresh(options);
    expect(result.views.flatMap((view) => view.error ?? [])).toEqual([]);
    await this.compare(result);
    return result;
  }

  async compare(result: RefreshResult): Promise<void> {
    const refreshed = result.views.map((view) => view.view);
    await this.reference?.evaluate(result.horizon, refreshed);
    for (const { name } of this.definitions) expect(await this.reference?.compare(name), name).toBeNull();
  }

  /** The first value of the first row. */
  async value(sql: string): Promise<string> {
    const reader = await this.writer.runAndReadAll(sql);
    return String(reader.getRowsJson()[0]?.[0]);
  }

  /** All rows as text, in the order of their text. */
  async rows(relation: string): Promise<string[]> {
    const reader = await this.writer.runAndReadAll(`SELECT columns(*)::VARCHAR FROM ${relation}`);
    return reader
      .getRowsJS()
      .map((row) => `(${row.map((value) => value ?? "NULL").join(", ")})`)
      .sort();
  }

  async snapshot(): Promise<bigint> {
    return BigInt(await this.value("FROM ducklake_current_snapshot('lake')"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.writer.closeSync();
    await this.lake.close();
    await this.place.cleanup();
  }
}

/** The result of one view of a run. */
export function viewOf(result: RefreshResult, name: string): ViewResult {
  const found = result.views.find((view) => view.view === name);
  if (found === undefined) throw new Error(`${name} is not in the result`);
  return found;
}
