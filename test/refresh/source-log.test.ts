/** Logs of base tables: views that lag behind catch up from them where the snapshots that they need were expired. */

import { expect, test } from "vitest";
import { open, type RefreshResult } from "../../src/index.js";
import { Scene, viewOf } from "../hazards/scene.js";

const TABLES = [
  "CREATE TABLE t (id INTEGER, k INTEGER, v INTEGER, d DOUBLE, s VARCHAR)",
  "CREATE TABLE u (k INTEGER, name VARCHAR)",
  "INSERT INTO t SELECT i, i % 7, i, i / 8, 's' || (i % 3) FROM range(80) r(i)",
  "INSERT INTO u SELECT CASE i WHEN 6 THEN NULL ELSE i % 5 END, 'n' || i FROM range(8) r(i)",
];

/** `ahead` is refreshed alone; all others lag. Their rules read old states of one or both tables. */
const VIEWS = {
  ahead: "SELECT count(*) AS n FROM t, u",
  rows: "SELECT id, v * 2 AS w, d FROM t WHERE v % 3 <> 1",
  groups: "SELECT k, count(*) AS n, sum(v) AS s, min(v) AS least, max(d) AS most, median(v) AS m FROM t GROUP BY k",
  joined: "SELECT t.id, u.name, t.v FROM t JOIN u USING (k)",
  lefts: "SELECT t.k, t.s, u.name FROM t LEFT JOIN u ON t.k = u.k AND t.v > 10",
  fulls: "SELECT t.id, u.name FROM t FULL JOIN u ON t.k = u.k",
  joinedGroups: "SELECT u.name, count(*) AS n, sum(t.v) AS s FROM t LEFT JOIN u USING (k) GROUP BY u.name",
  present: "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.name > 'n1')",
  absent: "SELECT id, s FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)",
  kinds: "SELECT DISTINCT k, s FROM t",
  ranked: "SELECT id, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS r FROM t",
  selfJoined: "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.k = b.k AND a.v < b.v",
};
const LAGGING = Object.keys(VIEWS).filter((name) => name !== "ahead");

async function round(scene: Scene, number: number): Promise<void> {
  await scene.sql(
    `UPDATE t SET v = v + ${number + 1}, s = 'x${number % 2}' WHERE id % 9 = ${number % 9}`,
    `DELETE FROM t WHERE id % 23 = ${number}`,
    `INSERT INTO t (id, k, v, d, s) SELECT ${1000 + number}, i % 4, i, CASE i WHEN 1 THEN 'nan' ELSE '0.5' END::DOUBLE, NULL FROM range(4) r(i)`,
  );
  if (number % 2 === 0) return;
  await scene.transaction(
    `UPDATE u SET name = 'y${number}' WHERE k = ${number % 5}`,
    `INSERT INTO u VALUES (${number % 7}, 'n9'), (NULL, 'z')`,
    `DELETE FROM u WHERE name = 'n${number}'`,
  );
}

/** Refreshes the view that is ahead, after each of some rounds of changes. */
async function leadBy(scene: Scene, rounds: number, first = 0): Promise<void> {
  for (let number = first; number < first + rounds; number += 1) {
    await round(scene, number);
    await ahead(scene);
  }
}

async function ahead(scene: Scene): Promise<void> {
  const result = await scene.lake.refresh({ views: ["ahead"] });
  expect(result.views.flatMap((view) => view.error ?? [])).toEqual([]);
}

/** Expires all snapshots before the newest position of the logs, as far as they are there. */
async function expire(scene: Scene): Promise<void> {
  const list = await scene.value(
    `SELECT list(snapshot_id)::VARCHAR FROM lake.snapshots() WHERE snapshot_id > 0 AND snapshot_id <
       (SELECT max(to_snapshot) FROM ivm.segments WHERE starts_with(log, 'source:'))`,
  );
  await scene.sql(`CALL ducklake_expire_snapshots('lake', versions => ${list})`);
}

async function epochs(scene: Scene): Promise<string[]> {
  return scene.rows("(SELECT log, epoch FROM ivm.logs WHERE starts_with(log, 'source:'))");
}

function methods(result: RefreshResult, views: readonly string[] = LAGGING): string[] {
  return views.map((name) => {
    const { strategy, sources, reason } = viewOf(result, name);
    const deltas = sources.flatMap((source) => (source.changed ? [source.delta ?? "none"] : []));
    return `${name}: ${strategy} ${[...new Set(deltas)].join()}${reason === null ? "" : ` ${reason.code}`}`;
  });
}

const byLog = (views: readonly string[] = LAGGING): string[] => views.map((name) => `${name}: incremental log`);

async function start(fanOut = 8, keep: { snapshots: bigint } = { snapshots: 1000n }): Promise<Scene> {
  const scene = await Scene.start({ log: { sources: true, fanOut, keep } });
  await scene.sql(...TABLES);
  await scene.define(VIEWS);
  return scene;
}

/** All definitions are maintained, whatever they cost. */
async function maintain(scene: Scene): Promise<void> {
  await scene.lake.define(Object.entries(VIEWS).map(([name, sql]) => ({ name, sql, refresh: "incremental" as const })));
}

test("views of all kinds catch up by their rules", { timeout: 300_000 }, async () => {
  await using scene = await start();
  await maintain(scene);
  await leadBy(scene, 4);
  await expire(scene);
  await round(scene, 4);
  const result = await scene.refresh();
  expect(methods(result)).toEqual(byLog());
  expect((await scene.lake.verify()).map(({ view, ok }) => `${view}: ${ok}`)).toEqual(
    Object.keys(VIEWS)
      .sort()
      .map((name) => `${name}: true`),
  );
  const again = await scene.refresh();
  expect(again.status).toBe("unchanged");
});

test("also where nothing has changed since the log was written", { timeout: 300_000 }, async () => {
  await using scene = await start();
  await maintain(scene);
  await leadBy(scene, 2);
  await expire(scene);
  // Something else happens in the lake.
  await scene.sql("CREATE TABLE other (i INTEGER)");
  expect(methods(await scene.refresh())).toEqual(byLog());
  expect((await scene.refresh()).status).toBe("unchanged");
});

test("columns that change, and tables that are replaced, begin their logs anew", { timeout: 300_000 }, async () => {
  await using scene = await start();
  const before = await epochs(scene);
  await leadBy(scene, 2);
  expect(await epochs(scene)).toEqual(before);
  await scene.sql("ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 3");
  await ahead(scene);
  const altered = await epochs(scene);
  expect(altered.filter((epoch) => before.includes(epoch))).toHaveLength(1);
  await leadBy(scene, 2, 2);
  await expire(scene);
  const result = await scene.refresh();
  // No position of the log's new epoch is the views' cursor.
  const onT = ["rows", "groups", "kinds"];
  expect(methods(result, onT)).toEqual(onT.map((name) => `${name}: recompute none cursor_expired`));

  await scene.sql("CREATE OR REPLACE TABLE u AS SELECT i % 4 AS k, 'again' || i AS name FROM range(6) r(i)");
  await ahead(scene);
  expect((await epochs(scene)).filter((epoch) => altered.includes(epoch))).toHaveLength(1);
  await leadBy(scene, 1, 5);
  await expire(scene);
  expect(viewOf(await scene.refresh(), "joined")).toMatchObject({
    strategy: "recompute",
    reason: { code: "source_replaced" },
  });
});

test("runs without the option in between are never misread", { timeout: 300_000 }, async () => {
  await using scene = await start();
  await leadBy(scene, 1);
  // The option is off: views move, the logs do not.
  const { log: _log, ...plain } = scene.place.config;
  scene.writer.closeSync();
  await scene.lake.close();
  {
    await using lake = await open(plain);
    const connection = await lake.connect();
    await connection.run("UPDATE t SET v = v + 100 WHERE id % 4 = 1");
    await connection.run("DELETE FROM u WHERE k = 2");
    expect((await lake.refresh({ views: ["rows", "joined"] })).status).toBe("refreshed");
    await connection.run("INSERT INTO t VALUES (500, 1, 1, 1, 'late'), (501, 2, 2, 2, 'late')");
    connection.closeSync();
  }
  await using lake = await open(scene.place.config);
  const connection = await lake.connect();
  await lake.refresh({ views: ["ahead"] });
  const reader = await connection.runAndReadAll(
    `SELECT list(snapshot_id)::VARCHAR FROM lake.snapshots() WHERE snapshot_id > 0 AND snapshot_id <
       (SELECT max(to_snapshot) FROM ivm.segments WHERE starts_with(log, 'source:'))`,
  );
  await connection.run(`CALL ducklake_expire_snapshots('lake', versions => ${reader.getRowsJson()[0]?.[0]})`);
  await connection.run("UPDATE t SET v = v - 1 WHERE id < 5");
  const result = await lake.refresh();
  expect(result.views.flatMap((view) => view.error ?? [])).toEqual([]);
  // Their cursors are at no position of the logs.
  expect(methods(result, ["rows"])).toEqual(["rows: recompute none cursor_expired"]);
  expect(methods(result, ["kinds"])).toEqual(["kinds: incremental log"]);
  for (const [name, sql] of Object.entries(VIEWS)) {
    const rows = await connection.runAndReadAll(
      `SELECT count(*)::VARCHAR FROM ((FROM (${sql}) EXCEPT ALL FROM ${name}) UNION ALL (FROM ${name} EXCEPT ALL FROM (${sql})))`,
    );
    expect(`${name} ${rows.getRowsJson()[0]?.[0]}`).toBe(`${name} 0`);
  }
  connection.closeSync();
});

test("compaction leaves the positions that cursors need", { timeout: 300_000 }, async () => {
  await using scene = await start(2, { snapshots: 0n });
  await maintain(scene);
  await leadBy(scene, 3);
  const { views } = await scene.lake.refresh({ views: ["groups", "joined"] });
  expect(views.every((view) => view.status === "refreshed")).toBe(true);
  await leadBy(scene, 5, 3);
  const compacted = await scene.lake.compact();
  const merged = compacted.logs.filter(({ log }) => log.startsWith("source:"));
  const windows = await scene.value(
    `SELECT count(*) FROM ivm.segments s WHERE log = 'source:main.t' AND kind = 'segment'
       AND id NOT IN (SELECT id FROM ivm.retired)`,
  );
  // Those up to the second cursor, and those after it; one more that compaction leaves apart.
  expect(Number(windows)).toBeLessThan(8);
  expect(merged).toHaveLength(2);
  await expire(scene);
  expect(methods(await scene.refresh())).toEqual(byLog());
});
