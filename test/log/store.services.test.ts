/** Change logs in object storage that fails, is slow, loses answers, or holds what somebody else wrote. */
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import type { LogConfig } from "../../src/index.js";
import { S3Store } from "../../src/log/s3-store.js";
import { endOf, readManifest, segmentsOf } from "./proof.js";
import { type Fate, type StoreProxy, startProxy } from "./proxy.js";
import { LogScene } from "./scene.js";

vi.setConfig({ testTimeout: 240_000 });

const VIEW = { name: "totals", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" };

let proxy: StoreProxy;
let scene: LogScene;

beforeEach(async () => {
  proxy = await startProxy(inject("services").s3.endpoint);
  scene = await logOnProxy({ keep: { snapshots: 3n }, fanOut: 2, compact: "manual" });
  await scene.sql("CREATE TABLE t (g VARCHAR, v INTEGER)", "INSERT INTO t SELECT 'g' || i % 3, i FROM range(20) r(i)");
  await scene.define([VIEW]);
  await scene.refresh();
});

afterEach(async () => {
  proxy.rule = () => "pass";
  await scene[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

function logOnProxy(log: Partial<LogConfig>): Promise<LogScene> {
  const { bucket, ...s3 } = inject("services").s3;
  const path = `s3://${bucket}/logs-${randomBytes(6).toString("hex")}`;
  return LogScene.start(
    { catalog: "duckdb", data: "folder" },
    { path, ...log },
    { s3: { ...s3, endpoint: proxy.endpoint } },
  );
}

async function change(number: number): Promise<void> {
  await scene.sql(`INSERT INTO t VALUES ('g${number % 3}', ${number}), ('new ${number}', 1)`);
}

/** A store on MinIO itself, for what other programs do there. */
function elsewhere(): S3Store {
  return new S3Store(scene.root, inject("services").s3, undefined);
}

const isWrite = (method: string, path: string, what: RegExp): boolean =>
  method !== "GET" && method !== "HEAD" && what.test(path);

describe("a refresh while the storage", () => {
  const failures: readonly (readonly [string, Fate])[] = [
    ["answers 503", { status: 503 }],
    ["answers 403", { status: 403 }],
    ["cuts connections", "cut"],
    ["does not answer at all", "stall"],
  ];

  test.each(failures)("%s fails plainly, leaves nothing half-written, and is right the next time", async (_, fate) => {
    const before = await scene.facts("totals");
    await change(1);
    proxy.rule = (method, path) => (isWrite(method, path, /segment-/) ? fate : "pass");
    const startedAt = performance.now();
    const failed = await scene.lake.refresh();
    expect(performance.now() - startedAt).toBeLessThan(120_000);
    expect(failed.views).toMatchObject([
      {
        status: "failed",
        error: {
          code: fate === failures[1]?.[1] ? "storage_denied" : "log_store",
          hint: expect.stringMatching(/log\.path/),
        },
      },
    ]);
    expect(failed.views[0]?.error?.message).toContain("totals/segment-");
    expect(await scene.facts("totals")).toEqual(before);
    expect(await scene.value("SELECT horizon FROM lake.ivm.progress")).toBe(endOf(before));

    proxy.rule = () => "pass";
    await scene.refresh();
    await scene.check();
    expect(segmentsOf(await scene.facts("totals"))).toHaveLength(1);
  });

  test("is slow takes its time", async () => {
    await change(1);
    proxy.rule = () => ({ delayMs: 300 });
    await scene.refresh();
    proxy.rule = () => "pass";
    await scene.check();
  });

  test("refuses only the manifest succeeds with a warning, and the next one repairs it", async () => {
    await change(1);
    proxy.rule = (method, path) => (isWrite(method, path, /manifest\.json$/) ? { status: 500 } : "pass");
    const result = await scene.lake.refresh();
    expect(result).toMatchObject({
      status: "refreshed",
      warnings: [{ code: "log_store", text: expect.stringContaining("manifest.json") }],
    });
    await scene.keep();
    const facts = await scene.facts("totals");
    expect(await readManifest(scene, facts)).not.toMatchObject({ end: Number(endOf(facts)) });
    proxy.rule = () => "pass";
    expect(await scene.refresh()).toMatchObject({ status: "unchanged", warnings: [] });
    await scene.check();
  });
});

describe("a compaction while the storage", () => {
  test.each([
    [
      "answers 503 to what it writes",
      (method: string, path: string) => isWrite(method, path, /(segment|base)-/),
      { status: 503 },
    ],
    [
      "cuts connections of what it reads",
      (method: string, path: string) => method === "GET" && /segment-/.test(path),
      "cut",
    ],
  ] as const)("%s fails plainly and can be run again", async (_, concerns, fate) => {
    for (const number of [1, 2, 3, 4]) {
      await change(number);
      await scene.refresh();
    }
    const before = await scene.facts("totals");
    proxy.rule = (method, path) => (concerns(method, path) ? fate : "pass");
    await expect(scene.lake.compact()).rejects.toMatchObject({
      code: expect.stringMatching(/^(log_store|storage_unreachable)$/),
    });
    expect(await scene.facts("totals")).toEqual(before);
    proxy.rule = () => "pass";
    expect((await scene.lake.compact()).logs).toMatchObject([{ log: "totals", folds: 1 }]);
    await scene.check();
  });
});

describe("the manifest", () => {
  test("is known again where the answer to its writing was lost", async () => {
    await change(1);
    proxy.seen.length = 0;
    let lost = 0;
    proxy.rule = (method, path) => (isWrite(method, path, /manifest\.json$/) && lost++ === 0 ? "lose answer" : "pass");
    await scene.refresh();
    const writes = proxy.seen.filter(({ method, path }) => method === "PUT" && /manifest\.json$/.test(path));
    // The first one won, its repetition by the SDK lost against it, and nothing was written a third time.
    expect(writes.map(({ status }) => status)).toEqual([200, 412]);
    await scene.check();
  });

  test.each([
    ["missing", undefined],
    ["garbage", "\u0000 this is no JSON {"],
    ["another format", JSON.stringify({ format_version: 99, commit: 7 })],
  ])("is repaired by refresh and by compact where it is %s", async (_, text) => {
    for (const repair of [() => scene.refresh(), () => scene.lake.compact()]) {
      const store = elsewhere();
      const found = await store.readText("totals/manifest.json");
      if (text === undefined) await store.remove(["totals/manifest.json"]);
      else expect(await store.swapText("totals/manifest.json", text, found?.tag)).toBe(true);
      store.close();
      await repair();
      await scene.check();
    }
  });

  test("is repaired where it is stale", async () => {
    const store = elsewhere();
    const stale = await store.readText("totals/manifest.json");
    await change(1);
    await scene.refresh();
    const found = await store.readText("totals/manifest.json");
    expect(await store.swapText("totals/manifest.json", stale?.text ?? "", found?.tag)).toBe(true);
    store.close();
    await scene.refresh();
    await scene.check();
  });

  test("of a view that was dropped is swept, and that of another lake is not", async () => {
    const store = elsewhere();
    const other = JSON.stringify({ format_version: 1, lake: "another", log: "theirs", commit: "x" });
    expect(await store.swapText("theirs/manifest.json", other, undefined)).toBe(true);
    await scene.define([]);
    const { swept } = await scene.lake.compact();
    expect(swept.files).toEqual(["totals/manifest.json"]);
    expect(await store.readText("totals/manifest.json")).toBeUndefined();
    expect((await store.readText("theirs/manifest.json"))?.text).toBe(other);
    store.close();
  });

  test("can be swapped by one of two only", async () => {
    const [one, two] = [elsewhere(), elsewhere()];
    const found = await one.readText("totals/manifest.json");
    const swaps = await Promise.all(
      [one, two].map((store, index) => store.swapText("totals/manifest.json", `${index}`, found?.tag)),
    );
    expect(swaps.filter(Boolean)).toHaveLength(1);
    const news = await Promise.all(
      [one, two].map((store, index) => store.swapText("new/manifest.json", `${index}`, undefined)),
    );
    expect(news.filter(Boolean)).toHaveLength(1);
    for (const store of [one, two]) store.close();
  });
});
