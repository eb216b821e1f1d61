/** Files as inputs: what stands in them is what comes out, or nothing at all. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Scene } from "../hazards/scene.js";

let scene: Scene;
let number = 0;
beforeAll(async () => {
  scene = await Scene.start();
});
beforeEach(() => scene.sql("DROP TABLE IF EXISTS t"));
afterAll(() => scene?.[Symbol.asyncDispose]());

async function file(content: string | Buffer, ending: string): Promise<string> {
  const path = join(scene.place.folder, `input${number++}${ending}`);
  await writeFile(path, content);
  return path;
}

/** What becomes of one value that is written in a file. */
async function taken(type: string, content: string, ending: string): Promise<string> {
  await scene.sql("DROP TABLE IF EXISTS t", `CREATE TABLE t(v ${type})`);
  try {
    await scene.lake.append("t", await file(content, ending));
  } catch (error) {
    return (error as { code: string }).code;
  }
  return scene.value("SELECT coalesce(v::VARCHAR, 'NULL') FROM t");
}

describe("one value in CSV", () => {
  test.each([
    ["VARCHAR", "007", "007"],
    ["VARCHAR", '""', ""],
    ["VARCHAR", "NULL", "NULL"],
    ["VARCHAR", "#no comment", "#no comment"],
    ["VARCHAR", " spaces ", " spaces "],
    ["VARCHAR", '"a ""b"", c"', 'a "b", c'],
    ["VARCHAR", '"two\nlines"', "two\nlines"],
    ["VARCHAR", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"],
    ["INTEGER", "007", "7"],
    ["INTEGER", "7.0", "7"],
    ["INTEGER", "7.5", "value_lossy"],
    ["INTEGER", "seven", "value_lossy"],
    ["INTEGER", '""', "value_lossy"],
    ["INTEGER", "3000000000", "value_lossy"],
    ["UBIGINT", "18446744073709551615", "18446744073709551615"],
    ["DECIMAL(10,2)", "1.50", "1.50"],
    ["DECIMAL(10,2)", "1.5000", "1.50"],
    ["DECIMAL(10,2)", "1.505", "value_lossy"],
    ["DECIMAL(38,0)", "12345678901234567890123456789012345678", "12345678901234567890123456789012345678"],
    ["DOUBLE", "1e3", "1000.0"],
    ["DOUBLE", "nan", "nan"],
    ["BOOLEAN", "true", "true"],
    ["BOOLEAN", "perhaps", "value_lossy"],
    ["DATE", "2024-01-31", "2024-01-31"],
    ["DATE", "2024-01-31 00:00:00", "2024-01-31"],
    ["DATE", "2024-01-31 10:00:00", "value_lossy"],
    ["DATE", "31.01.2024", "value_lossy"],
    ["TIMESTAMP", "2024-01-31T10:00:00.123456", "2024-01-31 10:00:00.123456"],
    ["TIMESTAMP", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00"],
    ["TIMESTAMP", "2024-01-31T10:00:00+02:00", "value_lossy"],
    ["TIMESTAMP", "2024-01-31 10:00:00.123456789", "value_lossy"],
    ["TIMESTAMP_S", "2024-01-31 10:00:00.5", "value_lossy"],
    ["TIMESTAMP_NS", "2024-01-31 10:00:00.123456789", "2024-01-31 10:00:00.123456789"],
    ["TIME", "10:00:00.1234567", "value_lossy"],
    ["UUID", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    ["INTEGER[]", '"[1,2, NULL]"', "[1, 2, NULL]"],
    ["INTEGER[]", "[1.5]", "value_lossy"],
    ["JSON", '"{""a"":1}"', '{"a":1}'],
    ["JSON", "{", "value_lossy"],
  ])("for %s: %s", async (type, value, expected) => {
    expect(await taken(type, `v\n${value}\n`, ".csv")).toBe(expected);
  });

  test("an empty field is NULL", async () => {
    await scene.sql("CREATE TABLE t(a INTEGER, b VARCHAR)");
    await scene.lake.append("t", await file('b,a\n,\n"",1\n', ".csv"));
    expect(await scene.rows("t")).toEqual(["(1, )", "(NULL, NULL)"]);
  });
});

describe("one value in JSON", () => {
  test.each([
    ["VARCHAR", '"007"', "007"],
    ["VARCHAR", '"2024-01-01T00:00:00Z"', "2024-01-01T00:00:00Z"],
    ["VARCHAR", '"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"', "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"],
    ["VARCHAR", "12", "12"],
    ["VARCHAR", '{"a": 1}', '{"a":1}'],
    ["VARCHAR", "null", "NULL"],
    ["BIGINT", "9223372036854775807", "9223372036854775807"],
    ["DECIMAL(38,0)", "123456789012345678901234567890", "123456789012345678901234567890"],
    ["DECIMAL(10,2)", "1.5", "1.50"],
    ["DECIMAL(10,2)", '"1.505"', "value_lossy"],
    ["INTEGER", "1.5", "value_lossy"],
    ["DATE", '"2024-01-31"', "2024-01-31"],
    ["TIMESTAMP", '"2024-01-31T10:00:00Z"', "2024-01-31 10:00:00"],
    ["TIMESTAMP", '"2024-01-31T10:00:00+02:00"', "value_lossy"],
    ["INTEGER[]", "[1, null]", "[1, NULL]"],
    ["INTEGER[]", "[1.5]", "value_lossy"],
    ["VARCHAR[]", '["2024-01-01T00:00:00Z"]', "['2024-01-01T00:00:00Z']"],
    ["DATE[]", '["2024-01-01"]', "[2024-01-01]"],
    ["STRUCT(a INTEGER)", '{"a": 1}', "{'a': 1}"],
    ["STRUCT(a INTEGER)", '{"a": 1, "b": 2}', "value_lossy"],
    ["STRUCT(a INTEGER)", '{"b": 2}', "column_type"],
    ["MAP(VARCHAR, INTEGER)", '{"a": 1}', "value_lossy"],
    ["JSON", '{"a": [1, "x"]}', '{"a":[1,"x"]}'],
  ])("for %s: %s", async (type, value, expected) => {
    expect(await taken(type, `[{"v": ${value}}]`, ".json")).toBe(expected);
  });
});

test("a time without a zone is UTC, whatever the machine's zone", async () => {
  const connection = await scene.lake.connect();
  await connection.run("SET GLOBAL TimeZone = 'America/New_York'");
  try {
    await scene.sql("CREATE TABLE t(v TIMESTAMP WITH TIME ZONE)");
    await scene.lake.append("t", await file("v\n2024-01-01 10:00:00\n2024-01-01 10:00:00+02\n", ".csv"));
    expect(await scene.rows("(SELECT epoch(v) FROM t)")).toEqual(["(1704096000.0)", "(1704103200.0)"]);
  } finally {
    await connection.run("RESET GLOBAL TimeZone");
    connection.closeSync();
  }
});

describe("typed inputs", () => {
  test.each([
    ["INTEGER", "3::BIGINT", "3"],
    ["INTEGER", "3.0::DOUBLE", "3"],
    ["INTEGER", "3.5::DOUBLE", "value_lossy"],
    ["INTEGER", "'3'", "3"],
    ["INTEGER", "'03'", "value_lossy"],
    ["INTEGER", "DATE '2024-01-01'", "value_lossy"],
    ["BIGINT", "sum(1)", "1"],
    ["BIGINT", "9223372036854775808", "value_lossy"],
    ["DOUBLE", "9007199254740993", "value_lossy"],
    ["DOUBLE", "0.1::DECIMAL(3,1)", "0.1"],
    ["FLOAT", "0.1::DOUBLE", "value_lossy"],
    ["DOUBLE", "'nan'::FLOAT", "nan"],
    ["DECIMAL(10,2)", "0.1::DOUBLE", "0.10"],
    ["DECIMAL(10,2)", "(1 / 3)::DOUBLE", "value_lossy"],
    ["DATE", "TIMESTAMP '2024-01-01 00:00:00'", "2024-01-01"],
    ["DATE", "TIMESTAMP '2024-01-01 10:00:00'", "value_lossy"],
    ["TIMESTAMP", "DATE '2024-01-01'", "2024-01-01 00:00:00"],
    ["TIMESTAMP", "TIMESTAMPTZ '2024-01-01 00:00:00+02'", "column_type"],
    ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP '2024-01-01 00:00:00'", "column_type"],
    ["VARCHAR", "12", "12"],
    ["VARCHAR", "'a'::ENUM('a', 'b')", "a"],
    ["INTEGER[]", "[1, 2]::INTEGER[2]", "[1, 2]"],
    ["STRUCT(a INTEGER, b INTEGER)", "{'b': 1::BIGINT, 'a': 2}", "{'a': 2, 'b': 1}"],
    ["STRUCT(a INTEGER)", "{'a': 1, 'b': 2}", "value_lossy"],
    ["INTERVAL", "INTERVAL '0.001 seconds'", "00:00:00.001"],
    ["INTERVAL", "INTERVAL '0.000001 seconds'", "value_lossy"],
    ["HUGEINT", "9007199254740993", "value_lossy"],
    ["TIME WITH TIME ZONE", "'10:00:00+02'::TIMETZ", "value_lossy"],
    ["INTEGER", "NULL", "NULL"],
  ])("for %s: %s", async (type, value, expected) => {
    await scene.sql("DROP TABLE IF EXISTS t", `CREATE TABLE t(v ${type})`);
    const code = await scene.lake.append("t", `SELECT ${value} AS v`).catch((error) => error.code as string);
    const result = typeof code === "string" ? code : await scene.value("SELECT coalesce(v::VARCHAR, 'NULL') FROM t");
    expect(result).toBe(expected);
  });
});

describe("files", () => {
  test("of every form", async () => {
    await scene.sql("CREATE TABLE t(k INTEGER, v VARCHAR)");
    const parquet = join(scene.place.folder, "rows.parquet");
    await scene.sql(`COPY (SELECT 5 AS k, 'e' AS v) TO '${parquet}' (FORMAT parquet)`);
    await file("k,v\n7,g\n", "-part.csv");
    await file("k,v\n8,h\n", "-part.csv");
    for (const source of [
      await file("k,v\n1,a\n", ".csv"),
      await file('K\tV\n2\t"b\tb"\n', ".tsv"),
      await file('[{"k": 3, "v": "c"}]', ".json"),
      await file('{"k": 4, "v": "d"}\n{"v": null, "k": 40}\n', ".ndjson"),
      parquet,
      await file(gzipSync("k,v\n6,f\n"), ".csv.gz"),
      join(scene.place.folder, "*-part.csv"),
      { file: await file("k,v\n9,i\n", ".txt"), format: "csv" as const },
      await file("\uFEFFk,v\r\n10,j\r\n", ".CSV"),
    ]) {
      await scene.lake.merge("t", source, { key: ["k"] });
    }
    expect(await scene.rows("t")).toEqual(
      [
        "(1, a)",
        "(2, b\tb)",
        "(3, c)",
        "(4, d)",
        "(40, NULL)",
        "(5, e)",
        "(6, f)",
        "(7, g)",
        "(8, h)",
        "(9, i)",
        "(10, j)",
      ].sort(),
    );
  });

  test.each([
    ["a line with too few values", "k,v\n1,a\n2\n", ".csv", "input_unreadable"],
    ["a line with too many values", "k,v\n1,a\n2,b,c\n", ".csv", "input_unreadable"],
    ["an open quote", 'k,v\n1,"a\n', ".csv", "input_unreadable"],
    ["another separator", "k;v\n1;a\n", ".csv", "column_unknown"],
    ["no line of names", "1,a\n2,b\n", ".csv", "column_unknown"],
    ["a name twice", "k,k,v\n1,1,a\n", ".csv", "column_unknown"],
    ["nothing at all", "", ".csv", "input_unreadable"],
    ["no objects", "[1, 2]", ".json", "input_unreadable"],
    ["an empty array", "[]", ".json", "input_unreadable"],
    ["no JSON at all", "", ".json", "input_unreadable"],
    ["broken JSON", '[{"k": 1', ".json", "input_unreadable"],
    ["no Parquet", "k,v\n1,a\n", ".parquet", "input_unreadable"],
    ["an ending that tells nothing", "k,v\n1,a\n", ".txt", "format_unknown"],
  ])("with %s are errors", async (_, content, ending, code) => {
    await scene.sql("CREATE TABLE t(k INTEGER, v VARCHAR)");
    const before = await scene.snapshot();
    await expect(scene.lake.append("t", await file(content, ending))).rejects.toMatchObject({ code });
    expect(await scene.snapshot()).toBe(before);
  });

  test("of a pattern must have the same columns", async () => {
    await scene.sql("CREATE TABLE t(k INTEGER, v VARCHAR)");
    const folder = scene.place.folder;
    const pairs: [string, string][] = [];
    for (const [name, other] of [
      ["turned", "v,k\n1,2\n"],
      ["more", "k,v,w\n2,b,c\n"],
      ["fewer", "k\n2\n"],
    ]) {
      await writeFile(join(folder, `1-${name}.csv`), "k,v\n1,a\n");
      await writeFile(join(folder, `2-${name}.csv`), other ?? "");
      pairs.push([join(folder, `?-${name}.csv`), `2-${name}.csv`]);
    }
    for (const [name, other] of [
      ["rounded", "2.5 AS k, 'b' AS v"],
      ["wider", "2::BIGINT AS k, 'b' AS v"],
      ["more", "2 AS k, 'b' AS v, 3 AS w"],
      ["fewer", "2 AS k"],
    ]) {
      await scene.sql(`COPY (SELECT 1 AS k, 'a' AS v) TO '${folder}/1-${name}.parquet'`);
      await scene.sql(`COPY (SELECT ${other}) TO '${folder}/2-${name}.parquet'`);
      pairs.push([join(folder, `?-${name}.parquet`), ".parquet"]);
    }
    for (const [pattern, named] of pairs) {
      const refusal = scene.lake.append("t", pattern);
      await expect(refusal, pattern).rejects.toMatchObject({
        code: "files_differ",
        subject: { file: expect.stringContaining(named) },
      });
    }
    await scene.sql(`COPY (SELECT 'a' AS v, 1 AS k) TO '${folder}/1-by-name.parquet'`);
    await scene.sql(`COPY (SELECT 2 AS k, 'b' AS v) TO '${folder}/2-by-name.parquet'`);
    await scene.lake.append("t", join(folder, "?-by-name.parquet"));
    expect(await scene.rows("t")).toEqual(["(1, a)", "(2, b)"]);
  });

  test("that can be read only once, and folders, are refused", async () => {
    await scene.sql("CREATE TABLE t(k INTEGER)");
    for (const path of ["/dev/null", scene.place.folder]) {
      const refusal = scene.lake.append("t", { file: path, format: "csv" });
      await expect(refusal).rejects.toMatchObject({ name: "ConfigError", code: "not_a_file" });
    }
  });

  test("on the web keep their signatures to themselves", async () => {
    await scene.sql("CREATE TABLE t(k INTEGER)");
    const address = "https://127.0.0.1:1/rows.csv?signature=tops3cret";
    for (const source of [address, `SELECT * FROM read_csv('${address}')`]) {
      const error = await scene.lake.append("t", source).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(Error);
      expect(inspect(error, { depth: 5 })).toContain("127.0.0.1");
      expect(inspect(error, { depth: 5 })).not.toContain("tops3cret");
    }
  });

  test("with a name that only the last object has lose nothing", async () => {
    await scene.sql("CREATE TABLE t(k INTEGER, late VARCHAR)");
    const objects = Array.from({ length: 30_000 }, (_, k) => `{"k": ${k}${k === 29_999 ? ', "late": "x"' : ""}}`);
    await scene.lake.append("t", await file(objects.join("\n"), ".ndjson"));
    expect(await scene.value("SELECT count(late) || ' of ' || count(*) FROM t")).toBe("1 of 30000");
  });

  test("with a separator of their own are read by a query", async () => {
    await scene.sql("CREATE TABLE t(k INTEGER, v VARCHAR)");
    const path = await file("k;v\n1;a\n", ".csv");
    await expect(scene.lake.append("t", path)).rejects.toMatchObject({ hint: expect.stringContaining("delim = ';'") });
    await scene.lake.append("t", `SELECT * FROM read_csv('${path}', delim = ';')`);
    expect(await scene.rows("t")).toEqual(["(1, a)"]);
  });

  test("make a table with the types that DuckDB finds in them", async () => {
    await scene.lake.append("t", await file("id,at,n\n1,2024-01-01 10:00:00,1.5\n2,,\n", ".csv"), { create: true });
    expect(
      await scene.rows(
        "(SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 't' AND database_name = 'lake')",
      ),
    ).toEqual(["(at, TIMESTAMP)", "(id, BIGINT)", "(n, DOUBLE)"]);
    expect(await scene.rows("t")).toEqual(["(1, 2024-01-01 10:00:00, 1.5)", "(2, NULL, NULL)"]);
  });
});
