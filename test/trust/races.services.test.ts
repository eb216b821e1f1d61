import { DuckDBConnection } from "@duckdb/node-api";
import { afterEach, expect, test, vi } from "vitest";
import { type Lake, open, type RefreshResult } from "../../src/index.js";
import { Scene } from "../hazards/scene.js";
import { expectNoLock } from "./dead-suite.js";
import { expectRaces } from "./races-suite.js";

vi.setConfig({ testTimeout: 400_000 });
afterEach(() => vi.restoreAllMocks());

test("processes that refresh, compact and write at once, on PostgreSQL", () =>
  expectRaces({ catalog: "postgres", data: "folder" }));

/** Does something before the n-th statement that begins like this is sent, on whichever connection; once. */
function before(text: string, n: number, work: () => Promise<void>): void {
  const original = DuckDBConnection.prototype.runAndReadAll;
  let left = n;
  vi.spyOn(DuckDBConnection.prototype, "runAndReadAll").mockImplementation(async function (
    this: DuckDBConnection,
    sql: string,
    ...rest: unknown[]
  ) {
    if (sql.trimStart().startsWith(text)) {
      left -= 1;
      if (left === 0) await work();
    }
    return original.call(this, sql, ...(rest as []));
  });
}

test.each([
  ["before its first view", 1, 'INSERT INTO "lake"."ivm"."data_flat"'],
  ["between its views", 2, 'DELETE FROM "lake"."ivm"."data_totals"'],
])("a run that another one overtakes %s goes on at a newer snapshot", async (_, commit, write) => {
  await using scene = await Scene.start({ kind: { catalog: "postgres", data: "folder" } });
  await scene.sql("CREATE TABLE t(k INT, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)");
  await scene.define({ flat: "SELECT k, v FROM t", totals: "SELECT k, SUM(v) AS s FROM flat GROUP BY k" });
  await using other: Lake = await open(scene.place.config);
  await scene.sql("INSERT INTO t VALUES (1, 10)");
  let faster: RefreshResult | undefined;
  // The first statement of the view's commit, whose transaction has read nothing yet.
  before(write, 1, async () => {
    await scene.sql("INSERT INTO t VALUES (2, 20)");
    faster = await other.refresh();
  });
  const result = await scene.refresh();
  expect(faster?.status).toBe("refreshed");
  expect(result.horizon).toBeGreaterThanOrEqual(faster?.horizon ?? 0n);
  // What this run has done itself is told, also where the other one went on from there.
  expect(result.views.map(({ status }) => status)).toEqual([commit === 1 ? "unchanged" : "refreshed", "unchanged"]);
  const history = await scene.lake.history();
  expect(history.map(({ view, error }) => [view, error])).toEqual(history.map(({ view }) => [view, null]));
  for (const name of ["flat", "totals"]) {
    const runs = history.filter(({ view }) => view === name).map(({ to }) => to);
    expect(new Set(runs).size).toBe(runs.length);
  }
});

test("a snapshot that was asked for is not exchanged for a newer one", async () => {
  await using scene = await Scene.start({ kind: { catalog: "postgres", data: "folder" } });
  await scene.sql("CREATE TABLE t(k INT)", "INSERT INTO t VALUES (1)");
  await scene.define({ flat: "SELECT k FROM t" });
  await scene.sql("INSERT INTO t VALUES (2)");
  const toSnapshot = await scene.snapshot();
  await scene.sql("INSERT INTO t VALUES (3)");
  await scene.refresh();
  const result = await scene.lake.refresh({ toSnapshot });
  expect(result.views).toMatchObject([{ status: "failed", error: { code: "horizon_behind", retryable: false } }]);
});

test("where there is no time for other writers, a conflict is told at once", async () => {
  await using scene = await Scene.start({ kind: { catalog: "postgres", data: "folder" } });
  await scene.sql("CREATE TABLE t(k INT)", "INSERT INTO t VALUES (1)");
  await scene.define({ flat: "SELECT k FROM t" });
  await using other: Lake = await open(scene.place.config);
  await using hasty: Lake = await open({ ...scene.place.config, retryForMs: 0 });
  await scene.sql("INSERT INTO t VALUES (2)");
  before('INSERT INTO "lake"."ivm"."data_flat"', 1, async () => {
    await other.refresh();
  });
  const result = await hasty.refresh();
  expect(result.views).toMatchObject([{ status: "failed", error: { code: "moved", retryable: true } }]);
  expect((await hasty.refresh()).status).toBe("unchanged");
});

test("nothing waits for a process that was killed, on PostgreSQL", () =>
  expectNoLock({ catalog: "postgres", data: "folder" }));
