/**
 * A lake as any other program sees it: DuckDB and its extensions. Of the product only the loader of extensions is
 * used, because it knows where they are.
 */
import { DuckDBInstance } from "@duckdb/node-api";
import { loadExtension } from "../../dist/engine/extensions.js";

/** The name under which the lake is attached. */
export const LAKE = "other";

export const quote = (text) => `'${String(text).replaceAll("'", "''")}'`;
export const quoteName = (text) => `"${String(text).replaceAll('"', '""')}"`;

/** An instance of its own with the lake attached and in use. Close it; a catalog in a file is locked until then. */
export async function attachLake(place, settings = {}) {
  const plain = await openPlain(settings);
  try {
    const catalog = place.catalog.replace(/^ducklake:/, "");
    await loadExtension(plain.connection, "ducklake");
    if (catalog.startsWith("postgres:")) await loadExtension(plain.connection, "postgres_scanner");
    if (catalog.startsWith("sqlite:")) await loadExtension(plain.connection, "sqlite_scanner");
    if (place.s3 !== undefined) await useS3(plain, place.s3);
    const options = [
      ...(place.dataPath === undefined ? [] : [`DATA_PATH ${quote(place.dataPath)}`]),
      ...(place.metadataSchema === undefined ? [] : [`METADATA_SCHEMA ${quote(place.metadataSchema)}`]),
    ];
    await plain.run(
      `ATTACH ${quote(`ducklake:${catalog}`)} AS ${LAKE}${options.length === 0 ? "" : ` (${options.join(", ")})`}`,
      `USE ${LAKE}`,
      // Old versions are read, and these two rules read them wrongly after a rewrite of files.
      "SET disabled_optimizers = 'statistics_propagation,compressed_materialization'",
    );
    return plain;
  } catch (error) {
    plain.close();
    throw error;
  }
}

/** DuckDB with nothing attached. */
export async function openPlain(settings = {}) {
  const instance = await DuckDBInstance.create(":memory:", settings);
  return new Plain(instance, await instance.connect());
}

export async function useS3(plain, s3) {
  await loadExtension(plain.connection, "httpfs");
  await plain.run(
    `CREATE OR REPLACE SECRET (TYPE s3, KEY_ID ${quote(s3.accessKeyId)}, SECRET ${quote(s3.secretAccessKey)},
     ENDPOINT ${quote(s3.endpoint)}, REGION ${quote(s3.region)}, USE_SSL false, URL_STYLE 'path')`,
  );
}

class Plain {
  constructor(instance, connection) {
    this.instance = instance;
    this.connection = connection;
  }

  async run(...statements) {
    for (const sql of statements) await this.connection.run(sql);
  }

  async rows(sql) {
    return (await this.connection.runAndReadAll(sql)).getRowObjectsJS();
  }

  async value(sql) {
    const [row] = await this.rows(sql);
    return row === undefined ? undefined : Object.values(row)[0];
  }

  /** One of the catalog's own tables. */
  metadata(place, table) {
    const schema = place.metadataSchema === undefined ? "" : `${quoteName(place.metadataSchema)}.`;
    return `"__ducklake_metadata_${LAKE}".${schema}${table}`;
  }

  close() {
    this.connection.closeSync();
    this.instance.closeSync();
  }
}
