import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import type { RefreshMode } from "../../src/types.js";
import { tempLake } from "../setup/lake.js";

const ROWS = 60_000;

async function scene() {
  const place = await tempLake();
  const lake = await open(place.config);
  const connection = await lake.connect();
  const query = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJS();
  await query(`CREATE TABLE items AS SELECT range AS id, range % 100 AS kind, range % 7 AS n FROM range(${ROWS})`);
  const define = (refresh: RefreshMode) =>
    lake.define([
      { name: "totals", sql: "SELECT kind, sum(n) AS n, count(*) AS items FROM items GROUP BY kind", refresh },
    ]);
  const close = async (): Promise<void> => {
    connection.closeSync();
    await lake.close();
    await place.cleanup();
  };
  return { lake, query, define, [Symbol.asyncDispose]: close };
}

/** Puts what a quiet machine measures in place of what this one did, so that the choice does not hang on its load. */
async function settle(query: (sql: string) => Promise<Record<string, unknown>[]>): Promise<void> {
  const [row] = await query("SELECT costs FROM ivm.progress");
  const costs = JSON.parse(row?.["costs"] as string) as { measurements: { strategy: string; ms: number }[] };
  const measurements = costs.measurements.map((past) => ({ ...past, ms: past.strategy === "incremental" ? 90 : 80 }));
  expect(measurements).toHaveLength(2);
  await query(`UPDATE ivm.progress SET costs = '${JSON.stringify({ ...costs, measurements })}'`);
}

test("a change of everything is recomputed, one of little is not, and both are written down", async () => {
  await using place = await scene();
  const { lake, query, define } = place;
  await define("auto");
  await lake.refresh();
  expect((await lake.explain("totals")).cost).toBeNull();

  await query("UPDATE items SET n = n + 1 WHERE id < 30");
  const little = (await lake.explain("totals")).cost;
  expect(little).toMatchObject({ choice: "incremental", trial: false, changedRows: 60, rows: ROWS });
  expect((await lake.refresh()).views[0]).toMatchObject({ strategy: "incremental", reason: null });

  await settle(query);
  await query("UPDATE items SET n = n + 1");
  const everything = (await lake.explain("totals")).cost;
  expect(everything?.choice).toBe("recompute");
  // Those that the catalog keeps itself are not told apart from those that it kept before.
  expect(Math.abs((everything?.changedRows ?? 0) - 2 * ROWS)).toBeLessThanOrEqual(60);
  expect(Math.abs((everything?.rows ?? 0) - ROWS)).toBeLessThanOrEqual(60);
  expect(everything?.recompute.ms).toBeLessThan(everything?.incremental.ms ?? 0);
  const [view] = (await lake.refresh()).views;
  expect(view).toMatchObject({ strategy: "recompute", reason: { code: "cost" } });
  expect((await lake.verify())[0]).toMatchObject({ ok: true });

  const runs =
    await query(`SELECT strategy, terms->'cost'->>'choice' AS choice, CAST(terms->'cost'->>'changedRows' AS BIGINT) AS changed
    FROM (SELECT strategy, terms::JSON AS terms, finished_at FROM ivm.runs) ORDER BY finished_at`);
  expect(runs.slice(1)).toEqual([
    { strategy: "incremental", choice: "incremental", changed: 60n },
    { strategy: "recompute", choice: "recompute", changed: BigInt(everything?.changedRows ?? 0) },
  ]);
  await query("UPDATE items SET n = n + 1 WHERE id < 30");
  expect((await lake.explain("totals")).cost?.incremental.basis).toBe("measured");
});

test("`refresh: incremental` goes by the rules whatever it costs, and says so", async () => {
  await using place = await scene();
  const { lake, query, define } = place;
  await define("incremental");
  await lake.refresh();
  await query("UPDATE items SET n = n + 1");
  expect((await lake.explain("totals")).cost).toMatchObject({ choice: "incremental", changedRows: 2 * ROWS });
  expect((await lake.refresh()).views[0]).toMatchObject({ strategy: "incremental" });
});
