/**
 * What a refresh asks of object storage and of a catalog on a server, counted: each request is a round trip that somebody
 * waits for and pays for, and a file that cannot matter must not be touched.
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { open, type RefreshResult } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";

/** A table of four files, one that the view joins, and one that no view reads. */
const TABLES = [
  "CREATE TABLE items (id BIGINT, product BIGINT, qty BIGINT)",
  ...[0, 1, 2, 3].map(
    (file) => `INSERT INTO items SELECT i, i % 500, i % 9 FROM range(${file * 50_000}, ${(file + 1) * 50_000}) r(i)`,
  ),
  "CREATE TABLE products AS SELECT i AS product, i % 7 AS category FROM range(500) r(i)",
  "CREATE TABLE others AS SELECT i FROM range(1000) r(i)",
];
const BY_CATEGORY =
  "SELECT category, sum(qty) AS qty, count(*) AS n FROM items JOIN products USING (product) GROUP BY category";

/** Requests by method and table, as "requests (files)"; and the catalog's queries. */
interface Requests {
  readonly catalog: number;
  readonly storage: Readonly<Record<string, string>>;
}

async function requestsOf(connection: DuckDBConnection, work: () => Promise<unknown>): Promise<Requests> {
  const rows = async (sql: string): Promise<Record<string, unknown>[]> =>
    (await connection.runAndReadAll(sql)).getRowObjectsJS();
  await connection.run("CALL enable_logging(level => 'debug')");
  await work();
  await connection.run("CALL disable_logging()");
  const found = await rows(`
    SELECT method || ' ' || "table" AS what, count(*) || ' (' || count(DISTINCT url) || ')' AS times FROM (
      SELECT CAST(request.type AS VARCHAR) AS method, split_part(request.url, '?', 1) AS url,
             regexp_extract(url, '([^/]+/[^/]+)/[^/]+$', 1) AS "table"
      FROM duckdb_logs_parsed('HTTP')
    ) GROUP BY method, "table" ORDER BY what`);
  const [queries] = await rows(
    "SELECT CAST(count(*) AS INTEGER) AS n FROM duckdb_logs WHERE type = 'DuckLakeMetadata'",
  );
  return {
    catalog: Number(queries?.["n"]),
    storage: Object.fromEntries(found.map(({ what, times }) => [String(what), String(times)])),
  };
}

/** A process that begins reads definitions and progress; what it keeps of them it does not ask for again. */
const STATE = { "GET ivm/layout": "2 (1)", "GET ivm/progress": "2 (1)", "GET ivm/views": "2 (1)" };
/** The view's own rows are read for the groups that changed; a delete file, the new rows, the progress and the record are written. */
const WRITTEN = { "PUT ivm/data_by_category": "2 (2)", "PUT ivm/progress": "1 (1)", "PUT ivm/runs": "1 (1)" };
const OWN = { ...STATE, "GET ivm/data_by_category": "2 (1)", "GET main/products": "2 (1)", ...WRITTEN };
/** Where every group changes, the file that held them goes as a whole. */
const ALL_GROUPS = { "PUT ivm/data_by_category": "1 (1)" };

interface Scene {
  readonly change: string;
  readonly statements: readonly string[];
  readonly status: RefreshResult["status"];
  readonly requests: Requests;
}

const SCENES: readonly Scene[] = [
  { change: "nothing", statements: [], status: "unchanged", requests: { catalog: 16, storage: STATE } },
  {
    change: "rows that come in a new file: of the four others none is looked at",
    statements: ["INSERT INTO items SELECT i, 1, 1 FROM range(200000, 200050) r(i)"],
    status: "refreshed",
    requests: { catalog: 46, storage: { ...OWN, "GET main/items": "1 (1)", "HEAD main/items": "1 (1)" } },
  },
  {
    change: "rows that one file loses: that file and its delete file are read",
    statements: ["DELETE FROM items WHERE id BETWEEN 60000 AND 60049"],
    status: "refreshed",
    requests: {
      catalog: 45,
      storage: { ...OWN, "GET main/items": "2 (2)", "HEAD main/items": "2 (2)", ...ALL_GROUPS },
    },
  },
  {
    change: "rows of a table that no view reads",
    statements: ["INSERT INTO others SELECT i FROM range(100) r(i)"],
    status: "unchanged",
    requests: { catalog: 16, storage: STATE },
  },
];

test.each(SCENES)("$change", { timeout: 120_000 }, async ({ statements, status, requests }) => {
  await using place = await tempLake({ catalog: "postgres", data: "s3" });
  const config = { ...place.config, engine: { threads: 1 } };
  {
    await using writer = await open(config);
    const connection = await writer.connect();
    for (const sql of TABLES) await connection.run(sql);
    await writer.define([{ name: "by_category", sql: BY_CATEGORY, refresh: "incremental" }]);
    await writer.refresh();
    await writer.refresh();
    for (const sql of statements) await connection.run(sql);
    connection.closeSync();
  }
  // As a process of its own: DuckDB keeps what it has read or written of a file.
  await using lake = await open(config);
  const connection = await lake.connect();
  let result: RefreshResult | undefined;
  const asked = await requestsOf(connection, async () => {
    result = await lake.refresh();
  });
  expect(result?.status).toBe(status);
  expect(asked).toEqual(requests);
  expect(await lake.verify()).toMatchObject([{ ok: true }]);
  connection.closeSync();
});
