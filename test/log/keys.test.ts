/** Keys of logs, and rows found by them. */
import { expect, test } from "vitest";
import type { LogOptions } from "../../src/index.js";
import { LogScene } from "./scene.js";

type Keys = NonNullable<LogOptions["keys"]>;

async function linesOf(scene: LogScene, view: string, keys: Keys): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of (await scene.lake.state(view, { keys })).jsonLines()) lines.push(line);
  return lines;
}

test("a key is declared, or the grouping columns, or all columns", async () => {
  await using scene = await LogScene.start({ catalog: "duckdb", data: "folder" });
  await scene.sql("CREATE TABLE t (id INTEGER, g VARCHAR, v INTEGER)", "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)");
  await scene.define([
    { name: "declared", sql: "SELECT g, id FROM t", primaryKey: ["id"] },
    { name: "derived", sql: "SELECT sum(v) AS s, g, v % 2 AS odd FROM t GROUP BY v % 2, g" },
    { name: "hidden", sql: "SELECT sum(v) AS s FROM t GROUP BY g" },
    { name: "bag", sql: "SELECT g, v AS weight FROM t" },
  ]);
  await scene.refresh();
  expect(await scene.facts("declared")).toMatchObject({ keyKind: "declared", key: ["id"], weight: "weight" });
  const derived = await scene.facts("derived");
  expect(derived).toMatchObject({ keyKind: "derived" });
  expect([...derived.key].sort()).toEqual(["g", "odd"]);
  expect(await scene.facts("hidden")).toMatchObject({ keyKind: "all", key: ["s"] });
  expect(await scene.facts("bag")).toMatchObject({ keyKind: "all", key: ["g", "weight"], weight: "_ivm_weight" });
  await scene.check();
});

test("rows are found by keys, parts of keys and NULL, in one file or several", async () => {
  await using scene = await LogScene.start({ catalog: "duckdb", data: "folder" }, { fileBytes: 1 });
  await scene.sql(
    "CREATE TABLE t (day DATE, g VARCHAR, v HUGEINT)",
    "INSERT INTO t SELECT DATE '2024-01-01' + (i // 100)::INTEGER, CASE WHEN i % 100 = 7 THEN NULL ELSE 'g ''' || i % 100 END, i FROM range(90000) r(i)",
  );
  await scene.define([{ name: "by_day", sql: "SELECT day, g, v FROM t", primaryKey: [] }]);
  await scene.refresh();
  expect((await scene.facts("by_day")).entries.length).toBeGreaterThan(1);
  for (let round = 0; round < 2; round += 1) {
    expect(await linesOf(scene, "by_day", [{ day: "2024-01-02", g: "g '5" }])).toEqual([
      `{"row":{"day":"2024-01-02","g":"g '5","v":105}}`,
    ]);
    expect(await linesOf(scene, "by_day", [{ day: "2026-06-17", g: null }, { v: 3 }])).toEqual([
      `{"row":{"day":"2024-01-01","g":"g '3","v":3}}`,
      `{"row":{"day":"2026-06-17","g":null,"v":89807}}`,
    ]);
    expect(await linesOf(scene, "by_day", [{ day: "2024-01-03" }])).toHaveLength(100);
    expect(await linesOf(scene, "by_day", [{ day: "1999-01-01" }])).toEqual([]);
    // The second time with a segment above the base.
    await scene.sql("DELETE FROM t WHERE v = 205", "INSERT INTO t VALUES (DATE '2024-01-03', 'new', 1)");
    await scene.refresh();
  }
  for (const keys of [[{}], [{ day: "no day" }], [{ nothing: 1 }]] as Keys[]) {
    await expect(linesOf(scene, "by_day", keys)).rejects.toMatchObject({
      code: "key_invalid",
      hint: expect.stringContaining("day"),
    });
  }
});

test("values leave the log as they are in the view: JSON with every digit, Parquet without loss", async () => {
  await using scene = await LogScene.start({ catalog: "duckdb", data: "folder" });
  await scene.sql("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1)");
  const exact = "170141183460469231731687303715884105";
  await scene.define([
    {
      name: "exact",
      sql: `SELECT id, ${exact}::HUGEINT AS h, 0.12345678901234567890123456789::DECIMAL(38, 29) AS d, INTERVAL 1 MICROSECOND AS i,
        {'x': 'nan'::DOUBLE, 'd': '0.12345678901234567890123456789'::DECIMAL(38, 29)} AS n, [1.5::DOUBLE, NULL, '-inf'::DOUBLE] AS l,
        MAP {'k': 0.5::DOUBLE} AS m, NULL::STRUCT(x DOUBLE) AS none FROM t`,
    },
  ]);
  await scene.refresh();
  const [line] = await linesOf(scene, "exact", []);
  expect(line).toContain(`"h":${exact},"d":0.12345678901234567890123456789,"i":"00:00:00.000001"`);
  expect(line).toContain(
    '"n":{"x":"NaN","d":0.12345678901234567890123456789},"l":[1.5,null,"-Infinity"],"m":{"k":0.5},"none":null',
  );
  const file = `${scene.place.folder}/out.parquet`;
  expect(await (await scene.lake.state("exact")).copyTo(file, "parquet")).toBe(1n);
  expect(await scene.rows(`SELECT h::VARCHAR AS h, CAST(i AS INTERVAL)::VARCHAR AS i FROM '${file}'`)).toEqual([
    { h: exact, i: "00:00:00.000001" },
  ]);
});
