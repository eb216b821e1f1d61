/** What a refresh reads: nothing of unchanged sources, and of changed ones only the columns that the view uses. */

import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { viewOf, World } from "./world.js";

/** A lake with no inlined data, so that every row is in a file of its table's own folder. */
async function start(data: "folder" | "s3", ...statements: readonly string[]): Promise<World> {
  const world = await World.start({ catalog: "postgres", data });
  await world.sql(`CALL "${world.alias}".set_option('data_inlining_row_limit', 0)`, ...statements);
  return world;
}

/** Does something while a table's files are not there: who opens one then fails. */
async function withoutFiles<Result>(world: World, table: string, work: () => Promise<Result>): Promise<Result> {
  const folder = join(world.config.dataPath ?? "", "main", table);
  expect((await readdir(folder)).length).toBeGreaterThan(0);
  await rename(folder, `${folder}.away`);
  try {
    return await work();
  } finally {
    await rename(`${folder}.away`, folder);
  }
}

test("terms of unchanged sources are dropped before a file of theirs is opened", async () => {
  await using world = await start(
    "folder",
    "CREATE TABLE a (id INTEGER, v INTEGER, note VARCHAR)",
    "CREATE TABLE b (id INTEGER, w INTEGER)",
    "CREATE TABLE c (id INTEGER, x INTEGER)",
    "INSERT INTO a SELECT i, i % 3, 'note' FROM range(50) r(i)",
    "INSERT INTO b SELECT i, i % 5 FROM range(50) r(i)",
    "INSERT INTO c SELECT i, i % 7 FROM range(50) r(i)",
  );
  await world.build({
    joined: "SELECT a.v, b.w, c.x FROM a JOIN b USING (id) JOIN c USING (id)",
    union_of: "SELECT id, v FROM a UNION ALL SELECT id, w FROM b UNION ALL SELECT id, x FROM c",
    only_c: "SELECT x, count(*) AS n FROM c GROUP BY x",
  });

  // Only a changed: of the join one term of three runs, of the union b and c are not even opened.
  await world.sql("INSERT INTO a VALUES (7, 9, 'new'), (8, 9, 'new')");
  const options = { views: ["union_of", "only_c"] };
  let result = await withoutFiles(world, "b", () => withoutFiles(world, "c", () => world.lake.refresh(options)));
  expect(viewOf(result, "union_of")).toMatchObject({ error: null, terms: { total: 3, run: 1, skipped: 2 } });
  expect(viewOf(result, "only_c")).toMatchObject({ status: "unchanged", terms: { total: 1, run: 0, skipped: 1 } });
  result = await world.refresh();
  expect(viewOf(result, "joined").terms).toEqual({ total: 3, run: 1, skipped: 2 });
  expect(viewOf(result, "joined").sources.map(({ source, changed }) => [source, changed])).toEqual([
    ["main.a", true],
    ["main.b", false],
    ["main.c", false],
  ]);

  // A change of a column that no view uses has no delta, so that no term is left to read b and c.
  await world.sql("UPDATE a SET note = 'other' WHERE id < 10");
  result = await withoutFiles(world, "b", () => withoutFiles(world, "c", () => world.lake.refresh()));
  expect(viewOf(result, "joined")).toMatchObject({ error: null, terms: { total: 3, run: 0, skipped: 3 } });

  // Two changed sources run two terms.
  await world.sql("DELETE FROM b WHERE id = 7", "DELETE FROM c WHERE id = 8");
  result = await world.refresh();
  expect(viewOf(result, "joined").terms).toEqual({ total: 3, run: 2, skipped: 1 });
  const explained = await world.lake.explain("joined");
  expect(explained.terms.map((term) => [term.source, term.status, term.sql])).toEqual([
    ["main.a", "skipped", null],
    ["main.b", "skipped", null],
    ["main.c", "skipped", null],
  ]);

  // The proof of the proof: whoever does open a file that is away fails.
  await world.sql("INSERT INTO a VALUES (9, 9, 'new')");
  const failed = await withoutFiles(world, "b", () => world.lake.refresh({ views: ["joined"] }));
  expect(viewOf(failed, "joined").status).toBe("failed");
  await world.refresh();
});

test("object storage sees no request for unchanged sources and few bytes of changed ones", async () => {
  await using world = await start(
    "s3",
    "CREATE TABLE wide (id INTEGER, v INTEGER, ballast VARCHAR)",
    "CREATE TABLE other (id INTEGER)",
    "INSERT INTO wide SELECT i, i % 3, md5(i::VARCHAR) || md5((i + 1)::VARCHAR) FROM range(1000) r(i)",
    "INSERT INTO other SELECT i FROM range(1000) r(i)",
  );
  await world.build({
    sums: "SELECT v, sum(id) AS s FROM wide GROUP BY v",
    both: "SELECT id FROM wide UNION ALL SELECT id FROM other",
  });
  await world.sql(
    "INSERT INTO wide SELECT i, i % 3, md5(i::VARCHAR) || md5((i + 1)::VARCHAR) || md5((i + 2)::VARCHAR) FROM range(50000) r(i)",
  );
  const size = await world.value(`SELECT max(data_file_size_bytes) FROM ducklake_list_files('${world.alias}', 'wide')`);

  // A lake of its own, whose caches know no file yet.
  await using lake = await open(world.config);
  const connection = await lake.connect();
  await connection.run("CALL enable_logging('HTTP')");
  const result = await lake.refresh();
  expect(viewOf(result, "both").terms).toEqual({ total: 2, run: 1, skipped: 1 });
  await connection.run("CALL disable_logging()");
  const wide = await traffic(connection, "wide");
  expect(wide.requests).toBeGreaterThan(0);
  expect(await traffic(connection, "other")).toEqual({ requests: 0, bytes: 0 });
  // Two views read the new file, each without the column that makes up nearly all of it.
  expect(wide.bytes).toBeLessThan(Number(size) / 3);
  connection.closeSync();
  await world.refresh();
});

/** Requests for the files of a table, and the bytes of their answers. */
async function traffic(connection: DuckDBConnection, table: string): Promise<{ requests: number; bytes: number }> {
  const reader = await connection.runAndReadAll(
    `SELECT count(*)::INTEGER, coalesce(sum(TRY_CAST(response.headers['Content-Length'] AS BIGINT)), 0)::INTEGER
     FROM duckdb_logs_parsed('HTTP') WHERE request.type = 'GET' AND contains(request.url, '/main/${table}/')`,
  );
  const [[requests, bytes] = []] = reader.getRowsJS();
  return { requests: Number(requests), bytes: Number(bytes) };
}
