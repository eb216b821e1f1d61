/** A real dbt with DuckDB, from pip, and the small project that the tests take over. */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DuckDBInstance } from "@duckdb/node-api";
import { execa } from "execa";
import { folder } from "../project/files.js";
import { pythonEnvironment } from "../setup/python.js";

export const RAW = [
  "CREATE SCHEMA raw",
  "CREATE TABLE raw.orders AS SELECT range::INTEGER AS id, (range % 5)::INTEGER AS customer_id, CASE WHEN range % 7 = 0 THEN NULL ELSE range * 1.25 END::DOUBLE AS amount FROM range(40)",
  "CREATE TABLE raw.\"customer list\" AS SELECT range::INTEGER AS id, ['dk', 'se', 'no'][1 + range % 3] AS country FROM range(5)",
];

/** A copy of the project with its database, where dbt has run this command (`compile`, `build`). */
export async function dbtProject(verb: string, ...options: readonly string[]): Promise<string> {
  const bin = await pythonEnvironment("dbt", new URL("requirements.txt", import.meta.url));
  const directory = await folder();
  await cp(fileURLToPath(new URL("project", import.meta.url)), directory, { recursive: true });
  await database(directory, RAW);
  const env = { DBT_SEND_ANONYMOUS_USAGE_STATS: "false", NO_COLOR: "1" };
  const run = async (...words: readonly string[]): Promise<void> => {
    const args = [...words, "--profiles-dir", "."];
    const { exitCode, all } = await execa(join(bin, "dbt"), args, { cwd: directory, env, all: true, reject: false });
    if (exitCode !== 0) throw new Error(`dbt ${words[0]} ended with exit code ${exitCode}:\n${all}`);
  };
  await run(verb, ...options);
  // A build leaves the models that it excludes without their SQL.
  if (options.length > 0) await run("compile");
  return directory;
}

/** Runs statements in the database that dbt writes; gives the rows of the last one. */
export async function database(directory: string, statements: readonly string[]): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(join(directory, "shop.duckdb"));
  const connection = await instance.connect();
  try {
    let rows: unknown[][] = [];
    for (const statement of statements) rows = (await connection.runAndReadAll(statement)).getRowsJson();
    return rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
