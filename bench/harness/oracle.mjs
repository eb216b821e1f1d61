/**
 * What views should hold: DuckDB over copies of the base tables at a snapshot, in tables of a database of its own. It
 * shares nothing with the product.
 */
import { LAKE, quote, quoteName } from "./plain.mjs";

const ORACLE = "oracle";

/**
 * The rows in which views differ from their queries at a snapshot, as text; none where all is right.
 * @param queries all views with their SQL, in the order in which they read each other.
 * @param only the names of those that are compared; all where left out.
 */
export async function differences(lake, queries, snapshot, only) {
  await lake.run(`ATTACH IF NOT EXISTS ':memory:' AS ${ORACLE}`);
  try {
    await copyTables(lake, snapshot);
    await lake.run(`USE ${ORACLE}`);
    const found = [];
    for (const { name, sql } of queries) {
      await lake.run(`CREATE OR REPLACE TABLE ${ORACLE}.main.${quoteName(name)} AS ${sql}`);
      if (only !== undefined && !only.includes(name)) continue;
      found.push(
        ...(await compare(lake, name, `${LAKE}.main.${quoteName(name)}`, `${ORACLE}.main.${quoteName(name)}`)),
      );
    }
    return found;
  } finally {
    await lake.run(`USE ${LAKE}`, `DETACH ${ORACLE}`);
  }
}

async function copyTables(lake, snapshot) {
  const tables = await lake.rows(
    `SELECT table_name AS name FROM duckdb_tables() WHERE database_name = ${quote(LAKE)} AND schema_name = 'main'`,
  );
  for (const { name } of tables) {
    const path = `${LAKE}.main.${quoteName(name)}`;
    await lake.run(`CREATE TABLE ${ORACLE}.main.${quoteName(name)} AS FROM ${path} AT (VERSION => ${snapshot})`);
  }
}

/** Rows too many and rows missing of one relation against another, as bags. */
export async function compare(lake, what, actual, expected) {
  const found = [];
  for (const [word, left, right] of [
    ["too many", actual, expected],
    ["missing", expected, actual],
  ]) {
    const rows = await lake.rows(
      `SELECT row(COLUMNS(*)::VARCHAR)::VARCHAR AS r FROM (FROM ${left} EXCEPT ALL FROM ${right}) ORDER BY ALL LIMIT 3`,
    );
    found.push(...rows.map(({ r }) => `${what}: ${word} ${r}`));
  }
  return found;
}
