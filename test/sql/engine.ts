import { DuckDBInstance } from "@duckdb/node-api";
import { Session } from "../../src/engine/session.js";

/** A connection to plain DuckDB in memory. */
export async function memorySession(): Promise<Session> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  return new Session(await instance.connect());
}
