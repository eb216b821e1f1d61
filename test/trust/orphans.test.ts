/** Data files of the lake that nothing knows of: those of killed writers go, and those of live ones stay. */
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { diagnose, type LakeConfig, open } from "../../src/index.js";
import { Worker } from "../crash/process.js";
import { Scene } from "../hazards/scene.js";
import { tempLake } from "../setup/lake.js";

vi.setConfig({ testTimeout: 300_000 });

const HOUR_MS = 3_600_000;
const ORPHANS = { orphansOlderThanMs: HOUR_MS } as const;
const SUMS = { name: "sums", sql: "SELECT k, sum(v) AS s FROM t GROUP BY k" };

async function dataFiles(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, "data"), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function change(config: LakeConfig): Promise<void> {
  await using lake = await open(config);
  const writer = await lake.connect();
  await writer.run("INSERT INTO t SELECT i % 5, i FROM range(20) r(i)");
  writer.closeSync();
}

/** As if they had been written two hours ago. */
async function age(files: readonly string[]): Promise<void> {
  const time = new Date(Date.now() - 2 * HOUR_MS);
  for (const file of files) await utimes(file, time, time);
}

test("what a killed refresh left in the data path is removed when it is old enough, beside a live writer", async () => {
  await using place = await tempLake();
  const setUp = await open(place.config);
  const connection = await setUp.connect();
  await connection.run("CALL lake.set_option('data_inlining_row_limit', 0)");
  await connection.run("CREATE TABLE t AS SELECT (i % 5)::INTEGER AS k, i::INTEGER AS v FROM range(100) r(i)");
  await setUp.define([SUMS]);
  await setUp.refresh();
  connection.closeSync();
  await setUp.close();
  await change(place.config);
  const undisturbed = await (await Worker.start(place.config, false)).run({ action: "refresh" });
  if (undisturbed.killed) throw new Error("nobody was to be killed");
  const moved = undisturbed.statements.findIndex((sql) => sql.includes('"progress" SET horizon'));
  const commit = undisturbed.statements.indexOf("COMMIT", moved);
  await change(place.config);
  const before = await dataFiles(place.folder);
  const worker = await Worker.start(place.config, false);
  expect(await worker.run({ action: "refresh", before: commit + 1 })).toEqual({ killed: true });
  await using lake = await open(place.config);
  const strays = (await dataFiles(place.folder)).filter((file) => !before.includes(file));
  expect(strays.length).toBeGreaterThan(0);

  const writer = await lake.connect();
  await writer.run("BEGIN");
  await writer.run("INSERT INTO t SELECT 9, i FROM range(50) r(i)");
  const orphans = async (deletes: boolean) =>
    (await lake.maintain({ ...ORPHANS, deletes })).steps.find(({ step }) => step === "orphans");
  expect(await orphans(true)).toMatchObject({ status: "done", count: 0 });
  await age(strays);
  expect(await orphans(false)).toMatchObject({ status: "told", count: strays.length });
  expect(await orphans(true)).toMatchObject({ status: "done", count: strays.length });
  const left = await dataFiles(place.folder);
  expect(left.filter((file) => strays.includes(file))).toEqual([]);
  await writer.run("COMMIT");
  writer.closeSync();

  expect((await lake.refresh()).views).toMatchObject([{ status: "refreshed", error: null }]);
  expect(await lake.verify()).toMatchObject([{ ok: true, rows: 6n }]);
  expect(await orphans(true)).toMatchObject({ count: 0 });
});

test("a run of ours that has been under way for longer than that meets a conflict, and loses nothing", async () => {
  await using scene = await Scene.start({ inlining: 0 });
  await scene.sql("CREATE TABLE t(k INT, v INT)", "INSERT INTO t SELECT i % 5, i FROM range(100) r(i)");
  await scene.define({ sums: SUMS.sql });
  const before = await dataFiles(scene.place.folder);
  const slow = await scene.lake.connect();
  await slow.run("BEGIN");
  await slow.run("INSERT INTO ivm.data_sums SELECT * FROM ivm.data_sums");
  await slow.run("UPDATE ivm.progress SET updated_at = now() WHERE view = 'sums'");
  await age((await dataFiles(scene.place.folder)).filter((file) => !before.includes(file)));
  const { steps } = await scene.lake.maintain({ ...ORPHANS, deletes: true });
  expect(steps.find(({ step }) => step === "orphans")).toMatchObject({ status: "done" });
  await expect(slow.run("COMMIT")).rejects.toThrow(/conflict/i);
  slow.closeSync();
  await scene.refresh();
  expect((await scene.lake.verify()).map(({ ok }) => ok)).toEqual([true]);
});

test("change logs in the data path are not taken for such files", async () => {
  await using place = await tempLake();
  const log = { path: join(place.folder, "data", "logs") };
  await using lake = await open({ ...place.config, log });
  await lake.define([]);
  await expect(lake.maintain(ORPHANS)).rejects.toMatchObject({ code: "log_in_data_path" });
  await expect(lake.maintain()).resolves.toBeDefined();
  await lake.close();
  const placeOf = async (config: LakeConfig) =>
    (await diagnose(config)).checks.find(({ name }) => name === "log_place");
  const remedy = expect.stringContaining("log.path");
  expect(await placeOf({ ...place.config, log })).toMatchObject({ status: "warning", remedy });
  const beside = { path: join(place.folder, "data-logs") };
  expect(await placeOf({ ...place.config, log: beside })).toMatchObject({ status: "ok", remedy: null });
});
