/** A lake with change logs, and what its views held each time that a run had brought them somewhere. */
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { expect } from "vitest";
import {
  type Lake,
  type LakeConfig,
  type LogConfig,
  open,
  type RefreshResult,
  type ViewDefinition,
} from "../../src/index.js";
import { quoteLiteral, quotePath } from "../../src/sql/quote.js";
import { Oracle } from "../e2e/oracle.js";
import { type LakeKind, type TempLake, tempLake } from "../setup/lake.js";
import { checkLog, endOf, type LogFacts, readFacts } from "./proof.js";

/** The kept rows of a view at a position of its log, in one epoch. */
interface Shadow {
  readonly table: string;
  readonly epoch: string;
}

interface Opened {
  readonly lake: Lake;
  readonly connection: DuckDBConnection;
  readonly oracle: Oracle;
  readonly oracleConnection: DuckDBConnection;
}

export class LogScene implements AsyncDisposable {
  private readonly shadows = new Map<string, Map<bigint, Shadow>>();
  /** Where runs without a log have brought views meanwhile. */
  private readonly unlogged = new Map<string, Map<bigint, Shadow>>();
  readonly checkedFiles = new Set<string>();
  private shadowCount = 0;
  private definitions: readonly ViewDefinition[] = [];

  private constructor(
    readonly place: TempLake,
    readonly config: LakeConfig,
    private opened: Opened,
  ) {}

  static async start(kind: LakeKind, log: Partial<LogConfig> = {}, more: Partial<LakeConfig> = {}): Promise<LogScene> {
    const place = await tempLake(kind);
    const path =
      kind.data === "s3" ? `${place.config.dataPath?.replace(/\/$/, "")}-logs` : join(place.folder, "the logs");
    const config = { ...place.config, engine: { threads: 1 }, ...more, log: { path, ...log } };
    return new LogScene(place, config, await openScene(place, config));
  }

  get lake(): Lake {
    return this.opened.lake;
  }

  get connection(): DuckDBConnection {
    return this.opened.connection;
  }

  get root(): string {
    return this.config.log?.path ?? "";
  }

  async reopen(config: LakeConfig = this.config): Promise<void> {
    await this.close();
    this.opened = await openScene(this.place, config);
  }

  /** The configuration of somebody who keeps the same lake and no logs. */
  get withoutLog(): LakeConfig {
    const { log: _log, ...rest } = this.config;
    return rest;
  }

  async sql(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.rows(statement);
  }

  async rows<Row = Record<string, unknown>>(sql: string): Promise<Row[]> {
    try {
      return (await this.connection.runAndReadAll(sql)).getRowObjectsJS() as Row[];
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${sql.slice(0, 2_000)}`);
    }
  }

  async value(sql: string): Promise<unknown> {
    return Object.values((await this.rows(sql))[0] ?? {})[0];
  }

  /** Makes these the views of the lake, in the order in which they read each other. */
  async define(definitions: readonly ViewDefinition[]): Promise<void> {
    await this.lake.define(definitions, { drop: true });
    this.definitions = definitions;
  }

  /** Refreshes without failure, compares with the queries, and keeps what the views hold at their logs' new ends. */
  async refresh(views?: readonly string[]): Promise<RefreshResult> {
    const result = await this.lake.refresh(views === undefined ? {} : { views });
    expect(result.views.flatMap((view) => view.error ?? [])).toEqual([]);
    expect(result.warnings).toEqual([]);
    const names = result.views.map((view) => view.view);
    expect(await this.opened.oracle.differences(this.definitions, result.horizon, names)).toEqual([]);
    await this.keep();
    return result;
  }

  /** Keeps the rows of every view, for where it stands now. */
  async keep(): Promise<void> {
    const progress = await this.rows<{ view: string; horizon: bigint }>(
      "SELECT view, horizon FROM lake.ivm.progress WHERE horizon IS NOT NULL",
    );
    for (const { view, horizon } of progress) {
      const facts = await readFacts(this, view);
      if (facts === undefined) continue;
      const kept = endOf(facts) === horizon ? this.shadows : this.unlogged;
      const positions = kept.get(view) ?? new Map<bigint, Shadow>();
      // Once a position stands, what it means must never change.
      if (positions.get(horizon)?.epoch === facts.epoch) continue;
      const table = `shadow.main.s${++this.shadowCount}`;
      await this.sql(`CREATE TABLE ${table} AS SELECT * FROM ${quotePath(["lake", "main", view])}`);
      positions.set(horizon, { table, epoch: facts.epoch });
      kept.set(view, positions);
    }
  }

  /** Undefined where no run was seen to bring the view there. */
  shadowAt(facts: LogFacts, position: bigint): string | undefined {
    const shadow = this.shadows.get(facts.log)?.get(position);
    return shadow?.epoch === facts.epoch ? shadow.table : undefined;
  }

  /** The kept rows for snapshots that a run without a log has brought the view to. */
  unloggedOf(facts: LogFacts): [position: bigint, shadow: string][] {
    const unlogged = [...(this.unlogged.get(facts.log) ?? [])].filter(([, { epoch }]) => epoch === facts.epoch);
    return unlogged.map(([position, { table }]) => [position, table]);
  }

  async facts(view: string): Promise<LogFacts> {
    const facts = await readFacts(this, view);
    if (facts === undefined) throw new Error(`${view} has no log`);
    return facts;
  }

  /** All that must hold for every log at any time. */
  async check(): Promise<void> {
    for (const { log } of await this.rows<{ log: string }>("SELECT log FROM lake.ivm.logs ORDER BY log")) {
      await checkLog(this, await this.facts(log));
    }
  }

  private async close(): Promise<void> {
    this.connection.closeSync();
    this.opened.oracleConnection.closeSync();
    await this.lake.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await this.place.cleanup();
  }
}

async function openScene(place: TempLake, config: LakeConfig): Promise<Opened> {
  const lake = await open(config);
  const connection = await lake.connect();
  // Old versions are read, and two rules of the optimizer read them wrongly after a rewrite of files.
  await connection.run("SET disabled_optimizers = 'statistics_propagation,compressed_materialization'");
  await connection.run(`ATTACH IF NOT EXISTS ${quoteLiteral(join(place.folder, "shadow.duckdb"))} AS shadow`);
  const oracleConnection = await lake.connect();
  const oracle = await Oracle.create(oracleConnection, lake.name, { schema: "main", stateSchema: "ivm" });
  return { lake, connection, oracle, oracleConnection };
}
