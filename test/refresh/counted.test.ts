import { expect, test } from "vitest";
import { SharedLake } from "../setup/shared-lake.js";

/** The tables of counted values beside a view's physical table: made, changed, mended and dropped with the view. */
const shared = new SharedLake(
  { engine: { threads: 1 } },
  "CREATE TABLE t(k INTEGER, v INTEGER)",
  "INSERT INTO t SELECT i % 3, i % 5 FROM range(30) r(i)",
);

const tables = async () =>
  (
    await shared.rows(
      "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'ivm' AND table_name LIKE '%_data_%' ORDER BY 1",
    )
  ).flat();

const QUERY =
  "SELECT k, count(DISTINCT v) AS n, sum(DISTINCT v) AS s, count(DISTINCT v) FILTER (WHERE v > 2) AS f FROM t GROUP BY k";

async function refreshed(query: string): Promise<(string | null)[]> {
  const result = await shared.lake.refresh();
  expect(result.views.flatMap((view) => (view.error === null ? [] : [view.error.message]))).toEqual([]);
  expect(await shared.rows("FROM main.v ORDER BY ALL")).toEqual(await shared.rows(`${query} ORDER BY ALL`));
  return result.views.map((view) => view.strategy);
}

test("a view's counted values are kept with it", async () => {
  await shared.lake.define([{ name: "v", sql: QUERY }]);
  await refreshed(QUERY);
  expect(await tables()).toEqual(["counted1_data_v", "counted2_data_v"]);
  expect(await shared.rows("FROM ivm.counted1_data_v ORDER BY ALL LIMIT 2")).toEqual([
    [0, 0, 2n],
    [0, 1, 2n],
  ]);
  await shared.rows("DELETE FROM t WHERE k = 0 AND v = 1");
  await shared.rows("INSERT INTO t VALUES (0, 9), (NULL, 9), (NULL, 9), (7, NULL)");
  expect(await refreshed(QUERY)).toEqual(["incremental"]);
  expect(await shared.rows("SELECT * FROM ivm.counted1_data_v WHERE value IN (1, 9) ORDER BY ALL")).toEqual([
    [0, 9, 1n],
    [1, 1, 2n],
    [2, 1, 2n],
    [null, 9, 2n],
  ]);
  expect(
    (await shared.lake.explain("v")).plan?.children[0]?.strategy ?? (await shared.lake.explain("v")).plan?.strategy,
  ).toMatch(/distinct values counted/);
});

test("counts that something else has altered are mended by a recompute", async () => {
  await shared.rows("DELETE FROM ivm.counted1_data_v WHERE key1 = 1 AND value = 2");
  await shared.rows("DELETE FROM t WHERE k = 1 AND v = 2");
  expect(await refreshed(QUERY)).toEqual(["recompute"]);
  await shared.rows("INSERT INTO t VALUES (1, 2)");
  expect(await refreshed(QUERY)).toEqual(["incremental"]);
});

test("a definition with other distinct values has other tables", async () => {
  const one = "SELECT k, count(DISTINCT v % 2) AS n FROM t GROUP BY k";
  await shared.lake.define([{ name: "v", sql: one }]);
  await refreshed(one);
  expect(await tables()).toEqual(["counted1_data_v"]);
  await shared.rows("INSERT INTO t VALUES (5, 1), (5, 3)");
  expect(await refreshed(one)).toEqual(["incremental"]);

  // The same columns, other rows.
  const other = "SELECT k, count(DISTINCT v % 2) FILTER (WHERE v > 2) AS n FROM t GROUP BY k";
  await shared.lake.define([{ name: "v", sql: other }]);
  await refreshed(other);
  await shared.rows("DELETE FROM t WHERE v = 3");
  expect(await refreshed(other)).toEqual(["incremental"]);
});

test("values that the lake can't hold are read anew", async () => {
  const unions = "SELECT k, count(DISTINCT union_value(n := v)) AS n FROM t GROUP BY k";
  await shared.lake.define([{ name: "v", sql: unions }]);
  await refreshed(unions);
  expect(await tables()).toEqual([]);
});

test("a view that is always recomputed counts nothing", async () => {
  await shared.lake.define([{ name: "v", sql: QUERY, refresh: "full" }]);
  await refreshed(QUERY);
  expect(await tables()).toEqual([]);
});

test("the tables go with the view", async () => {
  await shared.lake.define([{ name: "v", sql: QUERY }]);
  await refreshed(QUERY);
  expect(await tables()).toHaveLength(2);
  await shared.lake.define([], { drop: true });
  expect(await tables()).toEqual([]);
});
