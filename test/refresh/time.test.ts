import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { Scene } from "../hazards/scene.js";

test("rows enter and leave as time passes, by a term of its own, and at one horizon only once", async () => {
  await using scene = await Scene.start();
  await scene.sql(
    "CREATE TABLE t (id INTEGER, k INTEGER, moment TIMESTAMPTZ)",
    "INSERT INTO t SELECT i, i % 3, now() + to_milliseconds(i * 500 - 5000) FROM range(20) r(i)",
  );
  await scene.define({
    past: "SELECT id, moment FROM t WHERE moment < now()",
    ahead: "SELECT k, count(*) AS n, max(id) AS last FROM t WHERE moment > now() GROUP BY k",
    overdue: "SELECT k FROM t GROUP BY k HAVING min(moment) < now() - INTERVAL 4 SECOND",
    joined: "SELECT count(*) AS n FROM past JOIN ahead ON past.id = ahead.last",
  });
  await setTimeout(1100);
  // The time of a refresh is that of its horizon's commit, so something must be committed for it to move.
  await scene.sql("CREATE TABLE other (a INTEGER)");
  const moved = await scene.refresh();
  const [ahead] = moved.views.filter((view) => view.view === "ahead");
  expect(ahead).toMatchObject({ strategy: "incremental", terms: { total: 2, run: 1, skipped: 1 } });
  const [past] = moved.views.filter((view) => view.view === "past");
  expect(past?.rows.inserted).toBeGreaterThanOrEqual(2n);
  expect(past?.rows.deleted).toBe(0n);
  // The table did not change, and at the same horizon neither does the time.
  expect((await scene.lake.refresh({ toSnapshot: moved.horizon })).status).toBe("unchanged");
  await scene.sql("DELETE FROM t WHERE id < 3", "INSERT INTO t VALUES (50, 1, now()), (51, 2, NULL)");
  const changed = await scene.refresh();
  expect(changed.views.map((view) => view.strategy)).not.toContain("recompute");
  expect((await scene.lake.verify()).map((view) => view.ok)).toEqual([true, true, true, true]);
});

test("the time of the last refresh is recorded, so that it outlives its snapshot", async () => {
  await using scene = await Scene.start();
  await scene.sql(
    "CREATE TABLE t (id INTEGER, moment TIMESTAMPTZ)",
    "INSERT INTO t SELECT i, now() + to_milliseconds(i * 300) FROM range(10) r(i)",
  );
  await scene.define({ past: "SELECT id FROM t WHERE moment < now()" });
  const recorded = await scene.value("SELECT instant FROM lake.ivm.progress");
  const horizon = await scene.value("SELECT horizon FROM lake.ivm.progress");
  const committed = `SELECT snapshot_time::VARCHAR FROM ducklake_snapshots('lake') WHERE snapshot_id = ${horizon}`;
  expect(recorded).toBe(await scene.value(committed));
  expect(recorded).toBe(await scene.value("SELECT instant FROM lake.ivm.runs"));
  await setTimeout(700);
  await scene.refresh();
  await scene.sql("CALL ducklake_expire_snapshots('lake', older_than => now())");
  await setTimeout(700);
  await scene.refresh();
  // A lake that does not say for which time a view was made: nothing can be taken away from what is not known.
  await scene.sql("UPDATE lake.ivm.progress SET instant = NULL");
  const [view] = (await scene.refresh()).views;
  expect(view).toMatchObject({ strategy: "recompute", reason: { code: "time_unknown" } });
});

test("explain shows what the time does", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE t (id INTEGER, moment TIMESTAMPTZ)");
  await scene.define({ past: "SELECT id FROM t WHERE moment < now()" });
  const explained = await scene.lake.explain("past");
  expect(explained.strategy).toBe("incremental");
  expect(explained.terms.map((term) => [term.source, term.status])).toEqual([
    ["main.t", "skipped"],
    ["now()", "ran"],
  ]);
  expect(explained.terms[1]?.sql).toMatch(/AT \(VERSION => \d+\)/);
  expect(explained.plan?.children[0]?.strategy).toBe("linear; rows that enter or leave as time passes");
});
