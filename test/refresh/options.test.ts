import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import type { RefreshResult } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

/** Two chains over two tables, and a view that no rule keeps. */
async function scene(config: Parameters<typeof OpenLake.start>[0] = {}): Promise<OpenLake> {
  const opened = await OpenLake.start(config);
  const { lake, connection } = opened;
  await connection.run("CREATE TABLE t (g INTEGER, v INTEGER)");
  await connection.run("CREATE TABLE u (g INTEGER, name VARCHAR)");
  await connection.run("INSERT INTO t SELECT i % 3, i FROM range(30) r(i)");
  await connection.run("INSERT INTO u VALUES (0, 'zero'), (1, 'one'), (2, 'two')");
  await lake.define([
    { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g", primaryKey: ["g"], tags: ["daily"] },
    { name: "named", sql: "SELECT name, s FROM sums JOIN u USING (g)", tags: ["daily", "finance"] },
    { name: "names", sql: "SELECT DISTINCT name FROM u", tags: ["finance"], targetLagMs: 3_600_000 },
  ]);
  return opened;
}

const told = (result: RefreshResult): string[] =>
  result.views.map(({ view, status, strategy, reason }) => `${view} ${status} ${strategy ?? reason?.code ?? "-"}`);

test("a full refresh computes the asked views anew, and writes only what differs", async () => {
  await using opened = await scene();
  const { lake, connection } = opened;
  await lake.refresh();
  const snapshot = async (): Promise<unknown> =>
    (await opened.rows("SELECT max(snapshot_id) FROM lake.snapshots()"))[0];

  // Everything is right, so nothing is written.
  const before = await snapshot();
  const right = await lake.refresh({ fullRefresh: true });
  expect(told(right)).toEqual(["sums refreshed recompute", "named refreshed recompute", "names refreshed recompute"]);
  expect(right.views.map(({ reason }) => reason?.code)).toEqual(Array(3).fill("full_refresh"));
  expect(await snapshot()).toEqual(before);

  // Something else has written to a view's table.
  await connection.run("DELETE FROM ivm.data_named WHERE name = 'one'");
  await connection.run("INSERT INTO ivm.data_named VALUES ('nine', 9)");
  expect((await lake.verify({ views: ["named"] }))[0]?.ok).toBe(false);
  const healed = await lake.refresh({ views: ["named"], fullRefresh: true });
  expect(told(healed)).toEqual(["sums unchanged -", "named refreshed recompute"]);
  expect(healed.views[1]?.rows).toEqual({ inserted: 1n, deleted: 1n });
  expect((await lake.verify()).map(({ ok }) => ok)).toEqual([true, true, true]);

  // Changes that wait are taken along, and the views that read the rebuilt one go on by deltas.
  await connection.run("INSERT INTO t VALUES (1, 1000)");
  expect(told(await lake.refresh({ views: ["sums"], fullRefresh: true }))).toEqual(["sums refreshed recompute"]);
  expect(told(await lake.refresh({ views: ["named"] }))).toEqual(["sums unchanged -", "named refreshed incremental"]);
  expect((await lake.verify()).map(({ ok }) => ok)).toEqual([true, true, true]);
});

test("a full refresh that finds a view right leaves its change log alone; one that does not tells the log", async () => {
  const path = await mkdtemp(join(inject("workspace"), "log-"));
  await using opened = await scene({ log: { path } });
  const { lake, connection } = opened;
  const first = await lake.refresh();
  await lake.addConsumer("mirror", "named", first.horizon);
  await lake.refresh({ fullRefresh: true });
  expect((await lake.consumers())[0]).toMatchObject({ reset: false, windows: 0 });
  await connection.run("DELETE FROM ivm.data_named WHERE name = 'one'");
  await lake.refresh({ fullRefresh: true });
  expect((await lake.consumers())[0]).toMatchObject({ reset: false, windows: 1 });
  const rows: unknown[] = [];
  for await (const { row } of await lake.state("named")) rows.push(row);
  expect(rows).toHaveLength(3);
});

test("readers have the view all the time while it is rebuilt", async () => {
  await using opened = await scene();
  const { lake } = opened;
  await lake.refresh();
  const reader = await lake.connect();
  let reads = 0;
  let done = false;
  const reading = (async () => {
    while (!done) {
      const rows = (await reader.runAndReadAll("SELECT count(*)::INTEGER FROM named")).getRowsJS();
      expect(rows).toEqual([[3]]);
      reads += 1;
    }
  })();
  await lake.refresh({ fullRefresh: true });
  await lake.define([
    { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g", primaryKey: ["g"] },
    { name: "named", sql: "SELECT name, s + 1 AS s FROM sums JOIN u USING (g)" },
    { name: "names", sql: "SELECT DISTINCT name FROM u" },
  ]);
  await lake.refresh({ fullRefresh: true });
  done = true;
  await reading;
  reader.closeSync();
  expect(reads).toBeGreaterThan(3);
});

test("fail-fast begins nothing more once a view has failed", async () => {
  await using opened = await scene();
  const { lake, connection } = opened;
  await lake.refresh();
  await lake.define([
    { name: "broken", sql: "SELECT name, 1 / (g - 2) AS x, CAST(name AS INTEGER) AS n FROM u" },
    { name: "named", sql: "SELECT name, s FROM sums JOIN u USING (g)" },
    { name: "names", sql: "SELECT DISTINCT name FROM u" },
    { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g", primaryKey: ["g"] },
  ]);
  await connection.run("INSERT INTO u VALUES (3, 'three')");
  const all = await lake.refresh({ dryRun: true });
  expect(all.views.map(({ view }) => view)[0]).toBe("broken");
  const stopped = await lake.refresh({ failFast: true });
  expect(stopped.status).toBe("failed");
  expect(told(stopped)).toEqual([
    "broken failed -",
    "sums skipped stopped",
    "named skipped stopped",
    "names skipped stopped",
  ]);
  const rest = await lake.refresh();
  expect(told(rest)).toEqual([
    "broken failed -",
    "sums unchanged -",
    "named refreshed incremental",
    "names refreshed incremental",
  ]);
});

test("views that are not so far behind are left out, by the option or by their own target lag", async () => {
  await using opened = await scene();
  const { lake, connection } = opened;
  const pending = await lake.refresh({ ifOlderThanMs: 3_600_000 });
  expect(told(pending)).toEqual(["sums refreshed initial", "named refreshed initial", "names refreshed initial"]);
  expect(told(await lake.refresh({ ifOlderThanMs: 1000 }))).toEqual([
    "sums skipped recent",
    "named skipped recent",
    "names skipped recent",
  ]);
  await connection.run("INSERT INTO u VALUES (3, 'three')");
  await connection.run(
    "UPDATE __ducklake_metadata_lake.ducklake_snapshot SET snapshot_time = snapshot_time - INTERVAL 20 MINUTES",
  );
  expect(told(await lake.refresh({ ifOlderThanMs: 30 * 60_000 })).every((view) => view.includes("skipped"))).toBe(true);
  // names has an hour of its own; sums comes along with named and has nothing to do.
  expect(told(await lake.refresh({ ifOlderThanMs: 15 * 60_000 }))).toEqual([
    "sums unchanged -",
    "named refreshed incremental",
    "names skipped recent",
  ]);
  const [names] = (await lake.status()).filter(({ view }) => view === "names");
  expect(names).toMatchObject({ state: "stale", targetLagMs: 3_600_000, tags: ["finance"] });
  expect(told(await lake.refresh())).toContain("names refreshed incremental");
});

test("where rules are required, a run with a view that has none does nothing", async () => {
  await using opened = await scene();
  const { lake, connection } = opened;
  await lake.refresh({ requireIncremental: true });
  const sums = { name: "sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g", primaryKey: ["g"] };
  const noRule = { name: "first", sql: "SELECT v FROM t ORDER BY v LIMIT 50%" };
  await expect(lake.define([sums, noRule], { requireIncremental: true })).rejects.toMatchObject({
    code: "not_incremental",
    subject: { view: "first" },
  });
  expect((await lake.status()).map(({ view }) => view)).not.toContain("first");
  await lake.define([sums, noRule]);
  await connection.run("INSERT INTO t VALUES (1, 1000)");
  await expect(lake.refresh({ requireIncremental: true })).rejects.toMatchObject({
    code: "not_incremental",
    message: "No incremental rule keeps first. Nothing was refreshed.",
    subject: { view: "first" },
  });
  expect((await lake.status()).find(({ view }) => view === "sums")?.state).toBe("stale");
  // Views that are not part of the run, and those that are meant to be recomputed, do not count.
  expect((await lake.refresh({ requireIncremental: true, views: ["sums"] })).status).toBe("refreshed");
  await lake.define([sums, { ...noRule, refresh: "full" }], { requireIncremental: true });
  expect((await lake.refresh({ requireIncremental: true })).status).toBe("refreshed");
});
