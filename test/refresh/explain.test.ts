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
