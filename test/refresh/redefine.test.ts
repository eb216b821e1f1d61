/** Views whose tables, or plain views, get another form after they were applied. */
import { expect, test, vi } from "vitest";
import { open } from "../../src/index.js";
import { quoteIdentifier } from "../../src/sql/quote.js";
import type { RefreshResult } from "../../src/types.js";
import { Scene, viewOf } from "../hazards/scene.js";

vi.setConfig({ testTimeout: 120_000 });

type Views = Readonly<Record<string, string>>;

async function define(scene: Scene, views: Views): Promise<void> {
  await scene.lake.define(Object.entries(views).map(([name, sql]) => ({ name, sql })));
}

/** Refreshes, and compares each view with its own query as DuckDB answers it now. */
async function refresh(scene: Scene, views: Views): Promise<RefreshResult> {
  const result = await scene.lake.refresh();
  expect(result.views.flatMap(({ error }) => error ?? [])).toEqual([]);
  for (const [name, sql] of Object.entries(views)) {
    const view = `SELECT * FROM ${quoteIdentifier(name)}`;
    const differences = await scene.rows(`((${view} EXCEPT ALL (${sql})) UNION ALL ((${sql}) EXCEPT ALL ${view}))`);
    expect(differences, name).toEqual([]);
  }
  expect((await scene.lake.verify()).filter(({ ok }) => !ok)).toEqual([]);
  return result;
}

test.each<[string, string, readonly string[], Views]>([
  [
    "decimals",
    "ALTER TABLE t ALTER v TYPE DECIMAL(10, 3)",
    ["CREATE TABLE t (id INT, g INT, v DECIMAL(6, 1))", "INSERT INTO t SELECT i, i % 3, i FROM range(10) r(i)"],
    {
      greatest: "SELECT max(v) > 99.1 AS over, max(v)::VARCHAR AS m FROM t",
      counted: "SELECT count(DISTINCT v) AS n, sum(DISTINCT v)::DOUBLE AS s FROM t",
      first_one: "SELECT id FROM t ORDER BY v DESC, id LIMIT 1",
      filtered: "SELECT id FROM t WHERE v > 5",
    },
  ],
  [
    "integers",
    "ALTER TABLE t ALTER v TYPE BIGINT",
    ["CREATE TABLE t (id INT, g INT, v INT)", "INSERT INTO t SELECT i, i % 3, i FROM range(20) r(i)"],
    {
      greatest: "SELECT g, max(v)::VARCHAR AS m FROM t GROUP BY g",
      counted: "SELECT count(DISTINCT v) AS c FROM t",
      picked: "SELECT arg_max(id, v) AS c FROM t",
      first_ones: "SELECT id FROM t ORDER BY v DESC, id LIMIT 3",
      running: "SELECT id, (sum(v) OVER (PARTITION BY g ORDER BY id))::DOUBLE AS s FROM t",
      ranked:
        "SELECT id, rank() OVER (PARTITION BY g ORDER BY v) AS r, count(*) OVER (PARTITION BY g ORDER BY v) AS c FROM t",
    },
  ],
  [
    "floating-point numbers",
    "ALTER TABLE t ALTER v TYPE DOUBLE",
    ["CREATE TABLE t (id INT, g INT, v FLOAT)", "INSERT INTO t SELECT i, i % 3, i / 3 FROM range(20) r(i)"],
    {
      greatest: "SELECT max(v)::DECIMAL(30, 9) AS m FROM t",
      before: "SELECT id, (lag(v) OVER (PARTITION BY g ORDER BY id))::DECIMAL(30, 9) AS l FROM t",
      picked: "SELECT arg_max(id, v) AS c FROM t",
      first_ones: "SELECT id FROM t ORDER BY v DESC, id LIMIT 3",
    },
  ],
])("a column of %s is widened, and what is stored for the views with it", async (_, alter, tables, views) => {
  await using scene = await Scene.start();
  await scene.sql(...tables);
  await define(scene, views);
  await refresh(scene, views);
  const rows = {
    DECIMAL: ["99.123", "99.124"],
    BIGINT: ["7000000000", "7000000001"],
    DOUBLE: ["33.3000001", "33.3000002"],
  };
  const [first, second] = Object.entries(rows).find(([type]) => alter.includes(type))?.[1] ?? [];
  await scene.sql(alter, `INSERT INTO t VALUES (100, 1, ${first}), (101, 1, ${second})`);
  for (const { view, strategy } of (await refresh(scene, views)).views) expect(strategy, view).toBe("recompute");
  // Afterwards the rules go on with the new types.
  await scene.sql(`INSERT INTO t VALUES (102, 1, ${second}), (103, 2, NULL)`, "DELETE FROM t WHERE id = 101");
  for (const { view, strategy, reason } of (await refresh(scene, views)).views) {
    expect([view, strategy, reason?.code]).toEqual([view, "incremental", undefined]);
  }
});

test("two runs at once define a view anew once, and neither goes by what it has read before", async () => {
  await using scene = await Scene.start({ kind: { catalog: "sqlite", data: "folder" } });
  await using other = await open(scene.place.config);
  const views = { greatest: "SELECT max(v) > 99.1 AS over, max(v)::VARCHAR AS m FROM t" };
  await scene.sql("CREATE TABLE t (v DECIMAL(6, 1))", "INSERT INTO t VALUES (1)");
  await define(scene, views);
  await refresh(scene, views);
  await scene.sql("ALTER TABLE t ALTER v TYPE DECIMAL(10, 3)", "INSERT INTO t VALUES (99.123)");
  const results = await Promise.all([scene.lake.refresh(), other.refresh()]);
  expect(results.flatMap(({ views }) => views.flatMap(({ error }) => error ?? []))).toEqual([]);
  expect(await scene.rows("greatest")).toEqual(["(true, 99.123)"]);
  await refresh(scene, views);
});

test("a column is widened between apply and the first refresh", async () => {
  await using scene = await Scene.start();
  const views = { counted: "SELECT count(DISTINCT v) AS n FROM t" };
  await scene.sql("CREATE TABLE t (v DECIMAL(6, 1))");
  await define(scene, { ...views, shown: "SELECT v FROM t" });
  await scene.sql("ALTER TABLE t ALTER v TYPE DECIMAL(10, 3)", "INSERT INTO t VALUES (1.123), (1.124)");
  const result = await scene.lake.refresh();
  expect(viewOf(result, "counted").status).toBe("refreshed");
  expect(await scene.rows("counted")).toEqual(["(2)"]);
  // Whoever reads this one would find another type: that is not done behind anybody's back.
  expect(viewOf(result, "shown").error).toMatchObject({
    code: "definition_stale",
    message: expect.stringContaining("v DECIMAL(10,3) where it has v DECIMAL(6,1)"),
  });
  await define(scene, { ...views, shown: "SELECT v FROM t" });
  await refresh(scene, { ...views, shown: "SELECT v FROM t" });
});

test("plain views are followed: what they say at the horizon is what the view says", async () => {
  await using scene = await Scene.start();
  const views = {
    counted: "SELECT count(*) AS c FROM above",
    beside: "SELECT sum(v) AS s FROM t",
    over: "SELECT c + 1 AS d FROM counted",
  };
  await scene.sql(
    "CREATE TABLE t (id INT, v INT)",
    "INSERT INTO t SELECT i, i FROM range(20) r(i)",
    "CREATE VIEW large AS SELECT id, v FROM t WHERE v > 3",
    "CREATE VIEW above AS SELECT * FROM large",
  );
  await define(scene, views);
  await refresh(scene, views);
  const before = await scene.snapshot();
  await scene.sql("CREATE OR REPLACE VIEW large AS SELECT id, v FROM t WHERE v > 10", "INSERT INTO t VALUES (50, 50)");
  const result = await refresh(scene, views);
  expect(viewOf(result, "counted").reason?.code).toBe("definition_changed");
  expect(viewOf(result, "beside").strategy).toBe("incremental");
  expect(await scene.rows("over")).toEqual(["(11)"]);
  expect(await scene.snapshot()).toBeGreaterThan(before);
  // A view that nobody reads here changes nothing.
  await scene.sql("CREATE VIEW other AS SELECT 1 AS one");
  expect((await scene.lake.refresh()).views.map(({ status }) => status)).toEqual([
    "unchanged",
    "unchanged",
    "unchanged",
  ]);

  await scene.sql("DROP VIEW large", "INSERT INTO t VALUES (60, 60)");
  const broken = await scene.lake.refresh();
  expect(viewOf(broken, "counted").error).toMatchObject({
    code: "definition_broken",
    message: expect.stringContaining("large"),
  });
  expect(viewOf(broken, "over").error?.code).toBe("upstream_failed");
  expect(viewOf(broken, "beside").status).toBe("refreshed");
  await scene.sql("CREATE VIEW large AS SELECT id, v FROM t WHERE v > 55");
  await refresh(scene, views);
});
