import { join } from "node:path";
import { expect, test } from "vitest";
import { MirrorScene } from "./mirror.js";
import { mirrors } from "./suite.js";

mirrors("duckdb", 4);

test("what can't be replayed is told before anything is attached", async () => {
  await using scene = await MirrorScene.start("duckdb");
  await scene.sql("CREATE TABLE t AS SELECT range AS v FROM range(3)");
  await scene.lake.define([{ name: "bag", sql: "SELECT v % 2 AS v FROM t" }]);
  await scene.refresh();
  await scene.lake.addConsumer("c", "bag");
  const code = (more: object) =>
    scene.lake.replay({ consumer: "c", into: "duckdb:x.db.t", ...more }).then(
      () => "none",
      (error) => error.code,
    );
  expect(await code({ consumer: "nobody" })).toBe("consumer_unknown");
  expect(await code({ view: "other" })).toBe("log_unknown");
  expect(await code({})).toBe("replay_no_key");
  for (const into of [
    "mirror.db",
    "oracle:x.t",
    "duckdb:",
    "duckdb:mirror",
    "duckdb:mirror.db",
    "duckdb:mirror.d/b",
    "postgres:dbname=a.b",
  ]) {
    expect(await code({ into }), into).toBe("replay_target");
  }
});

test("a file that can't be made is told of as the target's", async () => {
  await using scene = await MirrorScene.start("duckdb");
  await scene.sql("CREATE TABLE t AS SELECT 1 AS id, 2 AS v");
  await scene.lake.define([{ name: "rows", sql: "SELECT id, v FROM t", primaryKey: ["id"] }]);
  await scene.refresh();
  await scene.lake.addConsumer("c", "rows");
  const file = join(scene.place.folder, "none", "mirror.db");
  for (const into of [`duckdb:${file}`, `ducklake:${file}`]) {
    const error = await scene.lake.replay({ consumer: "c", into, table: "t" }).catch((reason) => reason);
    expect(error).toMatchObject({
      code: "replay_target_unreachable",
      hint: expect.stringContaining("target's address"),
    });
    expect(error.message).toMatch(/^The target can't be opened\. IO Error/);
    expect(error.message).toContain(file);
  }
});
