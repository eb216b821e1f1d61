/** A run that stands still at the worst moment, while another one sweeps. */
import { setTimeout as delay } from "node:timers/promises";
import { DuckDBConnection } from "@duckdb/node-api";
import { afterEach, expect, test, vi } from "vitest";
import { open } from "../../src/index.js";
import { LogScene } from "./scene.js";

const GRACE_MS = 8_000;

afterEach(() => vi.restoreAllMocks());

/** Holds the next transaction with a commit message right before its COMMIT, when all checks are behind it. */
function holdNextCommit(): { readonly reached: Promise<void>; release(): void } {
  const [reached, reach] = signal();
  const [released, release] = signal();
  const original = DuckDBConnection.prototype.runAndReadAll;
  let held: DuckDBConnection | undefined;
  vi.spyOn(DuckDBConnection.prototype, "runAndReadAll").mockImplementation(async function (
    this: DuckDBConnection,
    sql: string,
    ...rest: unknown[]
  ) {
    if (held === undefined && sql.includes("set_commit_message")) held = this;
    if (held === this && sql === "COMMIT") {
      vi.restoreAllMocks();
      reach();
      await released;
    }
    return original.call(this, sql, ...(rest as []));
  });
  return { reached, release };
}

function signal(): [Promise<void>, () => void] {
  let fire: () => void = () => undefined;
  const fired = new Promise<void>((resolve) => {
    fire = resolve;
  });
  return [fired, fire];
}

test.each(["refresh", "compact"] as const)(
  "what a frozen %s wrote is swept, and then it can't commit that",
  {
    timeout: 120_000,
  },
  async (command) => {
    await using scene = await LogScene.start(
      { catalog: "postgres", data: "folder" },
      { graceMs: GRACE_MS, keep: { snapshots: 0n }, fanOut: 2, compact: "manual" },
    );
    await scene.sql(
      "CREATE TABLE t (g VARCHAR, v INTEGER)",
      "INSERT INTO t SELECT 'g' || i % 9, i FROM range(100) r(i)",
    );
    await scene.define([{ name: "totals", sql: "SELECT g, sum(v) AS s FROM t GROUP BY g" }]);
    await scene.refresh();
    await scene.sql("INSERT INTO t VALUES ('new', 1)");
    if (command === "compact") await scene.refresh();
    await using other = await open(scene.config);

    const hold = holdNextCommit();
    const frozen = command === "refresh" ? scene.lake.refresh() : scene.lake.compact();
    await hold.reached;
    await delay(GRACE_MS + 500);
    const swept = await other.sweep();
    expect(swept.files).toEqual([expect.stringMatching(/^totals\/(segment|base)-/)]);
    hold.release();
    const result = await frozen;
    if ("views" in result) expect(result.views).toMatchObject([{ error: null, status: "refreshed" }]);
    else expect(result.logs).toMatchObject([{ log: "totals" }]);
    await scene.keep();
    await scene.check();
    await scene.refresh();
    await scene.check();
  },
);
