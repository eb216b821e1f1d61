/** Lakes that share a log root, and names that clash or are hard to write. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { type Lake, open, renderReport } from "../../src/index.js";
import { quoteIdentifier as q } from "../../src/sql/quote.js";
import { tempLake } from "../setup/lake.js";
import { Scene } from "./scene.js";

vi.setConfig({ testTimeout: 300_000 });

async function fill(lake: Lake, value: number): Promise<void> {
  const connection = await lake.connect();
  await connection.run(`CREATE TABLE t AS SELECT ${value} AS v`);
  connection.closeSync();
  await lake.define([{ name: "same", sql: "SELECT v FROM t" }]);
}

async function stateOf(lake: Lake): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const { row } of await lake.state("same")) rows.push(row.v);
  return rows;
}

test("two lakes with one log root: each has its own files, and only one has the manifest", async () => {
  await using one = await tempLake();
  await using two = await tempLake();
  const log = { path: join(one.folder, "logs") };
  await using first = await open({ ...one.config, log });
  await using second = await open({ ...two.config, log });
  await fill(first, 1);
  await fill(second, 2);
  expect((await first.refresh()).warnings).toEqual([]);
  const manifest = (): Promise<string> => readFile(join(log.path, "same", "manifest.json"), "utf8");
  const published = await manifest();
  // The view is refreshed all the same, and its log is right for those who read it through the lake.
  const later = await second.refresh();
  expect(later.status).toBe("refreshed");
  expect(later.warnings.map(({ code }) => code)).toEqual(["log_of_other_lake"]);
  await expect(second.compact()).rejects.toMatchObject({ code: "log_of_other_lake" });
  expect(await manifest()).toBe(published);
  expect([await stateOf(first), await stateOf(second)]).toEqual([[1], [2]]);
  await first.sweep();
  await second.drop("same");
  await second.sweep();
  expect(await manifest()).toBe(published);
  expect(await stateOf(first)).toEqual([1]);
});

test("names that differ only in case are one name", async () => {
  await using scene = await Scene.start();
  const { lake } = scene;
  await scene.sql('CREATE TABLE t("Key" INT, v INT)', "INSERT INTO t VALUES (1, 2)", "CREATE TABLE taken(v INT)");
  const define = (...definitions: { name: string; sql: string }[]) => lake.define(definitions);
  const sql = 'SELECT KEY, sum(V) AS "Sum" FROM T GROUP BY "key"';
  await expect(define({ name: "Sums", sql }, { name: "sUMS", sql })).rejects.toMatchObject({ code: "duplicate_view" });
  await expect(define({ name: "TAKEN", sql })).rejects.toMatchObject({ code: "name_taken" });
  await expect(define({ name: "T", sql })).rejects.toMatchObject({ code: "name_taken" });
  // DuckDB gives the second column another name.
  await define({ name: "twice", sql: 'SELECT v AS a, v + 1 AS "A" FROM t' });
  expect((await lake.refresh()).views.map(({ error }) => error)).toEqual([null]);
  expect(await scene.rows("twice")).toEqual(["(2, 3)"]);
  await lake.drop("twice");
  await scene.define({ Sums: sql, reader: "SELECT sum FROM SUMS" });
  // The same view, written otherwise.
  expect((await define({ name: "sums", sql }, { name: "reader", sql: "SELECT sum FROM SUMS" })).actions).toMatchObject([
    { action: "keep" },
    { action: "keep" },
  ]);
  await scene.sql("INSERT INTO t VALUES (1, 5)");
  const result = await lake.refresh({ views: ["READER"] });
  expect(result.views.map(({ status }) => status)).toEqual(["refreshed", "refreshed"]);
  expect((await lake.verify()).map(({ ok }) => ok)).toEqual([true, true]);
  await scene.sql("ALTER TABLE t RENAME TO T2", "ALTER TABLE T2 RENAME TO T", "INSERT INTO t VALUES (3, 5)");
  await lake.refresh();
  expect(await scene.rows("sums")).toEqual(["(1, 7)", "(3, 5)"]);
});

const HARD: readonly string[] = [
  'say "hi"',
  "it's",
  "a.b",
  "with space",
  "Größe_ñ_表_🦆",
  "select",
  "table",
  "_ivm_rows",
  "per%cent/slash\\back",
  "x".repeat(200),
];

test.each(HARD)("a schema, a table, its columns, a view and its log are all named %s", async (name) => {
  await using scene = await Scene.start({ log: { compact: "manual" }, inlining: 0 });
  const { lake } = scene;
  const [schema, second] = [q(name), q(`${name} 2`)];
  await scene.sql(
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    `CREATE TABLE ${schema}.${q(name)} (${q(name)} INTEGER, ${second} VARCHAR)`,
    `INSERT INTO ${schema}.${q(name)} SELECT i % 5, 'v' || i FROM range(30) r(i)`,
  );
  // Columns of a view can't have such names.
  const column = q(name.replace(/^_ivm_/, "ivm_"));
  const above = `${name} above`;
  const views = {
    [name]: `SELECT ${q(name)} AS ${column}, count(*) AS n, max(${second}) AS last FROM ${schema}.${q(name)} GROUP BY 1`,
    [above]: `SELECT ${column}, n FROM ${q(name)} WHERE n > 1`,
  };
  await lake.define(Object.entries(views).map(([view, sql]) => ({ name: view, sql })));
  const refresh = async (): Promise<bigint> => {
    const result = await lake.refresh();
    expect([...result.views.flatMap(({ error }) => error ?? []), ...result.warnings]).toEqual([]);
    return result.horizon;
  };
  const since = await refresh();
  await lake.addConsumer("c", name);
  const mirror = `duckdb:${join(scene.place.folder, "mirror.db")}`;
  await lake.replay({ consumer: "c", into: mirror, table: q(name) });
  await scene.sql(
    `UPDATE ${schema}.${q(name)} SET ${second} = 'w' WHERE ${q(name)} = 2`,
    `DELETE FROM ${schema}.${q(name)} WHERE ${q(name)} = 3`,
  );
  await refresh();
  const changes: bigint[] = [];
  for await (const { weight } of await lake.changes(name, { since })) changes.push(weight);
  expect(changes).toEqual([-1n, 1n, -1n]);
  expect(await lake.replay({ consumer: "c", into: mirror, table: q(name) })).toMatchObject({ status: "applied" });
  await using rows = await lake.query(`SELECT ${column} FROM ${q(name)} ORDER BY 1`);
  const read: unknown[] = [];
  for await (const row of rows) read.push(row);
  expect(read).toHaveLength(4);
  expect((await lake.verify()).map(({ view, ok }) => [view, ok])).toEqual([
    [name, true],
    [above, true],
  ]);
  await lake.explain(name);
  const page = await renderReport(await lake.overview());
  expect(page).toContain("<html");
  await lake.compact();
  expect((await lake.drop(above)).dropped).toEqual([above]);
});
