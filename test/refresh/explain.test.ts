import { expect, test } from "vitest";
import { explainLines } from "../../src/cli/explain.js";
import { OpenLake } from "../setup/open-lake.js";

const plain = { bold: String, dim: String, green: String, yellow: String, red: String };

test("explain shows how far keys are pushed into what terms read, and what groups are read anew", async () => {
  await using opened = await OpenLake.start();
  const { lake, connection: writer } = opened;
  await writer.run("CREATE TABLE a AS SELECT range AS k, range % 3 AS n FROM range(50)");
  await writer.run("CREATE TABLE b AS SELECT range % 20 AS k, range AS v FROM range(50)");
  await lake.define([
    {
      name: "joined",
      sql: "SELECT a.n, s.total FROM a JOIN (SELECT k, sum(v) AS total FROM b GROUP BY k) s ON s.k = a.k",
    },
    { name: "extremes", sql: "SELECT a.n, max(b.v) AS m FROM a JOIN b ON a.k = b.k GROUP BY a.n" },
    { name: "counts", sql: "SELECT n, count(*) AS c FROM a GROUP BY n" },
  ]);
  await lake.refresh();
  await writer.run("INSERT INTO b VALUES (3, 100)");

  const joined = await lake.explain("joined");
  expect(joined.rereads).toEqual([]);
  const [ofA, ofB] = joined.terms;
  expect(ofA).toMatchObject({ source: "main.a", status: "skipped", reads: [] });
  const key = expect.stringMatching(/^"k#\d+"$/);
  expect(ofB?.status).toBe("ran");
  expect(ofB?.reads).toHaveLength(3);
  expect(ofB?.reads).toEqual(
    expect.arrayContaining([
      { source: "main.a", alias: "a", state: "new", keys: [] },
      { source: "main.b", alias: "b", state: "new", keys: [key] },
      { source: "main.b", alias: "b", state: "old", keys: [key] },
    ]),
  );

  const extremes = await lake.explain("extremes");
  expect(extremes.rereads).toEqual([
    { source: "main.a", alias: "a", state: "new", keys: [expect.stringMatching(/^"n#\d+"$/)] },
    { source: "main.b", alias: "b", state: "new", keys: [] },
  ]);
  expect((await lake.explain("counts")).rereads).toEqual([]);

  const text = explainLines(joined, plain as never).join("\n");
  expect(text).toMatch(/reads new main\.a AS a: no keys pushed/);
  expect(text).toMatch(/reads old main\.b AS b: only rows whose "k#\d+" changed/);
  expect(explainLines(extremes, plain as never).join("\n")).toMatch(
    /groups that can't be folded\n {2}reads new main\.a AS a: only rows whose "n#\d+" changed/,
  );
});

test("explain tells what to write differently, and what the view's runs took", async () => {
  await using opened = await OpenLake.start();
  const { lake, connection: writer } = opened;
  await writer.run("CREATE TABLE a AS SELECT range AS k, range % 3 AS n, range / 2 AS d FROM range(50)");
  const recursion = (union: string): string =>
    `WITH RECURSIVE r(k) AS (SELECT k FROM a WHERE k < 2 ${union} SELECT a.k FROM a, r WHERE a.k = r.k + 1 AND a.k < 9) SELECT k FROM r`;
  await lake.define([
    { name: "positional", sql: "SELECT x.k, y.n FROM a x POSITIONAL JOIN a y" },
    { name: "copies", sql: recursion("UNION ALL") },
    { name: "reach", sql: recursion("UNION") },
    { name: "whole", sql: "SELECT k, lead(k) OVER (ORDER BY n) AS r FROM a" },
    { name: "beside", sql: "SELECT a.k FROM a, (SELECT max(k) AS m FROM a) x WHERE a.k = x.m" },
    { name: "floats", sql: "SELECT n, sum(d) AS s FROM a GROUP BY n" },
    { name: "first", sql: "SELECT k FROM a LIMIT 3" },
    { name: "kept", sql: "SELECT n, count(*) AS c FROM a GROUP BY n" },
  ]);
  const advised = async (view: string): Promise<string[]> =>
    (await lake.explain(view)).advice.map(({ code, rewrite, page }) => {
      expect(rewrite, code).not.toBeNull();
      expect(page).toMatch(/^docs\/operators\/[a-z-]+\.md$/);
      return code;
    });
  expect(await advised("positional")).toEqual(["positional_join"]);
  expect(await advised("copies")).toEqual(["recursive_union_all"]);
  expect(await advised("reach")).toEqual(["recursion_lost"]);
  expect(await advised("whole")).toEqual(["window_whole"]);
  expect(await advised("beside")).toEqual(["group_whole"]);
  expect(await advised("floats")).toEqual(["groups_reread"]);
  expect(await advised("first")).toEqual(["limit"]);
  expect(await advised("kept")).toEqual([]);

  expect((await lake.explain("kept")).history).toEqual({ incremental: null, recompute: null, last: null });
  await lake.refresh();
  await writer.run("INSERT INTO a VALUES (60, 1, 1)");
  const { runId } = await lake.refresh();
  await writer.run("INSERT INTO a VALUES (61, 1, 1)");
  await lake.refresh();
  const { history } = await lake.explain("kept");
  expect(history.recompute).toBeNull();
  expect(history.incremental).toMatchObject({ runs: 2, lastRows: { inserted: 1n, deleted: 1n } });
  expect(history.incremental?.medianMs).toBeLessThanOrEqual(history.incremental?.slowestMs ?? 0);
  expect(history.last).toMatchObject({ strategy: "incremental", terms: { total: 1, run: 1, skipped: 0 } });
  expect(history.last?.runId).not.toBe(runId);
  const positional = await lake.explain("positional");
  expect(positional.history.recompute?.runs).toBe(2);
  const lines = explainLines(positional, plain).join("\n");
  expect(lines).toMatch(/last run: recompute .*because a POSITIONAL join/);
  expect(lines).toMatch(/recomputed in 2 runs: median \d+ ms, slowest \d+ ms/);
  expect(lines).toMatch(/→ Number the rows of both sides/);
});
