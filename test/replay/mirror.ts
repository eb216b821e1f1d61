/** Mirrors of views in databases of their own, read with plain DuckDB. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { expect, inject } from "vitest";
import { loadExtension } from "../../src/engine/extensions.js";
import { type Lake, type LakeConfig, open, type ReplayOptions, type ReplayResult } from "../../src/index.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../../src/sql/quote.js";
import { type LakeKind, type TempLake, tempLake } from "../setup/lake.js";

export type MirrorKind = ReplayResult["target"]["kind"];

export class MirrorScene implements AsyncDisposable {
  private constructor(
    readonly place: TempLake,
    readonly config: LakeConfig,
    readonly lake: Lake,
    /** Another writer, in the lake. */
    readonly writer: DuckDBConnection,
    readonly kind: MirrorKind,
    /** The target's address. */
    readonly into: string,
    readonly schema: string,
  ) {}

  static async start(kind: MirrorKind, lakeKind?: LakeKind, log: LakeConfig["log"] = {}): Promise<MirrorScene> {
    const place = await tempLake(lakeKind);
    const config = { ...place.config, log: { path: join(place.folder, "logs"), ...log }, engine: { threads: 1 } };
    const lake = await open(config);
    const schema = kind === "postgres" ? `mirrors_${randomBytes(6).toString("hex")}` : "main";
    const scene = new MirrorScene(place, config, lake, await lake.connect(), kind, addressOf(kind, place), schema);
    if (kind === "postgres") await scene.inTarget(`CREATE SCHEMA target.${schema}`);
    return scene;
  }

  async sql(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.writer.run(statement);
  }

  /** Refreshes all views, of which none may fail. */
  async refresh(): Promise<bigint> {
    const result = await this.lake.refresh();
    expect(result.views.flatMap((view) => view.error ?? [])).toEqual([]);
    return result.horizon;
  }

  /** The options of a replay to the mirror of this name. */
  options(consumer: string, table: string, more: Partial<ReplayOptions> = {}): ReplayOptions {
    return { consumer, into: this.into, table: quotePath([this.schema, table]), ...more };
  }

  replay(consumer: string, table = consumer, more: Partial<ReplayOptions> = {}): Promise<ReplayResult> {
    return this.lake.replay(this.options(consumer, table, more));
  }

  /** Runs statements in the target, attached as `target`, and answers the last one's rows as text. */
  async inTarget(...statements: readonly string[]): Promise<string[][]> {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    try {
      await loadExtension(connection, this.kind === "postgres" ? "postgres_scanner" : "ducklake");
      const address = this.into.replace(/^(duckdb|postgres):(?!\/\/)/, "");
      const type = this.kind === "postgres" ? " (TYPE postgres)" : "";
      await connection.run(`ATTACH ${quoteLiteral(address)} AS target${type}`);
      let rows: string[][] = [];
      for (const sql of statements) {
        const reader = await connection.runAndReadAll(sql);
        rows = reader.getRows().map((row) => row.map(String));
      }
      return rows;
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  }

  /** The mirror holds the view's rows, copy for copy. */
  async expectMirror(view: string, table = view): Promise<void> {
    const reader = await this.writer.runAndReadAll(`DESCRIBE FROM ${quoteIdentifier(view)}`);
    const columns = reader
      .getRows()
      .map(([name, type]) => ({ name: quoteIdentifier(String(name)), type: String(type) }));
    const asText = columns.map(({ name, type }) =>
      this.kind === "postgres" && /[[(]/.test(type) && !type.startsWith("DECIMAL")
        ? `CAST(to_json(${name}) AS VARCHAR)`
        : `CAST(${name} AS VARCHAR)`,
    );
    // PostgreSQL writes JSON with blanks of its own.
    const inMirror = asText.map((sql, index) =>
      sql.includes("to_json") ? `replace(CAST(${columns[index]?.name} AS VARCHAR), ' ', '')` : sql,
    );
    const path = quotePath(["target", this.schema, table]);
    const wanted = await this.writer.runAndReadAll(`SELECT ${asText.join(", ")} FROM ${quoteIdentifier(view)}`);
    const found = await this.inTarget(`SELECT ${inMirror.join(", ")} FROM ${path}`);
    const sorted = (rows: readonly (readonly unknown[])[]): string[] =>
      rows.map((row) => row.map(String).join("|")).sort();
    expect(sorted(found)).toEqual(sorted(wanted.getRows()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.writer.closeSync();
    await this.lake.close();
    await this.place.cleanup();
  }
}

function addressOf(kind: MirrorKind, { folder }: TempLake): string {
  if (kind === "duckdb") return `duckdb:${join(folder, "mirror.db")}`;
  if (kind === "ducklake") return `ducklake:${join(folder, "mirror.ducklake")}`;
  const services = inject("services");
  if (services === undefined) throw new Error("PostgreSQL is only there in files named *.services.test.ts");
  const { database, host, port, user, password } = services.postgres;
  return `postgres:dbname=${database} host=${host} port=${port} user=${user} password=${password}`;
}
