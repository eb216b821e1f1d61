/** Commits that another run's commit came before: only what the conflict has undone is done again. */
import { DuckDBConnection } from "@duckdb/node-api";
import { afterEach, expect, test, vi } from "vitest";
import type { RefreshEvent, RefreshResult } from "../../src/index.js";
import { Scene } from "../hazards/scene.js";

afterEach(() => {
  vi.restoreAllMocks();
});

const VIEWS = { sums: "SELECT k, sum(v) AS s FROM t GROUP BY k", other: "SELECT v FROM u" };

async function start(log = false): Promise<Scene> {
  const scene = await Scene.start(log ? { log: { compact: "manual" } } : {});
  await scene.sql(
    "CREATE TABLE t(k INT, v INT)",
    "CREATE TABLE u(v INT)",
    "INSERT INTO t SELECT i % 9, i FROM range(90) r(i)",
  );
  await scene.define(VIEWS);
  await scene.sql("UPDATE t SET v = v + 1 WHERE k = 3", "DELETE FROM t WHERE k = 4", "INSERT INTO t VALUES (77, 1)");
  return scene;
}

/**
 * Another program's commits, each just before one of the run's own. A real other process could not be told when.
 * @param statements what the other program does before the first commit of the view, before the second, and so on.
 */
function racing(scene: Scene, statements: readonly string[]): void {
  const left = [...statements];
  let moving = false;
  const original = DuckDBConnection.prototype.runAndReadAll;
  vi.spyOn(DuckDBConnection.prototype, "runAndReadAll").mockImplementation(async function (
    this: DuckDBConnection,
    ...call: Parameters<typeof original>
  ) {
    const [sql] = call;
    if (sql.startsWith("UPDATE") && sql.includes('"progress" SET horizon')) moving = true;
    if (sql === "COMMIT" && moving) {
      moving = false;
      const statement = left.shift();
      if (statement !== undefined) await scene.writer.run(statement);
    }
    return original.apply(this, call);
  });
}

async function refresh(scene: Scene): Promise<{ result: RefreshResult; events: RefreshEvent["kind"][] }> {
  const events: RefreshEvent["kind"][] = [];
  const result = await scene.refresh({ views: ["sums"], onProgress: ({ kind }) => events.push(kind) });
  return { result, events: events.filter((kind) => kind === "computing" || kind === "retrying") };
}

const OTHER_VIEW = "UPDATE ivm.progress SET updated_at = now() WHERE view = 'other'";

test.each([false, true])("another view's run: the work is not done again (with a change log: %s)", async (log) => {
  await using scene = await start(log);
  const since = BigInt(await scene.value("SELECT horizon FROM ivm.progress WHERE view = 'sums'"));
  racing(scene, [OTHER_VIEW, OTHER_VIEW, OTHER_VIEW]);
  const { result, events } = await refresh(scene);
  expect(events).toEqual(["computing"]);
  expect(result.views).toMatchObject([
    { status: "refreshed", strategy: "incremental", rows: { inserted: 2n, deleted: 2n } },
  ]);
  const runs = await scene.rows("(SELECT strategy FROM ivm.runs WHERE view = 'sums')");
  expect(runs).toEqual(["(incremental)", "(initial)"]);
  if (!log) return;
  const changes: string[] = [];
  for await (const { row, weight } of await scene.lake.changes("sums", { since })) {
    changes.push(`${row.k} ${weight}`);
  }
  expect(changes.sort()).toEqual(["3 -1", "3 1", "4 -1", "77 1"]);
});

test("a run of the same view: it is planned anew", async () => {
  await using scene = await start();
  racing(scene, ["UPDATE ivm.progress SET run_id = 'another' WHERE view = 'sums'"]);
  const { events } = await refresh(scene);
  expect(events).toEqual(["computing", "retrying", "computing"]);
});

test("a write to the view's own table: the view is recomputed", async () => {
  await using scene = await start();
  racing(scene, ["DELETE FROM ivm.data_sums WHERE k = 3"]);
  const { result, events } = await refresh(scene);
  expect(events).toEqual(["computing", "computing"]);
  expect(result.views).toMatchObject([{ strategy: "recompute", reason: { code: "physical_table_altered" } }]);
});

test("a view that was dropped in the meantime does not come back", async () => {
  await using scene = await start();
  racing(scene, ["DELETE FROM ivm.progress WHERE view = 'sums'"]);
  const result = await scene.lake.refresh({ views: ["sums"] });
  expect(result.views).toMatchObject([{ status: "failed" }]);
  expect(await scene.rows("(SELECT view FROM ivm.progress)")).toEqual(["(other)"]);
});
