import { setTimeout } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { Session } from "../../src/engine/session.js";
import { open, type ReplayResult } from "../../src/index.js";
import { MirrorScene } from "./mirror.js";
import { mirrors } from "./suite.js";

mirrors("postgres", 3);

const POSTGRES = { catalog: "postgres", data: "folder" } as const;
const ROWS = { name: "rows", primaryKey: ["id"], sql: "SELECT id, v FROM t" };

/** A lake with the view `rows` and a consumer of it that has not mirrored anything yet. */
async function mirroredRows(): Promise<MirrorScene> {
  const scene = await MirrorScene.start("postgres", POSTGRES);
  await scene.sql("CREATE TABLE t AS SELECT range AS id, 0 AS v FROM range(200)");
  await scene.lake.define([ROWS]);
  await scene.refresh();
  await scene.lake.addConsumer("c", "rows");
  return scene;
}

test("two replays of one consumer at once: each window is applied once", { timeout: 300_000 }, async () => {
  await using scene = await mirroredRows();
  await using other = await open(scene.config);
  const options = scene.options("c", "rows");
  let applied = 0;
  for (let round = 1; round <= 5; round += 1) {
    await scene.sql(`UPDATE t SET v = ${round} WHERE id % 5 = ${round % 5}`);
    await scene.refresh();
    const results = await Promise.all([
      scene.lake.replay(options),
      setTimeout(round * 20).then(() => other.replay(options)),
    ]);
    applied += results.filter(({ status }) => status === "applied").length;
    await scene.expectMirror("rows");
    expect((await scene.lake.consumers())[0]).toMatchObject({ windows: 0 });
  }
  expect(applied).toBe(5);
  expect(await scene.inTarget(`SELECT count(*) FROM target.${scene.schema}._ducklake_ivm_replay`)).toEqual([["2"]]);
});

test("a table that another replay makes right before the own transaction begins is not made again", async () => {
  await using scene = await mirroredRows();
  await using other = await open(scene.config);
  const options = scene.options("c", "rows");
  const { transaction } = Session.prototype;
  const faster: ReplayResult[] = [];
  const spy = vi.spyOn(Session.prototype, "transaction").mockImplementationOnce(async function (this: Session, work) {
    faster.push(await scene.lake.replay(options));
    return transaction.call(this, work) as never;
  });
  const late = await other.replay(options).finally(() => spy.mockRestore());
  expect([...faster, late].map(({ status, created }) => [status, created])).toEqual([
    ["applied", true],
    ["unchanged", false],
  ]);
  await scene.expectMirror("rows");
});

test("what PostgreSQL can't hold names the column or the value", async () => {
  await using scene = await MirrorScene.start("postgres");
  await scene.sql("CREATE TABLE t (id INTEGER, s VARCHAR)", "INSERT INTO t VALUES (1, 'a' || chr(0))");
  const long = "l".repeat(64);
  await scene.lake.define([
    { name: "nul", primaryKey: ["id"], sql: "SELECT id, s FROM t" },
    { name: "geo", primaryKey: ["id"], sql: "SELECT id, 'POINT (1 2)'::GEOMETRY AS place FROM t" },
    { name: "long", primaryKey: ["id"], sql: `SELECT id, s AS ${long} FROM t` },
  ]);
  await scene.refresh();
  for (const name of ["nul", "geo", "long"]) await scene.lake.addConsumer(name, name);
  await expect(scene.replay("nul")).rejects.toMatchObject({ code: "replay_refused", subject: { view: "nul" } });
  await expect(scene.replay("geo")).rejects.toMatchObject({ code: "replay_type", subject: { column: "place" } });
  await expect(scene.replay("long")).rejects.toMatchObject({ code: "replay_name" });
  // Nothing is left behind, not even the table of the rows' way.
  const tables = await scene.inTarget(
    `SELECT table_name FROM duckdb_tables() WHERE database_name = 'target' AND schema_name = '${scene.schema}'`,
  );
  expect(tables).toEqual([["_ducklake_ivm_replay"]]);
});

test("the target's password is in no error", async () => {
  await using scene = await MirrorScene.start("postgres");
  await scene.sql("CREATE TABLE t AS SELECT 1 AS id, 2 AS v");
  await scene.lake.define([ROWS]);
  await scene.refresh();
  await scene.lake.addConsumer("c", "rows");
  for (const into of [
    "postgres:dbname=x host=127.0.0.1 port=1 user=me password='geh eim-73'",
    "postgres://me:geh%20eim-73@127.0.0.1:1/x",
  ]) {
    const error = await scene.lake.replay({ consumer: "c", into, table: "t" }).catch((reason) => reason);
    expect(error.code).toBe("replay_target_unreachable");
    const told = [error.message, error.hint, error.stack, String(error.cause), String(error.cause?.cause)].join("\n");
    expect(told).not.toMatch(/eim-73/);
  }
});

test("a large window goes through without being held in memory", { timeout: 300_000 }, async () => {
  await using scene = await MirrorScene.start("postgres");
  await scene.sql("CREATE TABLE t AS SELECT range AS id, md5(range::VARCHAR) AS v FROM range(300000)");
  await scene.lake.define([ROWS]);
  await scene.refresh();
  await scene.lake.addConsumer("c", "rows");
  const before = process.memoryUsage().heapUsed;
  await scene.replay("c", "rows");
  await scene.sql("UPDATE t SET v = 'x' || v");
  await scene.refresh();
  expect(await scene.replay("c", "rows")).toMatchObject({ rows: { inserted: 300_000n, deleted: 300_000n } });
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
  const path = `target.${scene.schema}.rows`;
  expect(
    await scene.inTarget(`SELECT count(*), count(DISTINCT id), count(*) FILTER (v LIKE 'x%') FROM ${path}`),
  ).toEqual([["300000", "300000", "300000"]]);
});
