/** Projects with a real lake, and other writers that change it between two commands. */
import { join } from "node:path";
import { open } from "../../src/index.js";
import { folder } from "../project/files.js";

export const CONFIG = "lake:\n  catalog: lake.ducklake\n  data_path: lake_files\n";

export const ORDERS = [
  "CREATE TABLE customers (id INTEGER, name VARCHAR)",
  "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Ben')",
  "CREATE TABLE orders (id INTEGER, customer_id INTEGER, amount DECIMAL(10, 2))",
  "INSERT INTO orders VALUES (1, 1, 10.00), (2, 1, 2.50), (3, 2, 7.00)",
];

export const VIEWS = {
  "views/spent.sql":
    "/* ---\nprimary_key: name\n--- */\nSELECT name, count(*) AS orders, sum(amount) AS amount\nFROM orders JOIN customers ON customer_id = customers.id\nGROUP BY name",
  "views/big_spenders.sql": "SELECT name, amount FROM spent WHERE amount > 10",
};

/** A project in a temporary folder, whose lake these statements have made. */
export async function project(files: Readonly<Record<string, string>>, statements: readonly string[]): Promise<string> {
  const directory = await folder({ "ducklake-ivm.yaml": CONFIG, "views/.keep": "", ...files });
  await sql(directory, ...statements);
  return directory;
}

/** Runs statements in a project's lake and closes it again: a DuckDB file serves one process at a time. */
export async function sql(directory: string, ...statements: readonly string[]): Promise<Record<string, unknown>[]> {
  const lake = await open({ catalog: join(directory, "lake.ducklake"), dataPath: join(directory, "lake_files") });
  try {
    const connection = await lake.connect();
    try {
      let rows: Record<string, unknown>[] = [];
      for (const statement of statements) {
        rows = (await connection.runAndReadAll(statement)).getRowObjectsJson() as Record<string, unknown>[];
      }
      return rows;
    } finally {
      connection.closeSync();
    }
  } finally {
    await lake.close();
  }
}
