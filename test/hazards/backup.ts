/** Backups of catalogs, taken and put back as an operator would, while programs have the lake open. */
import { execFile } from "node:child_process";
import { cp, rename, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import { catalogFile } from "../../src/engine/catalog-copy.js";
import { loadExtension } from "../../src/engine/extensions.js";
import { quoteIdentifier, quoteLiteral } from "../../src/sql/quote.js";
import type { LakeConfig } from "../../src/types.js";

export interface Backup {
  restore(): Promise<void>;
}

export function backUp(config: LakeConfig): Promise<Backup> {
  const file = catalogFile(config.catalog);
  if (file === undefined) return backUpSchema(config.catalog, config.metadataSchema ?? "");
  return config.catalog.startsWith("sqlite:") ? backUpSqlite(file) : backUpFile(file);
}

/** SQLite's own way, which takes the file's locks and writes into the file that programs have open. */
async function backUpSqlite(file: string): Promise<Backup> {
  const program = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))";
  const copy = async (from: string, to: string): Promise<void> => {
    await promisify(execFile)("python3", ["-c", program, from, to]);
  };
  await copy(file, `${file}.backup`);
  return { restore: () => copy(`${file}.backup`, file) };
}

/** DuckDB keeps its file locked, so another file with its log comes in its place. */
async function backUpFile(file: string): Promise<Backup> {
  const endings = ["", ".wal"];
  // By another process: where this one closes the file, the lock that DuckDB holds on it ends.
  const copy = (from: string, to: string) => promisify(execFile)("cp", [from, to]);
  for (const ending of endings) await copy(file + ending, `${file}.backup${ending}`);
  return {
    async restore() {
      await rm(`${file}.wal`);
      for (const ending of endings) {
        await cp(`${file}.backup${ending}`, `${file}.new${ending}`);
        await rename(`${file}.new${ending}`, file + ending);
      }
    },
  };
}

/** As a dump that is taken and read back: the tables are others afterwards, and have the same names and rows. */
async function backUpSchema(catalog: string, schema: string): Promise<Backup> {
  const copy = (from: string, to: string): Promise<void> =>
    executePostgres(
      catalog,
      `DROP SCHEMA IF EXISTS ${quoteIdentifier(to)} CASCADE;
       CREATE SCHEMA ${quoteIdentifier(to)};
       DO $$ DECLARE t text; BEGIN
         FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = ${quoteLiteral(from)} LOOP
           EXECUTE format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL)', ${quoteLiteral(to)}, t, ${quoteLiteral(from)}, t);
           EXECUTE format('INSERT INTO %I.%I SELECT * FROM %I.%I', ${quoteLiteral(to)}, t, ${quoteLiteral(from)}, t);
         END LOOP;
       END $$`,
    );
  await copy(schema, `${schema}_backup`);
  return { restore: () => copy(`${schema}_backup`, schema) };
}

/** Runs statements in the server of a PostgreSQL catalog, in one transaction. */
export async function executePostgres(catalog: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  await loadExtension(connection, "postgres_scanner");
  await connection.run(`ATTACH ${quoteLiteral(catalog.replace(/^postgres:/, ""))} AS server (TYPE postgres)`);
  await connection.run(`CALL postgres_execute('server', ${quoteLiteral(sql)})`);
  connection.closeSync();
  instance.closeSync();
}
