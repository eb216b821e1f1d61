/** What runs of one process keep of the state and the history: read once, and never taken for true when it is not. */
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { type Lake, open } from "../../src/index.js";
import { StateTables } from "../../src/view/state.js";
import { OpenLake } from "../setup/open-lake.js";

const SUMS = { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" };

/** A lake with a view that was refreshed, and counts how often the state is read from its tables. */
async function start(): Promise<{ place: OpenLake; reads: () => number } & AsyncDisposable> {
  const place = await OpenLake.start();
  await place.connection.run("CREATE TABLE t AS SELECT 1 AS g, 1 AS v");
  await place.lake.define([SUMS]);
  await place.lake.refresh();
  const spy = vi.spyOn(StateTables.prototype, "read");
  return {
    place,
    reads: () => spy.mock.calls.length,
    async [Symbol.asyncDispose]() {
      spy.mockRestore();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** Another program's lake, in the same instance, since the catalog is a file of DuckDB. */
function another(place: OpenLake): Promise<Lake> {
  const { instance } = (place.lake as unknown as { engine: { instance: never } }).engine;
  return open({ catalog: join(place.folder, "catalog.ducklake") }, { instance });
}

async function isExact(place: OpenLake): Promise<void> {
  expect(await place.rows("FROM sums ORDER BY g")).toEqual(
    await place.rows("SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY g"),
  );
}

test("the state is not read again while only this process refreshes", async () => {
  await using scene = await start();
  const { place, reads } = scene;
  await place.connection.run("INSERT INTO t VALUES (1, 2)");
  await place.lake.refresh();
  const before = reads();
  for (let round = 0; round < 5; round += 1) {
    await place.connection.run(`INSERT INTO t VALUES (${round}, 2)`);
    expect((await place.lake.refresh()).status).toBe("refreshed");
    await isExact(place);
  }
  expect((await place.lake.refresh()).status).toBe("unchanged");
  expect(reads()).toBe(before);
  expect(await place.rows("SELECT count(*) FROM ivm.runs a JOIN ivm.runs b ON a.horizon = b.from_horizon")).toEqual([
    [6n],
  ]);
});

test("another program's refresh is seen, and its window is not consumed twice", async () => {
  await using scene = await start();
  const { place, reads } = scene;
  await using other = await another(place);
  await place.connection.run("INSERT INTO t VALUES (1, 10)");
  await place.lake.refresh();
  await place.connection.run("INSERT INTO t VALUES (1, 100)");
  expect((await other.refresh()).status).toBe("refreshed");
  const before = reads();
  expect((await place.lake.refresh()).status).toBe("unchanged");
  expect(reads()).toBe(before + 1);
  await place.connection.run("INSERT INTO t VALUES (1, 1000)");
  await place.lake.refresh();
  await isExact(place);
});

test("definitions that another program has changed or dropped are seen", async () => {
  await using scene = await start();
  const { place } = scene;
  await using other = await another(place);
  await place.connection.run("INSERT INTO t VALUES (1, 10)");
  await place.lake.refresh();
  await other.define([{ ...SUMS, sql: "SELECT g, sum(v) + 1 AS s FROM t GROUP BY g" }]);
  await place.connection.run("INSERT INTO t VALUES (2, 10)");
  await place.lake.refresh();
  expect(await place.rows("FROM sums ORDER BY g")).toEqual([
    [1, 12n],
    [2, 11n],
  ]);
  await other.drop("sums");
  expect((await place.lake.refresh()).views).toEqual([]);
});

test("a progress row that somebody wrote by hand is read", async () => {
  await using scene = await start();
  const { place, reads } = scene;
  await place.connection.run("INSERT INTO t VALUES (1, 10)");
  await place.lake.refresh();
  await place.connection.run("UPDATE ivm.progress SET costs = NULL");
  await place.connection.run("INSERT INTO t VALUES (1, 11)");
  const before = reads();
  await place.lake.refresh();
  expect(reads()).toBe(before + 1);
  await isExact(place);
});

test("a history with a gap is not followed", async () => {
  await using scene = await start();
  const { place, reads } = scene;
  await place.connection.run("INSERT INTO t VALUES (1, 10)");
  await place.lake.refresh();
  await using other = await another(place);
  await place.connection.run("INSERT INTO t VALUES (1, 100)");
  await other.refresh();
  await place.connection.run("INSERT INTO t VALUES (1, 1000)");
  const [[newest]] = (await place.rows("SELECT max(snapshot_id) FROM lake.snapshots()")) as [[bigint]];
  // Only the other program's commit: the snapshot that this one has seen last stays.
  await place.connection.run(`CALL ducklake_expire_snapshots('lake', versions => [${newest - 1n}])`);
  const before = reads();
  await place.lake.refresh();
  expect(reads()).toBe(before + 1);
  await isExact(place);
});

test("another program's commit that looks like a refresh is none", async () => {
  await using scene = await start();
  const { place } = scene;
  const { connection, lake } = place;
  await connection.run("CREATE TABLE other AS SELECT 5 AS g, 50 AS v");
  await connection.run("INSERT INTO t VALUES (1, 10)");
  await lake.refresh();
  await connection.run("BEGIN");
  await connection.run("ALTER TABLE t RENAME TO old_t");
  await connection.run("ALTER TABLE other RENAME TO t");
  await connection.run(
    `CALL lake.set_commit_message('etl', 'swap', extra_info => '{"view": "sums", "commit": "1", "horizon": "1"}')`,
  );
  await connection.run("COMMIT");
  expect((await lake.refresh()).views[0]).toMatchObject({ strategy: "recompute", reason: { code: "source_replaced" } });
  await isExact(place);
});

test("a table of the state that was made anew is followed under its new number", async () => {
  await using scene = await start();
  const { place, reads } = scene;
  const { connection, lake } = place;
  for (const value of [10, 20]) {
    await connection.run(`INSERT INTO t VALUES (1, ${value})`);
    await lake.refresh();
  }
  await connection.run("CREATE OR REPLACE TABLE ivm.progress AS FROM ivm.progress");
  await connection.run("INSERT INTO t VALUES (1, 30)");
  await lake.refresh();
  await connection.run("UPDATE ivm.progress SET costs = NULL");
  await connection.run("INSERT INTO t VALUES (1, 40)");
  const before = reads();
  await lake.refresh();
  expect(reads()).toBe(before + 1);
  await isExact(place);
});
