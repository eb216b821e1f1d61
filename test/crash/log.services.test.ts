/** Refreshes that write change logs, and compactions of these, killed before their statements in turn. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { LogScene } from "../log/scene.js";
import { type Task, Workers } from "./process.js";
import { change, ENGINE, ONE_VIEW, stepsOf, TABLES } from "./scene.js";

vi.setConfig({ testTimeout: 900_000 });

const VIEWS = [...ONE_VIEW, { name: "copies of/rows", sql: "SELECT v FROM a WHERE v < 3" }];

/** Nothing that is written may be swept while it is not registered yet. */
const LOG = { keep: { snapshots: 3n }, fanOut: 2, compact: "manual" } as const;

async function lakeWithLogs(): Promise<LogScene> {
  const scene = await LogScene.start({ catalog: "postgres", data: "folder" }, LOG, { engine: ENGINE });
  await scene.sql(...TABLES);
  await scene.define(VIEWS);
  await scene.refresh();
  return scene;
}

/** After the grace time there are the files that the lake knows, and no others. */
async function expectNoStrayFile(scene: LogScene): Promise<number> {
  const before = (await filesOf(scene)).length;
  await scene.reopen({ ...scene.config, log: { ...scene.config.log, graceMs: 0 } });
  await scene.lake.sweep();
  await scene.check();
  const registered = await scene.rows<{ file: string }>(
    "SELECT file FROM lake.ivm.segments WHERE file IS NOT NULL AND id NOT IN (SELECT id FROM lake.ivm.retired)",
  );
  const manifests = (await filesOf(scene)).filter((name) => name.endsWith("/manifest.json"));
  expect(manifests).toHaveLength(VIEWS.length);
  expect(await filesOf(scene)).toEqual([...registered.map(({ file }) => file), ...manifests].sort());
  await scene.reopen();
  return before - registered.length - manifests.length;
}

async function filesOf(scene: LogScene): Promise<string[]> {
  const entries = await readdir(scene.root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(scene.root.length + 1)).sort();
}

/** Runs the task in processes that die at each step of it; `prepare` makes work for it, `rerun` does it in the end. */
async function killed(
  scene: LogScene,
  task: Task,
  density: { readonly inside: number; readonly outside: number },
  prepare: () => Promise<void>,
  rerun: () => Promise<void>,
): Promise<number> {
  await using workers = new Workers(scene.config, true);
  await prepare();
  const undisturbed = await workers.run(task);
  if (undisturbed.killed) throw new Error("nobody was to be killed");
  await scene.keep();
  const steps = stepsOf(undisturbed.statements, density);
  for (const [index, step] of steps.entries()) {
    await prepare();
    expect(await workers.run({ ...task, before: step }), `step ${step}`).toEqual({ killed: true });
    // Where it died after the commit, the view and its log have moved together.
    await scene.keep();
    await rerun();
    // Looking at everything takes longer than dying.
    if (index % 4 === 3) await scene.check();
  }
  return steps.length;
}

test("a refresh killed at a step leaves view and log together, and a rerun does the rest", async () => {
  await using scene = await lakeWithLogs();
  let changes = 0;
  const prepare = () => change(scene.connection, changes++);
  const rerun = async () => {
    await scene.refresh();
    if (changes % 4 === 0) await scene.lake.compact();
  };
  const deaths = await killed(scene, { action: "refresh" }, { inside: 4, outside: 16 }, prepare, rerun);
  expect(deaths).toBeGreaterThan(6);
  expect(await expectNoStrayFile(scene)).toBeGreaterThan(3);
});

test("a compaction killed at a step changes no answer, and a rerun does the rest", async () => {
  await using scene = await lakeWithLogs();
  let changes = 0;
  const prepare = async () => {
    for (let round = 0; round < 2; round += 1) {
      await change(scene.connection, changes++);
      await scene.lake.refresh();
      await scene.keep();
    }
  };
  const rerun = async () => {
    await scene.lake.compact();
  };
  const deaths = await killed(scene, { action: "compact" }, { inside: 2, outside: 6 }, prepare, rerun);
  expect(deaths).toBeGreaterThan(8);
  expect(await expectNoStrayFile(scene)).toBeGreaterThan(3);
});
