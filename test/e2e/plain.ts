/** A lake as any other program sees it: DuckDB with its own extensions, none of this project's code at work. */

import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { loadExtension } from "../../src/engine/extensions.js";
import { quoteIdentifier, quoteLiteral } from "../../src/sql/quote.js";
import type { LakeConfig } from "../../src/types.js";

export class PlainReader implements AsyncDisposable {
  private constructor(
    private readonly instance: DuckDBInstance,
    readonly connection: DuckDBConnection,
    /** The name under which it has attached the lake. */
    readonly alias: string,
  ) {}

  static async attach(config: LakeConfig, alias: string, extra: readonly string[] = []): Promise<PlainReader> {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    // Old versions are read, and two rules of the optimizer read them wrongly after a rewrite of files.
    await connection.run("SET disabled_optimizers = 'statistics_propagation,compressed_materialization'");
    const catalog = config.catalog.replace(/^ducklake:/, "");
    await loadExtension(connection, "ducklake");
    if (catalog.startsWith("postgres:")) await loadExtension(connection, "postgres_scanner");
    if (catalog.startsWith("sqlite:")) await loadExtension(connection, "sqlite_scanner");
    // httpfs has the cipher for encrypted files, too.
    if (config.s3 !== undefined || extra.includes("ENCRYPTED")) await loadExtension(connection, "httpfs");
    if (config.s3 !== undefined) await connection.run(s3Secret(config.s3));
    const options = [
      ...(config.dataPath === undefined ? [] : [`DATA_PATH ${quoteLiteral(config.dataPath)}`]),
      ...(config.metadataSchema === undefined ? [] : [`METADATA_SCHEMA ${quoteLiteral(config.metadataSchema)}`]),
      ...extra,
    ];
    const clause = options.length === 0 ? "" : ` (${options.join(", ")})`;
    await connection.run(`ATTACH ${quoteLiteral(`ducklake:${catalog}`)} AS ${quoteIdentifier(alias)}${clause}`);
    await connection.run(`USE ${quoteIdentifier(alias)}`);
    return new PlainReader(instance, connection, alias);
  }

  /** A second connection to the same instance. */
  connect(): Promise<DuckDBConnection> {
    return this.instance.connect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.closeSync();
    this.instance.closeSync();
  }
}

function s3Secret(s3: NonNullable<LakeConfig["s3"]>): string {
  const { accessKeyId = "", secretAccessKey = "", endpoint = "", region = "" } = s3;
  return (
    `CREATE SECRET (TYPE s3, KEY_ID ${quoteLiteral(accessKeyId)}, SECRET ${quoteLiteral(secretAccessKey)}, ` +
    `ENDPOINT ${quoteLiteral(endpoint)}, REGION ${quoteLiteral(region)}, USE_SSL false, URL_STYLE 'path')`
  );
}
