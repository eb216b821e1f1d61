import { afterEach, expect, test } from "vitest";
import { type Lake, open } from "../../src/index.js";
import { LAYOUT_VERSION, migrate } from "../../src/view/migrations.js";
import { StateTables } from "../../src/view/state.js";
import { CatalogLake } from "../catalog/lake.js";
import { tempLake } from "../setup/lake.js";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The tables as the first version made them. */
const FIRST_LAYOUT = [
  "DROP TABLE ivm.identity",
  "DROP TABLE ivm.logs",
  "DROP TABLE ivm.segments",
  "DROP TABLE ivm.retired",
  "DROP TABLE ivm.consumers",
  "CREATE TABLE ivm.cursors (view VARCHAR, source VARCHAR, snapshot BIGINT, table_id BIGINT, table_uuid VARCHAR)",
  `INSERT INTO ivm.cursors SELECT view, c ->> 'source', CAST(c ->> 'snapshot' AS BIGINT), CAST(c ->> 'tableId' AS BIGINT), c ->> 'tableUuid'
   FROM (SELECT view, unnest(from_json(cursors, '["JSON"]')) AS c FROM ivm.progress)`,
  "ALTER TABLE ivm.progress DROP COLUMN cursors",
  "ALTER TABLE ivm.progress DROP COLUMN instant",
  "ALTER TABLE ivm.progress DROP COLUMN costs",
  "ALTER TABLE ivm.runs DROP COLUMN instant",
  "ALTER TABLE ivm.runs DROP COLUMN from_horizon",
  "ALTER TABLE ivm.runs DROP COLUMN started_at",
  "ALTER TABLE ivm.runs DROP COLUMN error",
  "UPDATE ivm.layout SET version = 1",
];

/** A lake whose state schema is that of the first version, with two views that were refreshed. */
async function oldLake(): Promise<{ lake: Lake; sql: (statement: string) => Promise<unknown[][]> }> {
  const temp = await tempLake();
  cleanups.push(() => temp.cleanup());
  const writer = await open(temp.config);
  const connection = await writer.connect();
  await connection.run("CREATE TABLE t (g INTEGER, v INTEGER)");
  await connection.run("CREATE TABLE u (g INTEGER)");
  await connection.run("INSERT INTO t SELECT i % 3, i FROM range(30) r(i)");
  await connection.run("INSERT INTO u VALUES (1)");
  await writer.define([
    { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" },
    { name: "joined", sql: "SELECT t.v FROM t JOIN u USING (g)" },
  ]);
  await writer.refresh();
  for (const statement of FIRST_LAYOUT) await connection.run(statement);
  connection.closeSync();
  await writer.close();
  const lake = await open(temp.config);
  cleanups.push(() => lake.close());
  const reader = await lake.connect();
  cleanups.push(async () => reader.closeSync());
  return { lake, sql: async (statement) => (await reader.runAndReadAll(statement)).getRowsJS() };
}

test("the first layout is read as it is, and brought up to date by the first call that writes", async () => {
  const { lake, sql } = await oldLake();
  const before = await lake.status();
  expect(before.map(({ view, state }) => [view, state])).toEqual([
    ["joined", "fresh"],
    ["sums", "fresh"],
  ]);
  const runs = await lake.history();
  expect(runs.map(({ view, strategy, from, error }) => [view, strategy, from, error])).toEqual([
    ["sums", "initial", null, null],
    ["joined", "initial", null, null],
  ]);
  expect(Date.now() - Date.parse(runs[0]?.startedAt ?? "")).toBeLessThan(60_000);
  expect(await sql("SELECT version FROM ivm.layout")).toEqual([[1]]);

  await sql("INSERT INTO t VALUES (1, 1000)");
  const result = await lake.refresh();
  expect(result.views.map(({ strategy, error }) => [strategy, error])).toEqual([
    ["incremental", null],
    ["incremental", null],
  ]);
  expect(await sql("SELECT version FROM ivm.layout")).toEqual([[3]]);
  expect((await lake.verify()).every(({ ok }) => ok)).toBe(true);
});

test("apply brings it up to date too, once", async () => {
  const { lake, sql } = await oldLake();
  await lake.define([{ name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" }], { drop: true });
  expect(await sql("SELECT version, applies FROM ivm.layout")).toEqual([[3, 2n]]);
  await sql("INSERT INTO t VALUES (7, 7)");
  const [view] = (await lake.refresh()).views;
  expect(view?.strategy).toBe("incremental");
});

test("a layout of the future is refused by every call, and nothing is written", async () => {
  const { lake, sql } = await oldLake();
  await sql("UPDATE ivm.layout SET version = 99");
  const [[before]] = (await sql("SELECT max(snapshot_id) FROM lake.snapshots()")) as [[bigint]];
  for (const call of [() => lake.refresh(), () => lake.status(), () => lake.define([]), () => lake.verify()]) {
    await expect(call()).rejects.toMatchObject({ code: "state_too_new" });
  }
  expect(await sql("SELECT max(snapshot_id) FROM lake.snapshots()")).toEqual([[before]]);
});

test("a step that another process did meanwhile is a conflict, so that whoever lost begins anew and finds it done", async () => {
  await using lake = await CatalogLake.open();
  const tables = new StateTables(lake.engine);
  await tables.prepare(lake.session);
  // As seen by a process that had looked before the other one committed.
  for (const seen of [0, 1, 2]) {
    await expect(migrate(lake.session, tables, seen)).rejects.toMatchObject({ code: "moved", retryable: true });
  }
  await tables.upgrade(lake.session);
  expect((await tables.read(lake.session)).layout).toBe(LAYOUT_VERSION);
});
