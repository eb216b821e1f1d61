/** What is removed below a log root, and what never is. */
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { LogScene } from "./scene.js";

const AN_ID = "7b0c1f7e-9a35-4a61-8a7e-2c5a3d0e9f11";

async function start(log: { path?: string; graceMs?: number }): Promise<LogScene> {
  const scene = await LogScene.start({ catalog: "duckdb", data: "folder" }, { ...log, keep: { snapshots: 1n } });
  await scene.sql("CREATE TABLE t (g VARCHAR, v INTEGER)", "INSERT INTO t VALUES ('a', 1), ('b', 2)");
  await scene.define([{ name: "v", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" }]);
  await scene.refresh();
  return scene;
}

async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

test("old files that nothing registers go, and nothing else: not another lake's, not anybody else's", async () => {
  await using scene = await start({});
  // The manifest is of one lake, and the other one does not take it.
  const handOver = () => rm(join(scene.root, "v/manifest.json"));
  await handOver();
  await using other = await start({ path: scene.root });
  const mark = (await scene.facts("v")).entries[0]?.file?.split("-")[3];
  const names = {
    stray: `v/segment-8-9-${mark}-${AN_ID}.parquet`,
    unfinished: `v/base-9-0-${mark}-${AN_ID}-${AN_ID}.parquet`,
    young: `v/segment-9-10-${mark}-${AN_ID}.parquet`,
    foreign: `v/segment-8-9-0123456789ab-${AN_ID}.parquet`,
    notes: "v/notes.parquet",
    root: "somebody.parquet",
    deep: `v/deep/segment-8-9-${mark}-${AN_ID}.parquet`,
  };
  await mkdir(join(scene.root, "v/deep"));
  for (const name of Object.values(names)) {
    await writeFile(join(scene.root, name), "x");
    const longAgo = Date.now() / 1_000 - 3 * 3_600;
    if (name !== names.young) await utimes(join(scene.root, name), longAgo, longAgo);
  }
  const before = await filesOf(scene.root);
  expect((await scene.lake.sweep({ dryRun: true })).files.toSorted()).toEqual([names.unfinished, names.stray].sort());
  expect(await filesOf(scene.root)).toEqual(before);
  expect(await scene.lake.sweep()).toMatchObject({ bytes: 2n });
  const gone = [names.stray, names.unfinished].map((name) => join(scene.root, name));
  expect(await filesOf(scene.root)).toEqual(before.filter((name) => !gone.includes(name)));
  await other.refresh();
  await other.check();
  await handOver();
  await scene.refresh();
  await scene.check();
});

test("files that a compaction took out of the log stay for the grace time", async () => {
  await using scene = await start({});
  for (const value of [1, 2, 3]) {
    await scene.sql(`INSERT INTO t VALUES ('a', ${value})`);
    await scene.refresh();
  }
  const before = await filesOf(scene.root);
  await scene.lake.compact();
  expect(await filesOf(scene.root)).toEqual(expect.arrayContaining(before));
  const hasty = { ...scene.config, log: { ...scene.config.log, graceMs: 0 } };
  await scene.reopen(hasty);
  const { files } = await scene.lake.sweep();
  expect(files.length).toBeGreaterThan(2);
  expect(await scene.value("SELECT count(*) FROM lake.ivm.retired")).toBe(0n);
  await scene.check();
});

test("a file that was written so long ago that it may be swept is never registered", async () => {
  await using scene = await start({});
  await scene.reopen({ ...scene.config, log: { ...scene.config.log, graceMs: 0 } });
  const before = await scene.facts("v");
  await scene.sql("INSERT INTO t VALUES ('a', 5)");
  const failed = await scene.lake.refresh();
  expect(failed.views).toMatchObject([
    { status: "failed", error: { code: "log_file_old", hint: expect.stringContaining("log.grace") } },
  ]);
  expect(await scene.facts("v")).toEqual(before);
  await scene.reopen();
  await scene.refresh();
  await scene.check();
});

test("a log root that can't be written to is told", async () => {
  await using scene = await start({});
  const path = join(scene.place.folder, "a file");
  await writeFile(path, "");
  await scene.reopen({ ...scene.config, log: { path } });
  await scene.sql("INSERT INTO t VALUES ('a', 5)");
  expect((await scene.lake.refresh()).views).toMatchObject([{ status: "failed", error: { code: "log_store" } }]);
});

test("without a log path there is nothing to ask", async () => {
  await using scene = await start({});
  await scene.reopen(scene.withoutLog);
  await expect(scene.lake.changes("v", { since: 0n })).rejects.toMatchObject({ code: "log_off" });
  await expect(scene.lake.compact()).rejects.toMatchObject({ code: "log_off" });
  await expect(
    open({
      ...scene.config,
      catalog: join(scene.place.folder, "new.ducklake"),
      dataPath: scene.place.folder,
      log: { path: "x", fanOut: 1 },
    }),
  ).rejects.toMatchObject({ code: "log_fan_out" });
});

test("a name in the registry that leaves the log root has no file removed", async () => {
  await using scene = await start({});
  const mark = (await scene.facts("v")).entries[0]?.file?.split("-")[3];
  const names = ["../victim.parquet", `../segment-1-2-${mark}-${AN_ID}.parquet`, "v/notes.parquet"];
  for (const [index, name] of names.entries()) {
    await writeFile(join(scene.root, name), "x");
    await scene.sql(
      `INSERT INTO ivm.segments SELECT * REPLACE ('evil ${index}' AS id, '${name}' AS file) FROM ivm.segments LIMIT 1`,
      `INSERT INTO ivm.retired VALUES ('evil ${index}', 'v', '${name}', now() - INTERVAL 1 DAY)`,
    );
  }
  await scene.sql("INSERT INTO t VALUES ('a', 3)");
  await scene.refresh();
  await scene.lake.sweep();
  for (const name of names) expect(existsSync(join(scene.root, name)), name).toBe(true);
  await scene.check();
});
