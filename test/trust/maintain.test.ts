/** The upkeep of a lake whose views and consumers lag behind. */
import { expect, test, vi } from "vitest";
import { Scene } from "../hazards/scene.js";

vi.setConfig({ testTimeout: 180_000 });

const NOW = { expireOlderThanMs: 0, graceMs: 0 } as const;

async function start(): Promise<Scene> {
  const scene = await Scene.start({ log: { compact: "manual", keep: { snapshots: 3n } } });
  await scene.sql("CREATE TABLE t(id INT, k INT)", "CREATE TABLE still(id INT)", "INSERT INTO still VALUES (1)");
  await scene.sql("INSERT INTO t SELECT i, i % 5 FROM range(100) r(i)");
  await scene.define({
    early: "SELECT k, count(*) AS n FROM t GROUP BY k",
    late: "SELECT k, sum(id) AS s FROM t GROUP BY k",
    quiet: "SELECT id FROM still",
  });
  return scene;
}

async function change(scene: Scene, round: number): Promise<void> {
  await scene.sql(`INSERT INTO t SELECT ${round} + i, i FROM range(20) r(i)`, `DELETE FROM t WHERE id % 17 = ${round}`);
}

test("a lagging view holds the snapshots that it needs, and those only", async () => {
  await using scene = await start();
  const first = await scene.lake.retention();
  expect(first).toMatchObject({ expireOlderThanMs: null, lastsMs: null, warnings: [] });
  for (const round of [1, 2, 3]) {
    await change(scene, round);
    await scene.lake.refresh({ views: ["early"] });
  }
  const lagging = await scene.lake.retention();
  const late = lagging.needs.find(({ name }) => name === "late");
  expect(late).toMatchObject({ kind: "view", source: "main.t", exists: true });
  // The quiet view's cursor is as old, and needs nothing that it could not do without.
  expect(lagging.needed?.snapshot).toBe(late?.snapshot);
  const told = await scene.lake.maintain(NOW);
  expect(told.steps.map(({ step, status }) => [step, status])).toEqual([
    ["flush", "done"],
    ["expire", "told"],
    ["merge", "done"],
    ["rewrite", "done"],
    ["clean_up", "told"],
    ["logs", "done"],
  ]);
  expect(told.retention.oldest).toBe(lagging.oldest);

  const done = await scene.lake.maintain({ ...NOW, deletes: true });
  expect(done.expired.length).toBeGreaterThan(0);
  expect(done.retention.oldest).toBe(late?.snapshot);
  expect(done.steps.map(({ status }) => status)).not.toContain("told");
  const caughtUp = await scene.refresh();
  // By its rules, and not anew: nothing that it needed is gone.
  expect(caughtUp.views.find(({ view }) => view === "late")).toMatchObject({ strategy: "incremental", reason: null });

  // Once nobody lags, no view that has nothing to do holds anything.
  const free = await scene.lake.maintain({ ...NOW, deletes: true });
  expect(free.retention.needed?.snapshot).toBeGreaterThan(done.retention.newest);
  await change(scene, 4);
  await scene.sql("INSERT INTO still VALUES (2)");
  const after = await scene.refresh();
  expect(after.views.map(({ reason }) => reason)).toEqual([null, null, null]);
  expect((await scene.lake.verify()).map(({ ok }) => ok)).toEqual([true, true, true]);
});

test("a lagging consumer finds every change that it has not read, after the lake's snapshots are gone", async () => {
  await using scene = await start();
  await scene.lake.addConsumer("slow", "early", "end");
  for (const round of [1, 2, 3, 4, 5]) {
    await change(scene, round);
    await scene.refresh();
  }
  const rows = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { row, weight } of await scene.lake.changes(undefined, { consumer: "slow" })) {
      found.push(`${weight} ${Object.values(row).join()}`);
    }
    return found;
  };
  const before = await rows();
  expect(before.length).toBeGreaterThan(0);
  const result = await scene.lake.maintain({ ...NOW, deletes: true });
  expect(result.retention.consumers).toMatchObject([{ name: "slow", held: true }]);
  expect(result.expired.length).toBeGreaterThan(5);
  expect(await rows()).toEqual(before);
});

test("warns before the lake's own setting expires what is needed, and says so when it has", async () => {
  await using scene = await start();
  await scene.sql("CALL lake.set_option('expire_older_than', '1 day')");
  expect(await scene.lake.retention()).toMatchObject({ expireOlderThanMs: 86_400_000, warnings: [] });
  await scene.sql("CALL lake.set_option('expire_older_than', '0 seconds')");
  await change(scene, 1);
  const soon = await scene.lake.retention();
  expect(soon.lastsMs).toBeLessThanOrEqual(0);
  expect(soon.warnings).toMatchObject([{ code: "snapshot_expires" }]);
  expect(soon.warnings[0]?.text).toMatch(/needed by .*view \w+ \(main\.t\).* at the next CHECKPOINT/);
  // What another program does, whom nobody has told.
  await scene.sql("CALL ducklake_expire_snapshots('lake', older_than => now())");
  const lost = await scene.lake.retention();
  expect(new Set(lost.warnings.map(({ code }) => code))).toContain("snapshot_lost");
  expect((await scene.refresh()).views.map(({ error }) => error)).toEqual([null, null, null]);
});

test("leaves alone what is younger than the grace time, whatever age is asked for", async () => {
  await using scene = await start();
  await change(scene, 1);
  await scene.refresh();
  const result = await scene.lake.maintain({ expireOlderThanMs: 0, deletes: true });
  expect(result.expired).toEqual([]);
  expect(result.steps.find(({ step }) => step === "clean_up")).toMatchObject({ status: "done", count: 0 });
  const reader = await scene.lake.connect();
  const old = await reader.runAndReadAll(`SELECT count(*) FROM t AT (VERSION => ${result.retention.oldest + 3n})`);
  expect(old.getRowsJS()).toHaveLength(1);
  reader.closeSync();
});
