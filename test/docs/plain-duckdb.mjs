/** Runs SQL in DuckDB with its DuckLake extension, in the present folder, and nothing of this project but the installer. */
import { DuckDBInstance } from "@duckdb/node-api";
import { loadExtension } from "../../dist/engine/extensions.js";

const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
await loadExtension(connection, "ducklake");
const reader = await connection.runAndReadAll(process.argv[2]);
console.log([reader.columnNames(), ...reader.getRowsJson()].map((row) => row.join(" | ")).join("\n"));
connection.closeSync();
instance.closeSync();
