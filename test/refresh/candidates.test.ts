import { expect, test } from "vitest";
import type { ViewResult } from "../../src/index.js";
import { Scene } from "../hazards/scene.js";

async function scene(views: Readonly<Record<string, string>>): Promise<Scene> {
  const made = await Scene.start();
  await made.sql(
    "CREATE TABLE t (id INTEGER, k INTEGER, v INTEGER)",
    "INSERT INTO t SELECT i, i % 5, (i * 7919) % 1000 FROM range(1000) r(i)",
  );
  await made.define(views);
  return made;
}

const TOP = "SELECT id, v FROM t ORDER BY v DESC NULLS LAST, id LIMIT 5";

async function refreshed(made: Scene, view = "top"): Promise<ViewResult> {
  const result = await made.refresh();
  const [found] = result.views.filter((each) => each.view === view);
  if (found === undefined) throw new Error(`no result of ${view}`);
  return found;
}

test("rows that come, go and change places are followed while rows are left beyond those that are shown", async () => {
  await using made = await scene({
    top: TOP,
    behind: "SELECT v + 1 AS w FROM t WHERE k <> 2 ORDER BY k DESC, id LIMIT 4 OFFSET 3",
    counted: "SELECT count(*) AS n, sum(v) AS s FROM top",
  });
  expect(await made.value("SELECT count(*) FROM lake.ivm.data_top")).toBe("110");
  await made.sql("INSERT INTO t VALUES (9001, 1, 5000), (9002, 1, NULL), (9003, 3, 0)");
  expect(await refreshed(made)).toMatchObject({ strategy: "incremental", rows: { inserted: 1n, deleted: 1n } });
  await made.sql("DELETE FROM t WHERE v >= 990", "UPDATE t SET v = v + 100 WHERE id % 7 = 0");
  expect(await refreshed(made)).toMatchObject({ strategy: "incremental" });
  // Behind the last candidate nothing is of any concern.
  const held = await made.value("SELECT count(*) FROM lake.ivm.data_top");
  await made.sql("UPDATE t SET v = -1 WHERE v < 100");
  expect(await refreshed(made)).toMatchObject({ strategy: "incremental", rows: { inserted: 0n, deleted: 0n } });
  expect(await made.value("SELECT count(*) FROM lake.ivm.data_top")).toBe(held);
});

test("when too few rows are left the view is read anew, once", async () => {
  await using made = await scene({ top: TOP });
  await made.sql("DELETE FROM t WHERE v >= 890");
  expect(await refreshed(made)).toMatchObject({ strategy: "recompute", reason: { code: "candidates_exhausted" } });
  await made.sql("DELETE FROM t WHERE v >= 880");
  expect(await refreshed(made)).toMatchObject({ strategy: "incremental", reason: null });
});

test("with fewer rows than the LIMIT asks for all of them are held, and every change is followed", async () => {
  await using made = await scene({ top: "SELECT id, v FROM t WHERE k = 9 ORDER BY v, id LIMIT 5" });
  await made.sql("INSERT INTO t VALUES (1, 9, 10), (2, 9, 20)");
  expect(await refreshed(made)).toMatchObject({ strategy: "incremental", rows: { inserted: 2n, deleted: 0n } });
  await made.sql("INSERT INTO t VALUES (3, 9, 30), (4, 9, 5), (5, 9, NULL), (6, 9, 40), (7, 9, 50)");
  expect(await refreshed(made)).toMatchObject({ strategy: "incremental", rows: { inserted: 3n, deleted: 0n } });
  await made.sql("DELETE FROM t WHERE id = 4 AND k = 9", "INSERT INTO t VALUES (8, 9, 45)");
  expect(await refreshed(made)).toMatchObject({ strategy: "incremental", rows: { inserted: 1n, deleted: 1n } });
});

test("far too many rows are taken for the reason to be small again", async () => {
  await using made = await scene({ top: TOP });
  await made.sql("INSERT INTO t SELECT i, 1, i FROM range(2000, 5000) r(i)");
  expect(await refreshed(made)).toMatchObject({ strategy: "recompute", reason: { code: "candidates_exhausted" } });
  expect(await made.value("SELECT count(*) FROM lake.ivm.data_top")).toBe("110");
});
