import type { DuckDBConnection } from "@duckdb/node-api";
import { quotePath } from "../sql/quote.js";
import type { DemoView } from "./views.js";

const SCRATCH = "demo_recompute";

/**
 * Times what one would do without incremental refresh: run each view's whole query and write the result as a table of
 * the same lake, `CREATE OR REPLACE TABLE … AS`. A view over a view reads the upstream's recomputed table. The tables
 * lie in a scratch schema that is dropped again; neither making nor dropping the schema is counted.
 *
 * @returns Milliseconds by view.
 */
export async function timeRecompute(
  connection: DuckDBConnection,
  lake: string,
  views: readonly DemoView[],
): Promise<ReadonlyMap<string, number>> {
  const elapsed = new Map<string, number>();
  const schema = quotePath([lake, SCRATCH]);
  await connection.run(`CREATE SCHEMA ${schema}`);
  try {
    // Names are looked up in the scratch schema first, so that a definition runs as it is written.
    await connection.run(`SET search_path = '${lake}.${SCRATCH},${lake}.main'`);
    for (const view of views) {
      const start = performance.now();
      await connection.run(`CREATE OR REPLACE TABLE ${quotePath([lake, SCRATCH, view.name])} AS ${view.sql}`);
      elapsed.set(view.name, performance.now() - start);
    }
  } finally {
    await connection.run(`SET search_path = '${lake}.main'`);
    await connection.run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  }
  return elapsed;
}
