import { describe, expect, test } from "vitest";
import type { ExplainNode } from "../../src/index.js";
import { Scene, viewOf } from "../hazards/scene.js";

const REACH = `WITH RECURSIVE reach(node) AS (
  SELECT node FROM starts
  UNION
  SELECT e.b FROM reach r JOIN edges e ON e.a = r.node)`;
const PATHS = `WITH RECURSIVE path(a, b) AS (
  SELECT a, b FROM edges
  UNION
  SELECT p.a, e.b FROM path p JOIN edges e ON e.a = p.b)`;

async function graph(views: Readonly<Record<string, string>>, data: readonly string[] = []): Promise<Scene> {
  const scene = await Scene.start();
  await scene.sql(
    "CREATE TABLE edges (a INTEGER, b INTEGER)",
    "CREATE TABLE starts (node INTEGER)",
    "CREATE TABLE names (node INTEGER, name VARCHAR)",
    "INSERT INTO edges VALUES (1, 2), (2, 3), (3, 4), (5, 6), (6, 7), (10, 11), (NULL, 12), (13, NULL)",
    "INSERT INTO starts VALUES (1), (1), (NULL)",
    "INSERT INTO names VALUES (1, 'one'), (2, 'two'), (2, 'zwei'), (6, 'six'), (NULL, 'none')",
    ...data,
  );
  await scene.define(views);
  return scene;
}

/** The strategy, or the reason for a recompute. */
async function strategies(scene: Scene): Promise<Record<string, string | null>> {
  const { views } = await scene.refresh();
  return Object.fromEntries(views.map((view) => [view.view, view.reason?.code ?? view.strategy]));
}

test("a recursion goes on to its end whatever its step reads of other tables", async () => {
  // DuckDB 1.5.5 with several threads: about every second evaluation of each of these views lacks rows.
  const step = (rows: string, union = "UNION"): string =>
    `WITH RECURSIVE r(x) AS (SELECT node FROM starts ${union} SELECT e.b FROM r, (${rows}) e WHERE e.a = r.x) FROM r`;
  const groups = "SELECT a, max(b) AS b FROM edges GROUP BY a";
  await using scene = await graph({
    groups: step(groups),
    rows: step("SELECT DISTINCT a, b FROM edges"),
    first: step("SELECT a, b FROM edges ORDER BY a, b LIMIT 100"),
    united: step("SELECT a, b FROM edges UNION SELECT a, b FROM edges"),
    by_statement: step(groups, "UNION ALL"),
  });
  for (let round = 0; round < 10; round += 1) {
    const { views } = await scene.refresh({ fullRefresh: true });
    expect(views.map((view) => view.rows)).toEqual(views.map(() => ({ inserted: 0n, deleted: 0n })));
  }
  const verified = await scene.lake.verify();
  expect(verified.map(({ ok }) => ok)).toEqual(verified.map(() => true));
});

describe("rows that come are followed by semi-naive steps from the stored rows", () => {
  test("at the top, with cycles, copies and NULLs", async () => {
    await using scene = await graph({ v: `${REACH} SELECT node FROM reach`, w: `${PATHS} FROM path` });
    const came = { v: "incremental", w: "incremental" };
    await scene.sql("INSERT INTO edges VALUES (4, 5)");
    expect(await strategies(scene)).toEqual(came);
    // A cycle back to the start, and an edge that is there already.
    await scene.sql("INSERT INTO edges VALUES (7, 1), (1, 2), (7, 7)", "INSERT INTO starts VALUES (NULL), (13)");
    expect(await strategies(scene)).toEqual(came);
    expect(await scene.value("SELECT count(*) FROM lake.v")).toBe("9");
    await scene.sql("INSERT INTO edges VALUES (10, 10), (11, 1), (NULL, NULL), (NULL, 10)");
    expect(await strategies(scene)).toEqual(came);
  });

  test("deeper than the rounds that are followed one by one", async () => {
    await using scene = await graph({ v: `${REACH} SELECT node FROM reach` });
    await scene.sql("INSERT INTO edges SELECT i, i + 1 FROM range(4, 60) t(i)", "INSERT INTO edges VALUES (60, 30)");
    expect(await strategies(scene)).toEqual({ v: "incremental" });
    expect(await scene.value("SELECT count(*) FROM lake.v")).toBe("61");
  });

  test("below joins, groups, limits and other recursions, and read by other views", async () => {
    await using scene = await graph({
      grouped: `${REACH} SELECT n.name, count(*) AS c, max(r.node) AS m FROM reach r JOIN names n USING (node) GROUP BY 1`,
      twice: `${REACH} SELECT x.node AS x, y.node AS y FROM reach x LEFT JOIN reach y ON y.node = x.node + 1`,
      outside: `${REACH} SELECT name FROM names WHERE node NOT IN (SELECT node FROM reach WHERE node IS NOT NULL)`,
      first: `${REACH} SELECT node, node * 2 AS d FROM reach ORDER BY node DESC, d LIMIT 2`,
      shown: `${PATHS} SELECT b % 2 AS odd FROM path WHERE a > 1`,
      second: `WITH RECURSIVE r1 AS (SELECT node FROM starts UNION SELECT e.b FROM r1 JOIN edges e ON e.a = r1.node),
        r2 AS (SELECT node FROM r1 UNION SELECT n.node FROM r2, names n WHERE n.node = r2.node + 1) SELECT node + 0 AS n FROM r2 UNION ALL FROM r1`,
      over: "SELECT y, count(DISTINCT x) AS n FROM twice GROUP BY y",
    });
    for (const rows of ["(4, 5)", "(7, 1), (7, 8)", "(8, 20), (20, 21), (21, 8)"]) {
      await scene.sql(`INSERT INTO edges VALUES ${rows}`);
      const taken = await strategies(scene);
      expect(new Set(Object.values(taken)), JSON.stringify(taken)).toEqual(new Set(["incremental"]));
    }
    await scene.sql("DELETE FROM names WHERE name = 'two'", "INSERT INTO names VALUES (5, 'five')");
    expect(await strategies(scene)).toMatchObject({ grouped: "incremental", outside: "incremental" });
  });

  test("in other forms of the step", async () => {
    const step = (sql: string): string => `WITH RECURSIVE r(x, y) AS (SELECT node, 0 FROM starts UNION ${sql}) FROM r`;
    await using scene = await graph({
      by_both: step(
        "(SELECT e.b, y FROM r JOIN edges e ON e.a = r.x UNION ALL SELECT e.a, y FROM r JOIN edges e ON e.b = r.x)",
      ),
      by_left: step("SELECT coalesce(e.b, 100), y + 1 FROM r LEFT JOIN edges e ON e.a = r.x WHERE y < 3"),
      by_semi: step("SELECT b, y FROM edges, (SELECT max(0) AS y FROM starts) WHERE a IN (SELECT x FROM r)"),
      by_anti: step(
        "SELECT DISTINCT e.b, y FROM r JOIN edges e ON e.a = r.x WHERE NOT EXISTS (FROM names n WHERE n.node = e.b AND n.name = 'stop')",
      ),
      by_cast:
        "WITH RECURSIVE r(x) AS (SELECT node::SMALLINT FROM starts UNION SELECT e.b::BIGINT FROM r JOIN edges e ON e.a = r.x) SELECT x FROM r",
      by_inside: step("SELECT e.b, y FROM r, (SELECT a, max(b) AS b FROM edges GROUP BY a) e WHERE e.a = r.x"),
    });
    await scene.sql("INSERT INTO edges VALUES (4, 5), (7, 1)");
    expect(await strategies(scene)).toEqual({
      by_both: "incremental",
      by_left: "incremental",
      by_semi: "incremental",
      by_anti: "incremental",
      by_cast: "incremental",
      by_inside: "incremental",
    });
    // What had no neighbour led to 100, and has one now.
    await scene.sql("INSERT INTO edges VALUES (100, 101)");
    expect(await strategies(scene)).toMatchObject({ by_left: "recursion_lost", by_anti: "incremental" });
    await scene.sql("INSERT INTO edges VALUES (1, 9)", "INSERT INTO names VALUES (9, 'stop')");
    // The greatest neighbour of 1 was 2, which is gone through no longer.
    expect(await strategies(scene)).toMatchObject({ by_inside: "recursion_lost", by_both: "incremental" });
    await scene.sql("DELETE FROM names WHERE node = 9");
    expect(await strategies(scene)).toMatchObject({ by_anti: "incremental" });
    await scene.sql("INSERT INTO names VALUES (9, 'stop')");
    expect(await strategies(scene)).toMatchObject({ by_anti: "recursion_lost" });
  });
});

describe("rows that go make the view be recomputed, and say so", () => {
  test("deletes and updates of what the recursion goes through", async () => {
    await using scene = await graph({
      v: `${REACH} SELECT node FROM reach`,
      n: `${REACH} SELECT count(*) AS n FROM reach`,
    });
    await scene.sql("INSERT INTO edges VALUES (4, 5)");
    await scene.refresh();
    await scene.sql("DELETE FROM edges WHERE a = 2");
    expect(await strategies(scene)).toEqual({ v: "recursion_lost", n: "recursion_lost" });
    await scene.sql("INSERT INTO edges VALUES (2, 3)");
    expect(await strategies(scene)).toEqual({ v: "incremental", n: "incremental" });
    await scene.sql("UPDATE edges SET b = 8 WHERE a = 3");
    expect(await strategies(scene)).toEqual({ v: "recursion_lost", n: "recursion_lost" });
    // What it does not come to may go.
    await scene.sql("DELETE FROM edges WHERE a = 10", "INSERT INTO edges VALUES (8, 9)");
    expect(await strategies(scene)).toEqual({ v: "incremental", n: "incremental" });
  });

  test("a row that only a cycle would still lead to goes", async () => {
    await using scene = await graph({ v: `${REACH} SELECT node FROM reach` }, ["INSERT INTO edges VALUES (3, 2)"]);
    // 2 is lost, and what is inserted leads to it only from what it led to itself.
    await scene.transaction("DELETE FROM edges WHERE a = 1 AND b = 2", "INSERT INTO edges VALUES (4, 2)");
    expect(await strategies(scene)).toEqual({ v: "recursion_lost" });
    expect(await scene.rows("lake.v")).toEqual(["(1)", "(NULL)"]);
  });
});

test("the rows are stored once where the view shows them, else beside it, and go with the view", async () => {
  await using scene = await graph({
    own: `${PATHS} SELECT b FROM path WHERE a = 1`,
    beside: `${PATHS} SELECT a, count(*) AS n FROM path GROUP BY a`,
  });
  const tables = (): Promise<string> =>
    scene.value(
      "SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM duckdb_tables() WHERE database_name = 'lake' AND table_name SIMILAR TO '(data|recursive).*'",
    );
  expect(await tables()).toBe("data_beside data_own recursive1_data_beside");
  expect(await scene.value("SELECT count(*) FROM lake.ivm.data_own")).toBe("12");
  expect(await scene.value("SELECT count(*) FROM lake.ivm.recursive1_data_beside")).toBe("12");
  expect((await scene.lake.verify()).every((view) => view.ok)).toBe(true);
  await scene.lake.define([], { drop: true });
  expect(await tables()).toBe("null");
});

test("explain names the recursion, its parts and what is read of the stored rows", async () => {
  await using scene = await graph({ v: `${REACH} SELECT node FROM reach` });
  await scene.sql("INSERT INTO edges VALUES (4, 5)");
  const { plan, terms } = await scene.lake.explain("v");
  const find = (node: ExplainNode): ExplainNode[] =>
    node.operator === "recursion" ? [node] : node.children.flatMap(find);
  const [recursion] = plan === null ? [] : find(plan);
  expect(recursion).toMatchObject({ detail: "reach (node)", strategy: expect.stringMatching(/^semi-naive/) });
  expect(recursion?.children).toHaveLength(2);
  expect(terms.map(({ source, status }) => `${source} ${status}`)).toEqual(["main.starts skipped", "main.edges ran"]);
  expect(terms[1]?.reads).toEqual([{ source: "recursion:reach", alias: "reach", state: "new", keys: [] }]);
  expect(terms[1]?.sql).toContain("data_v");
});

test.each([
  [
    "UNION ALL",
    "recursive_union_all",
    "SELECT node FROM starts WHERE node < 3 UNION ALL SELECT node + 1 FROM r WHERE node < 3",
  ],
  [
    "rows joined with each other",
    "recursive_not_linear",
    "SELECT node FROM starts UNION SELECT x.node + y.node FROM r x, r y WHERE x.node + y.node < 9",
  ],
  [
    "an aggregate of the rows",
    "recursive_not_linear",
    "SELECT node FROM starts UNION SELECT max(node) + 1 FROM r HAVING max(node) < 5",
  ],
  [
    "a window over the rows",
    "recursive_not_linear",
    "SELECT node FROM starts UNION SELECT (row_number() OVER (ORDER BY node))::INTEGER FROM r",
  ],
])("%s is recomputed", async (_, code, query) => {
  await using scene = await graph({ v: `WITH RECURSIVE r(node) AS (${query}) FROM r` });
  expect((await scene.lake.explain("v")).reasons).toMatchObject([{ code }]);
  await scene.sql("INSERT INTO starts VALUES (2)");
  expect(viewOf(await scene.refresh(), "v").reason?.code).toBe(code);
});

test("USING KEY that reads all its rows so far is recomputed", async () => {
  const sql =
    "WITH RECURSIVE r(k, v) USING KEY (k) AS (SELECT 1, count(*) FROM starts UNION SELECT r.k + 1, s.v + 1 FROM r JOIN recurring.r AS s USING (k) WHERE r.k < 3) FROM r";
  await using scene = await graph({ v: sql });
  await scene.sql("INSERT INTO starts VALUES (7)");
  await scene.refresh();
  expect((await scene.lake.explain("v")).reasons).toMatchObject([{ code: "recursive_using_key" }]);
});

test("USING KEY is recomputed", async () => {
  const sql =
    "WITH RECURSIVE r(k, v) USING KEY (k) AS (SELECT 1, node FROM starts WHERE node = 1 UNION SELECT k, v + 1 FROM r WHERE v < 3) FROM r";
  await using scene = await graph({ v: sql });
  expect((await scene.lake.explain("v")).reasons).toMatchObject([{ code: "recursive_using_key" }]);
});

test("WITH RECURSIVE without recursion is a union", async () => {
  await using scene = await graph({
    v: "WITH RECURSIVE r AS (SELECT node FROM starts UNION SELECT a FROM edges) FROM r",
  });
  await scene.sql("DELETE FROM starts WHERE node = 1", "INSERT INTO edges VALUES (90, 1)");
  expect(await strategies(scene)).toEqual({ v: "incremental" });
});
