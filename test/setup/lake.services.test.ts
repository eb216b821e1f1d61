import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { loadExtension } from "../../src/engine/extensions.js";
import { quoteLiteral } from "../../src/sql/quote.js";
import type { LakeConfig } from "../../src/types.js";
import { LAKE_KINDS, tempLake } from "./lake.js";

/** With plain DuckDB, because the helper must hold whatever the product's own way to a lake does. */
async function attach(config: LakeConfig): Promise<DuckDBConnection> {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  for (const name of ["ducklake", "sqlite_scanner", "postgres_scanner", "httpfs"] as const) {
    await loadExtension(connection, name);
  }
  if (config.s3 !== undefined) {
    const { accessKeyId = "", secretAccessKey = "", endpoint = "", region = "" } = config.s3;
    await connection.run(
      `CREATE SECRET (TYPE s3, KEY_ID ${quoteLiteral(accessKeyId)}, SECRET ${quoteLiteral(secretAccessKey)},
       ENDPOINT ${quoteLiteral(endpoint)}, REGION ${quoteLiteral(region)}, USE_SSL false, URL_STYLE 'path')`,
    );
  }
  const options = [`DATA_PATH ${quoteLiteral(config.dataPath ?? "")}`];
  if (config.metadataSchema !== undefined) options.push(`METADATA_SCHEMA ${quoteLiteral(config.metadataSchema)}`);
  await connection.run(`ATTACH ${quoteLiteral(`ducklake:${config.catalog}`)} AS lake (${options.join(", ")})`);
  await connection.run("USE lake");
  return connection;
}

async function values(connection: DuckDBConnection, sql: string): Promise<unknown[]> {
  return (await connection.runAndReadAll(sql)).getRowsJson().map(([value]) => value);
}

describe.each(LAKE_KINDS)("a lake with its catalog in $catalog and its data in $data", (kind) => {
  test("is empty, keeps Parquet files where it should, and shares nothing with another one", async () => {
    await using first = await tempLake(kind);
    await using second = await tempLake(kind);
    const one = await attach(first.config);
    expect(await values(one, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake'")).toEqual([]);
    await one.run("CREATE TABLE t AS SELECT range AS id FROM range(1000)");
    expect(await values(one, "SELECT sum(id) FROM t")).toEqual(["499500"]);
    const [file] = await values(one, "SELECT data_file FROM ducklake_list_files('lake', 't')");
    expect(String(file)).toContain(first.config.dataPath);

    const two = await attach(second.config);
    expect(await values(two, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake'")).toEqual([]);
    expect(second.config.dataPath).not.toBe(first.config.dataPath);
    for (const connection of [one, two]) {
      await connection.run("USE memory");
      await connection.run("DETACH lake");
      connection.closeSync();
    }
  });
});
