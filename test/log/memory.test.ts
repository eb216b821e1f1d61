import { join } from "node:path";
import { expect, test } from "vitest";
import { basesOf } from "./proof.js";
import { LogScene } from "./scene.js";

const ROWS = 1_400_000;

/** About 200 bytes a row that no compression makes smaller: some 280 MB against a limit of 200. */
const ROW =
  "SELECT i AS id, concat(md5(i::VARCHAR), md5((i + 1)::VARCHAR), md5((i * 3)::VARCHAR), md5((i * 5)::VARCHAR), md5((i * 7)::VARCHAR), md5((i * 11)::VARCHAR)) AS text";

test("a log that is larger than the memory is compacted", { timeout: 900_000 }, async () => {
  await using scene = await LogScene.start(
    { catalog: "duckdb", data: "folder" },
    { keep: { snapshots: 0n }, compact: "manual", fileBytes: 16 * 1024 * 1024 },
  );
  const engine = { threads: 1, memoryLimit: "200MB", tempDirectory: join(scene.place.folder, "spill") };
  await scene.sql(`CREATE TABLE t AS ${ROW} FROM range(${ROWS}) r(i)`);
  await scene.define([{ name: "wide", sql: "SELECT id, text FROM t", primaryKey: ["id"] }]);
  expect((await scene.lake.refresh()).views).toMatchObject([
    { error: null, log: { kind: "base", rows: BigInt(ROWS) } },
  ]);
  await scene.sql("DELETE FROM t WHERE id % 4 = 0");
  expect((await scene.lake.refresh()).views).toMatchObject([{ error: null, log: { kind: "segment" } }]);
  await scene.reopen({ ...scene.config, engine });
  const { logs } = await scene.lake.compact();
  const left = BigInt(ROWS - Math.ceil(ROWS / 4));
  expect(logs).toMatchObject([{ folds: 1, rows: left }]);
  const bases = basesOf(await scene.facts("wide"));
  expect(bases.length).toBeGreaterThan(3);
  expect(bases.reduce((sum, { bytes }) => sum + bytes, 0n)).toBeGreaterThan(60_000_000n);
  // Files of a base follow each other by key.
  const bounds = bases.flatMap(({ least, greatest }) =>
    [least, greatest].map((bound) => Number(JSON.parse(bound ?? "[]")[0])),
  );
  expect(bounds).toEqual(bounds.toSorted((a, b) => a - b));
});
