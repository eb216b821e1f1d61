/** Deltas several times larger than the memory limit. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { type LakeConfig, open } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";

const ROWS = 1_200_000;
const ROW =
  "SELECT i AS id, i % 90000 AS g, 'p' || (hash(i) % 5000) AS product, (i % 1000)::DECIMAL(12, 2) AS amount, md5(i::VARCHAR) AS note";

test("a delta that is larger than the memory is applied and logged; what can't be done in it is a clear error", {
  timeout: 300_000,
}, async () => {
  await using place = await tempLake();
  const config: LakeConfig = { ...place.config, log: { path: join(place.folder, "log"), compact: "manual" } };
  const engine = { threads: 2, tempDirectory: join(place.folder, "spill") };
  {
    await using lake = await open({ ...config, engine });
    const writer = await lake.connect();
    await writer.run(`CREATE TABLE t AS ${ROW} FROM range(${ROWS}) r(i)`);
    await lake.define([
      { name: "lines", sql: "SELECT * FROM t", primaryKey: ["id"], refresh: "incremental" },
      { name: "sums", sql: "SELECT g, count(*) AS n, sum(amount) AS s FROM t GROUP BY g", refresh: "incremental" },
    ]);
    expect((await lake.refresh()).views.map(({ error }) => error)).toEqual([null, null]);
    await writer.run("UPDATE t SET amount = amount + 1, note = reverse(note) WHERE id % 3 > 0");
    writer.closeSync();
  }
  {
    // 1.6 million rows of some 100 bytes.
    // By one thread: each has buffers of its own, and those of two leave hardly anything of so little.
    await using lake = await open({ ...config, engine: { ...engine, threads: 1, memoryLimit: "80MB" } });
    const { views } = await lake.refresh();
    expect(views.map(({ view, strategy, error }) => [view, strategy, error])).toEqual([
      ["lines", "incremental", null],
      ["sums", "incremental", null],
    ]);
    expect(views[0]).toMatchObject({ rows: { inserted: 800_000n, deleted: 800_000n } });
  }
  {
    await using lake = await open({ ...config, engine: { ...engine, memoryLimit: "80MB" } });
    // One value that no disk helps with.
    await lake.define([{ name: "whole", sql: "SELECT string_agg(note, ',' ORDER BY id) AS notes FROM t" }]);
    const { views } = await lake.refresh({ views: ["whole"] });
    expect(views).toMatchObject([
      { error: { code: "out_of_memory", hint: expect.stringMatching(/memory_limit.*threads.*temp_directory/) } },
    ]);
  }
  await using lake = await open({ ...config, engine });
  expect((await lake.verify({ views: ["lines", "sums"] })).map(({ ok }) => ok)).toEqual([true, true]);
});
