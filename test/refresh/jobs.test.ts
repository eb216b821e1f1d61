import { describe, expect, test } from "vitest";
import { Gate } from "../../src/engine/gate.js";
import type { RefreshResult, ViewDefinition } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

const CHAINS = 6;

/** Chains of views, each over a table of its own and one that all share; the last view reads all chains. */
function definitions(): ViewDefinition[] {
  const chains = Array.from({ length: CHAINS }, (_, index) => [
    { name: `sums_${index}`, sql: `SELECT g, sum(v) AS s, count(DISTINCT v) AS d FROM t_${index} GROUP BY g` },
    { name: `named_${index}`, sql: `SELECT name, s, d FROM sums_${index} JOIN people USING (g)` },
    { name: `top_${index}`, sql: `SELECT g, v FROM t_${index} ORDER BY v DESC, g LIMIT 5` },
  ]).flat();
  const all = Array.from({ length: CHAINS }, (_, index) => `SELECT * FROM named_${index}`).join(" UNION ALL ");
  return [...chains, { name: "everything", sql: `SELECT name, sum(s) AS s FROM (${all}) GROUP BY name` }];
}

async function scene(): Promise<OpenLake> {
  const opened = await OpenLake.start({ engine: { threads: 2 } });
  const { lake, connection } = opened;
  await connection.run("CREATE TABLE people (g INTEGER, name VARCHAR)");
  await connection.run("INSERT INTO people SELECT i, 'name ' || i FROM range(50) r(i)");
  for (let index = 0; index < CHAINS; index += 1) {
    await connection.run(`CREATE TABLE t_${index} (g INTEGER, v INTEGER)`);
    await connection.run(`INSERT INTO t_${index} SELECT i % 50, i * ${index + 1} % 97 FROM range(2000) r(i)`);
  }
  await lake.define(definitions());
  return opened;
}

async function change({ connection }: OpenLake, round: number): Promise<void> {
  for (let index = 0; index < CHAINS; index += 1) {
    await connection.run(`INSERT INTO t_${index} SELECT i % 50, ${round} * 1000 + i FROM range(30) r(i)`);
    await connection.run(`DELETE FROM t_${index} WHERE v % 13 = ${round}`);
  }
  await connection.run(`UPDATE people SET name = name || '.' WHERE g % 7 = ${round}`);
}

const positions = (result: RefreshResult): string[] => result.views.map(({ view }) => view);

describe("views that are refreshed side by side", () => {
  test("end at one horizon, each after what it reads, and are exact", async () => {
    await using opened = await scene();
    const { lake } = opened;
    for (let round = 1; round <= 3; round += 1) {
      const result = await lake.refresh({ jobs: 4 });
      expect(result.views.filter(({ error }) => error !== null)).toEqual([]);
      expect(result.warnings).toEqual([]);
      if (round > 1) expect(new Set(result.views.map(({ strategy }) => strategy))).toEqual(new Set(["incremental"]));
      const serial = await lake.refresh({ dryRun: true });
      expect(positions(result)).toEqual(positions(serial));
      expect(serial.status).toBe("unchanged");
      const standings = await lake.status();
      expect(new Set(standings.map(({ horizon }) => horizon))).toEqual(new Set([result.horizon]));
      await change(opened, round);
    }
    await lake.refresh({ jobs: 2 });
    const verified = await lake.verify();
    expect(verified.filter(({ ok }) => !ok)).toEqual([]);
    // Each view's commit is a snapshot of its own, and the optimizer's rules are as before.
    const runs = await lake.history();
    expect(runs).toHaveLength(definitions().length * 4);
    const rules = await opened.rows("SELECT current_setting('disabled_optimizers')");
    expect(rules).toEqual([["statistics_propagation,compressed_materialization,top_n_window_elimination"]]);
  });

  test("one that fails stops those that read it, and with fail-fast all that have not begun", async () => {
    await using opened = await scene();
    const { lake, connection } = opened;
    await lake.refresh({ jobs: 3 });
    await lake.define(
      definitions().map((view) =>
        view.name === "sums_0"
          ? { ...view, sql: "SELECT g, sum(v) AS s, 1 AS d FROM t_0 GROUP BY g", primaryKey: ["s"] }
          : view,
      ),
    );
    await connection.run("DELETE FROM t_0");
    await connection.run("INSERT INTO t_0 VALUES (1, 5), (2, 5)");
    await change(opened, 4);
    await connection.run("DELETE FROM t_0");
    await connection.run("INSERT INTO t_0 VALUES (1, 5), (2, 5)");
    const result = await lake.refresh({ jobs: 3 });
    const failed = result.views.filter(({ status }) => status === "failed");
    expect(failed.map(({ view, error }) => [view, error?.code])).toEqual([
      ["sums_0", "primary_key_violated"],
      ["named_0", "upstream_failed"],
      ["everything", "upstream_failed"],
    ]);
    expect(result.views.filter(({ status }) => status === "refreshed")).toHaveLength(definitions().length - 3);
    await change(opened, 5);
    await connection.run("INSERT INTO t_0 VALUES (3, 5)");
    const stopped = await lake.refresh({ jobs: 2, failFast: true });
    expect(stopped.status).toBe("failed");
    expect(stopped.views.filter(({ status }) => status === "skipped").length).toBeGreaterThan(0);
  });

  test("an abort stops them all, and a rerun ends where one run would have", async () => {
    await using opened = await scene();
    const { lake } = opened;
    const stop = new AbortController();
    const run = lake.refresh({ jobs: 3, signal: stop.signal });
    setTimeout(() => stop.abort(), 150);
    await expect(run).rejects.toMatchObject({ code: "interrupted" });
    const result = await lake.refresh({ jobs: 3 });
    expect(result.views.filter(({ error }) => error !== null)).toEqual([]);
    expect((await lake.verify()).filter(({ ok }) => !ok)).toEqual([]);
  });

  test("a number of jobs that is none is refused", async () => {
    await using opened = await OpenLake.start();
    for (const jobs of [0, -1, 1.5, Number.NaN]) {
      await expect(opened.lake.refresh({ jobs })).rejects.toMatchObject({ code: "jobs_invalid" });
    }
  });
});

test("the gate lets work go on side by side, and has work that must be alone wait for it and hold up the rest", async () => {
  const gate = new Gate();
  const events: string[] = [];
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const work = (name: string, ms: number) => async (): Promise<void> => {
    events.push(`${name} begins`);
    await pause(ms);
    events.push(`${name} ends`);
  };
  const failing = gate.beside(async () => {
    await pause(5);
    throw new Error("failed");
  });
  await Promise.all([
    gate.beside(work("a", 20)),
    gate.beside(work("b", 10)),
    gate.alone(work("c", 10)),
    gate.beside(work("d", 1)),
    gate.alone(work("e", 1)),
    expect(failing).rejects.toThrow("failed"),
  ]);
  expect(events.slice(0, 6)).toEqual(["a begins", "b begins", "b ends", "a ends", "c begins", "c ends"]);
  const alone = events.indexOf("e begins");
  expect(events[alone + 1]).toBe("e ends");
});
