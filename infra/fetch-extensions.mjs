/** Gets the DuckDB extensions that lakes of all kinds need and keeps them for later runs of this user. Needs a build. */
import { DuckDBInstance } from "@duckdb/node-api";
import { loadExtension } from "../dist/engine/extensions.js";

const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
for (const name of ["ducklake", "httpfs", "postgres_scanner", "sqlite_scanner"]) {
  console.log(`${name}: ${await loadExtension(connection, name)}`);
}
connection.closeSync();
instance.closeSync();
