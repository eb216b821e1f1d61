import { expect, test } from "vitest";
import type { LakeGraph, ViewNode } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

async function chain(): Promise<OpenLake> {
  const opened = await OpenLake.start();
  const { lake, connection } = opened;
  await connection.run("CREATE TABLE t (g INTEGER, v INTEGER)");
  await connection.run("CREATE TABLE u (g INTEGER, name VARCHAR)");
  await connection.run("INSERT INTO t SELECT i % 3, i FROM range(30) r(i)");
  await connection.run("INSERT INTO u VALUES (0, 'zero'), (1, 'one')");
  await lake.define([
    { name: "Sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g", primaryKey: ["g"] },
    { name: "named", sql: "SELECT name, s FROM sums JOIN u USING (g)", primaryKey: ["name"] },
  ]);
  return opened;
}

const view = (graph: LakeGraph, name: string): ViewNode =>
  graph.nodes.find((node): node is ViewNode => node.kind === "view" && node.name === name) as ViewNode;

test("the history has what each run did to each view, newest first", async () => {
  await using opened = await chain();
  const { lake, connection } = opened;
  expect(await lake.history()).toEqual([]);
  const before = Date.now();
  const first = await lake.refresh();
  await connection.run("INSERT INTO t VALUES (1, 100), (2, 5)");
  const second = await lake.refresh({ views: ["sums"] });

  const runs = await lake.history();
  expect(runs.map(({ view: name, runId, from, to }) => [name, runId, from, to])).toEqual([
    ["Sums", second.runId, first.horizon, second.horizon],
    ["named", first.runId, null, first.horizon],
    ["Sums", first.runId, null, first.horizon],
  ]);
  expect(runs[0]).toMatchObject({
    status: "refreshed",
    strategy: "incremental",
    reason: null,
    sources: [{ source: "main.t", from: first.horizon, to: second.horizon, delta: "files", rows: 2n }],
    rows: { changed: 2n, inserted: 2n, deleted: 2n },
    terms: { total: 1, run: 1, skipped: 0 },
    cost: { choice: "incremental" },
    error: null,
  });
  expect(runs[1]).toMatchObject({ strategy: "initial", rows: { changed: null, inserted: 2n, deleted: 0n } });
  for (const { startedAt, elapsedMs } of runs) {
    expect(startedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(startedAt)).toBeGreaterThanOrEqual(before - 1);
    expect(Date.parse(startedAt) + elapsedMs).toBeLessThanOrEqual(Date.now() + 1);
  }
  expect((await lake.history({ limit: 1 })).map(({ view: name }) => name)).toEqual(["Sums"]);
  expect((await lake.history({ view: "SUMS" })).map(({ runId }) => runId)).toEqual([second.runId, first.runId]);
});

test("failures are in the history, with their reason, and a view's own earlier horizon", async () => {
  await using opened = await chain();
  const { lake, connection } = opened;
  const first = await lake.refresh();
  await connection.run("INSERT INTO u VALUES (2, 'one')");
  const failed = await lake.refresh();
  expect(failed).toMatchObject({ status: "failed", warnings: [] });
  const [record, ...others] = await lake.history({ view: "named" });
  expect(record).toMatchObject({
    runId: failed.runId,
    status: "failed",
    strategy: null,
    from: first.horizon,
    to: failed.horizon,
    rows: { changed: null, inserted: 0n, deleted: 0n },
    error: { code: "primary_key_violated", retryable: false },
  });
  expect(others.map(({ status }) => status)).toEqual(["refreshed"]);
  // A dry run leaves no trace.
  await lake.refresh({ dryRun: true });
  expect(await lake.history()).toHaveLength(3);
});

test("the history outlives a dropped view; one that never was is an error", async () => {
  await using opened = await chain();
  const { lake } = opened;
  await lake.refresh();
  await lake.define([{ name: "Sums", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g", primaryKey: ["g"] }], {
    drop: true,
  });
  expect((await lake.history({ view: "named" })).map(({ strategy }) => strategy)).toEqual(["initial"]);
  await expect(lake.history({ view: "nothing" })).rejects.toMatchObject({ code: "view_unknown" });
});

test("the graph has tables and views, what reads what, and what waits to be consumed", async () => {
  await using opened = await chain();
  const { lake, connection } = opened;
  const pending = await lake.graph();
  expect(view(pending, "named")).toEqual({
    kind: "view",
    name: "named",
    state: "pending",
    strategy: "incremental",
    horizon: null,
    asOf: null,
    lagMs: null,
    tags: [],
  });
  await lake.refresh();
  const fresh = await lake.graph();
  expect(fresh.nodes.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    "table main.t",
    "table main.u",
    "view Sums",
    "view named",
  ]);
  expect(fresh.edges).toEqual([
    { from: "main.t", to: "Sums", changed: false },
    { from: "Sums", to: "named", changed: false },
    { from: "main.u", to: "named", changed: false },
  ]);
  expect(view(fresh, "named")).toMatchObject({ state: "fresh", lagMs: 0 });

  await connection.run("INSERT INTO u VALUES (2, 'two')");
  const changed = await lake.graph();
  expect(changed.edges.map((edge) => edge.changed)).toEqual([false, false, true]);
  expect([view(changed, "Sums").state, view(changed, "named").state]).toEqual(["fresh", "stale"]);
  const [newest] = await opened.rows("SELECT max(snapshot_id), max(epoch_ms(snapshot_time)) FROM lake.snapshots()");
  const [snapshot, time] = newest as [bigint, bigint];
  expect(changed.nodes.find(({ name }) => name === "main.u")).toEqual({
    kind: "table",
    name: "main.u",
    snapshot,
    changedAt: new Date(Number(time)).toISOString(),
  });
});

test("a view's lag is the age of the oldest change below it that it does not show", async () => {
  await using opened = await chain();
  const { lake, connection } = opened;
  await lake.refresh();
  const ages = "UPDATE __ducklake_metadata_lake.ducklake_snapshot SET snapshot_time = snapshot_time - INTERVAL";
  // Something else of the lake changes first, then the table at the bottom of the chain.
  await connection.run("CREATE TABLE elsewhere AS SELECT 1 AS x");
  await connection.run("INSERT INTO t VALUES (0, 1)");
  const [[change]] = (await opened.rows("SELECT max(snapshot_id) FROM lake.snapshots()")) as [[bigint]];
  await connection.run(`${ages} 10 HOURS WHERE snapshot_id < ${change}`);
  await connection.run(`${ages} 30 MINUTES WHERE snapshot_id = ${change}`);
  await connection.run("INSERT INTO t VALUES (0, 2)");
  const minutes = async (): Promise<number[]> =>
    (await lake.status()).map(({ lagMs }) => Math.round((lagMs ?? Number.NaN) / 60_000));
  expect(await minutes()).toEqual([30, 30]);
  // A view over a view that went on alone is still behind by the same change.
  await lake.refresh({ views: ["sums"] });
  expect(await minutes()).toEqual([0, 30]);
  const status = await lake.status();
  expect(status.map(({ state, lagMs }) => [state, lagMs === 0])).toEqual([
    ["fresh", true],
    ["stale", false],
  ]);
  for (const { asOf } of status) expect(asOf).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});
