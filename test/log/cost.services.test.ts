/** What it costs to find one key in a large log, counted where the requests pass by. */
import { randomBytes } from "node:crypto";
import { expect, inject, test } from "vitest";
import { startProxy } from "./proxy.js";
import { LogScene } from "./scene.js";

const ROWS = 1_000_000;

test("one key of a log of a million rows costs at most six requests and half a MiB", { timeout: 600_000 }, async () => {
  const { bucket, ...s3 } = inject("services").s3;
  await using proxy = await startProxy(s3.endpoint);
  const path = `s3://${bucket}/logs-${randomBytes(6).toString("hex")}`;
  const scene = await LogScene.start(
    { catalog: "duckdb", data: "folder" },
    { path, keep: { snapshots: 1_000n } },
    { s3: { ...s3, endpoint: proxy.endpoint } },
  );
  await using _closed = scene;
  await scene.sql(
    `CREATE TABLE t AS SELECT i AS id, 'name ' || (i * 7919 % ${ROWS}) AS name, i * 1.5 AS amount, i % 1000 AS kind FROM range(${ROWS}) r(i)`,
  );
  const definition = { name: "by_id", sql: "SELECT id, name, amount, kind FROM t", primaryKey: ["id"] };
  await scene.lake.define([definition]);
  expect((await scene.lake.refresh()).views).toMatchObject([
    { error: null, log: { kind: "base", rows: BigInt(ROWS) } },
  ]);

  const read = async (key: number) => {
    // A reader that has seen nothing yet.
    await scene.reopen();
    proxy.seen.length = 0;
    const found: string[] = [];
    for await (const line of (await scene.lake.state("by_id", { keys: [{ id: key }] })).jsonLines()) found.push(line);
    const requests = proxy.seen.filter(({ path: asked }) => asked.endsWith(".parquet"));
    return { found, requests: requests.length, bytes: requests.reduce((sum, { bytes }) => sum + bytes, 0) };
  };
  for (const key of [0, 543_210, ROWS - 1]) {
    const { found, requests, bytes } = await read(key);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`"id":${key},`);
    expect(requests, `requests for ${key}`).toBeLessThanOrEqual(6);
    expect(bytes, `bytes for ${key}`).toBeLessThanOrEqual(512 * 1024);
  }
  // A key between the least and the greatest that is not there.
  expect(await read(-5)).toEqual({ found: [], requests: 0, bytes: 0 });

  // Small changes elsewhere cost nothing: their files can't hold the key.
  for (const round of [1, 2, 3]) {
    await scene.sql(`UPDATE t SET amount = amount + 1 WHERE id BETWEEN ${round} AND ${round + 20}`);
    await scene.lake.refresh();
  }
  const after = await read(543_210);
  expect(after.found).toHaveLength(1);
  expect(after.requests).toBeLessThanOrEqual(6);
  expect(after.bytes).toBeLessThanOrEqual(512 * 1024);
});
