/** Refreshes, compactions, consumers and readers at once, each with a DuckDB of its own, on PostgreSQL and MinIO. */
import { expect, test, vi } from "vitest";
import { ConflictError, type Lake, open } from "../../src/index.js";
import { endOf, partsOf, positionsOf } from "./proof.js";
import { LogScene } from "./scene.js";

vi.setConfig({ testTimeout: 400_000 });

const VIEWS = [
  { name: "totals", sql: "SELECT g, sum(v) AS s, count(*) AS n FROM t GROUP BY g" },
  { name: "copies", sql: "SELECT v % 5 AS m FROM t" },
];

async function start(): Promise<LogScene> {
  const scene = await LogScene.start(
    { catalog: "postgres", data: "s3" },
    { keep: { snapshots: 20n }, fanOut: 2, compact: "manual" },
  );
  await scene.sql("CREATE TABLE t (g VARCHAR, v INTEGER)", "INSERT INTO t SELECT 'g' || i % 9, i FROM range(100) r(i)");
  await scene.define(VIEWS);
  await scene.refresh();
  return scene;
}

async function change(scene: LogScene, number: number): Promise<void> {
  await scene.sql(
    `UPDATE t SET v = v + 1 WHERE v % 11 = ${number % 11}`,
    `INSERT INTO t VALUES ('g${number % 9}', ${number})`,
  );
}

test("two compactions at once, beside refreshes: every answer stays what it was", async () => {
  await using scene = await start();
  const others = await Promise.all([0, 1].map(() => open(scene.config)));
  let folds = 0;
  for (let round = 0; round < 4; round += 1) {
    for (let number = 0; number < 3; number += 1) {
      await change(scene, round * 3 + number);
      await scene.refresh();
    }
    await change(scene, round);
    const [refreshed, ...compacted] = await Promise.all([
      scene.lake.refresh(),
      ...others.map((lake) => lake.compact()),
    ]);
    expect(refreshed.views.flatMap((view) => view.error ?? [])).toEqual([]);
    folds += compacted.flatMap(({ logs }) => logs).reduce((sum, log) => sum + log.folds, 0);
    await scene.keep();
    // Whoever published last has told the truth.
    await scene.refresh();
    await scene.check();
  }
  expect(folds).toBeGreaterThan(2);
  for (const lake of others) await lake.close();
});

test("a reader that began before a compaction finishes right", async () => {
  await using scene = await start();
  await using other: Lake = await open(scene.config);
  for (let number = 0; number < 6; number += 1) {
    await change(scene, number);
    await scene.refresh();
  }
  const facts = await scene.facts("totals");
  const [since = 0n] = positionsOf(facts);
  const linesOf = async (rows: { jsonLines(): AsyncIterable<string> }) => {
    const lines: string[] = [];
    for await (const line of rows.jsonLines()) lines.push(line);
    return lines;
  };
  const begin = async () => [await scene.lake.state("totals"), await scene.lake.changes("totals", { since })] as const;
  const before = await Promise.all((await begin()).map(linesOf));
  const readers = await begin();
  const compacted = await other.compact();
  expect(compacted.logs.map(({ folds, merges }) => folds + merges > 0)).toEqual([true, true]);
  expect(await Promise.all(readers.map(linesOf))).toEqual(before);
});

test("of two processes that move one consumer, one does", async () => {
  await using scene = await start();
  await using other: Lake = await open(scene.config);
  await scene.lake.addConsumer("twice", "totals", "end");
  for (let number = 0; number < 3; number += 1) {
    const { position } = (await scene.lake.consumers())[0] ?? {};
    await change(scene, number);
    await scene.refresh();
    const to = endOf(await scene.facts("totals")) ?? 0n;
    const moves = await Promise.allSettled(
      [scene.lake, other].map((lake) => lake.commitConsumer("twice", to, position)),
    );
    const outcomes = moves.map((move) => (move.status === "fulfilled" ? move.value : move.reason));
    expect(outcomes.filter((outcome) => outcome === true)).toHaveLength(1);
    expect(
      outcomes.filter((outcome) => outcome instanceof ConflictError && outcome.code === "consumer_moved"),
    ).toHaveLength(1);
  }
});

test("a consumer that registers or moves beside compactions keeps its position", async () => {
  await using scene = await start();
  await using other: Lake = await open(scene.config);
  for (let round = 0; round < 4; round += 1) {
    for (let number = 0; number < 3; number += 1) {
      await change(scene, round * 5 + number);
      await scene.refresh();
    }
    const positions = positionsOf(await scene.facts("totals"));
    const at = positions.at(-3) ?? 0n;
    const name = `reader ${round}`;
    const [registered] = await Promise.allSettled([scene.lake.addConsumer(name, "totals", at), other.compact()]);
    if (registered.status === "rejected") {
      // The compaction was faster, and the position is gone: then it is told.
      expect(registered.reason).toMatchObject({ code: "log_position_lost" });
      continue;
    }
    const changes = await scene.lake.changes(undefined, { consumer: name });
    expect(changes.from).toBe(at);
    let copies = 0;
    for await (const line of changes.jsonLines()) copies += partsOf(line).weight;
    expect(Number.isInteger(copies)).toBe(true);
    await scene.lake.removeConsumer(name);
  }
  await scene.check();
});
