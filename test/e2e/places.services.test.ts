/** Lakes in all places that a configuration can name, and those that can't be reached. */

import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { loadExtension } from "../../src/engine/extensions.js";
import { diagnose, IvmError, type LakeConfig, open } from "../../src/index.js";
import { quoteLiteral } from "../../src/sql/quote.js";
import { type LakeKind, tempLake } from "../setup/lake.js";
import { PlainReader } from "./plain.js";
import { World } from "./world.js";

const VIEW = { sums: "SELECT v, sum(id) AS s FROM t GROUP BY v" };
const TABLE = ["CREATE TABLE t (id INTEGER, v INTEGER)", "INSERT INTO t SELECT i, i % 3 FROM range(30) r(i)"];

test.each<LakeKind>([
  { catalog: "duckdb", data: "folder" },
  { catalog: "sqlite", data: "folder" },
  { catalog: "postgres", data: "s3" },
])("data_path may be left out for a lake that exists ($catalog, $data)", async (kind) => {
  await using place = await tempLake(kind);
  {
    await using reader = await PlainReader.attach(place.config, "lake");
    for (const sql of TABLE) await reader.connection.run(sql);
  }
  const { dataPath, ...config } = place.config;
  const lake = await open(config);
  await lake.define([{ name: "sums", sql: VIEW.sums }]);
  expect((await lake.refresh()).status).toBe("refreshed");
  const connection = await lake.connect();
  const files = await connection.runAndReadAll(
    "SELECT data_file FROM ducklake_list_files('lake', 'data_sums', schema => 'ivm')",
  );
  expect(String(files.getRowsJS()[0]?.[0])).toContain(dataPath);
  connection.closeSync();
  expect(await lake.verify()).toMatchObject([{ ok: true }]);
  await lake.close();
});

test("schemas of their own for views and state, and sources in several schemas", async () => {
  await using world = await World.start(
    { catalog: "postgres", data: "folder" },
    { schema: "shown to all", stateSchema: 'kept "aside"' },
  );
  await world.sql('CREATE SCHEMA "in"', 'CREATE TABLE "in".t (id INTEGER, v INTEGER)', ...TABLE);
  await world.sql('INSERT INTO "in".t VALUES (1, 1), (2, 2)');
  await world.lake.define([
    { name: "sums", sql: 'SELECT a.v, sum(b.id) AS s FROM t a JOIN "in".t b ON a.id = b.id GROUP BY a.v' },
    { name: "above", sql: 'SELECT count(*) AS n FROM "shown to all".sums' },
    { name: "above_too", sql: "SELECT max(s) AS m FROM sums" },
  ]);
  for (const change of ["SELECT 1", 'UPDATE "in".t SET id = id + 1']) {
    await world.sql(change);
    expect((await world.lake.refresh()).status).toBe("refreshed");
    expect((await world.lake.verify()).map((result) => result.ok)).toEqual([true, true, true]);
  }
  const rows = await world.rows(
    'SELECT v, s::INTEGER AS s, n, m::INTEGER AS m FROM "shown to all".sums, "shown to all".above, "shown to all".above_too ORDER BY v',
  );
  expect(rows).toEqual([
    { v: 0, s: 3, n: 2n, m: 3 },
    { v: 2, s: 2, n: 2n, m: 3 },
  ]);
  const schemas = await world.rows(
    `SELECT DISTINCT schema_name AS name FROM duckdb_tables() WHERE database_name = '${world.alias}' ORDER BY 1`,
  );
  expect(schemas.map((row) => row["name"])).toEqual(["in", 'kept "aside"', "main"]);
});

test("two lakes side by side, in one database and in one program", async () => {
  await using first = await World.start({ catalog: "postgres", data: "folder" });
  await using second = await World.start({ catalog: "postgres", data: "s3" });
  for (const [world, factor] of [
    [first, 1],
    [second, 10],
  ] as const) {
    await world.sql(...TABLE, `UPDATE t SET id = id * ${factor}`);
    await world.build(VIEW);
  }
  await first.sql("INSERT INTO t VALUES (1000, 0)");
  await second.sql("DELETE FROM t WHERE v = 0");
  const [one, two] = await Promise.all([first.lake.refresh(), second.lake.refresh()]);
  expect([one.status, two.status]).toEqual(["refreshed", "refreshed"]);
  await first.refresh();
  await second.refresh();
  expect(await first.value("SELECT s::INTEGER FROM sums WHERE v = 0")).toBe(1135);
  expect(await second.value("SELECT count(*) FROM sums WHERE v = 0")).toBe(0n);
});

test("an encrypted lake", async () => {
  await using place = await tempLake();
  {
    await using reader = await PlainReader.attach(place.config, "lake", ["ENCRYPTED"]);
    await reader.connection.run("CREATE TABLE t AS SELECT i AS id, i % 3 AS v FROM range(300) r(i)");
  }
  await using lake = await open(place.config);
  await lake.define([{ name: "sums", sql: VIEW.sums }]);
  await lake.refresh();
  const connection = await lake.connect();
  await connection.run("INSERT INTO t SELECT i, 1 FROM range(100) r(i)");
  await connection.run("DELETE FROM t WHERE id % 5 = 0");
  expect(await lake.refresh()).toMatchObject({ status: "refreshed", views: [{ strategy: "incremental" }] });
  expect(await lake.verify()).toMatchObject([{ ok: true }]);
  const files = await connection.runAndReadAll(
    "SELECT data_file FROM ducklake_list_files('lake', 'data_sums', schema => 'ivm')",
  );
  await expect(connection.run(`FROM read_parquet('${files.getRowsJS()[0]?.[0]}')`)).rejects.toThrow(/encrypted/);
  connection.closeSync();
});

test("an instance of the caller's own stays open", async () => {
  await using place = await tempLake();
  const instance = await DuckDBInstance.create(":memory:");
  const lake = await open(place.config, { instance });
  const connection = await lake.connect();
  for (const sql of TABLE) await connection.run(sql);
  await lake.define([{ name: "sums", sql: VIEW.sums }]);
  await lake.refresh();
  await lake.close();
  const rows = await connection.runAndReadAll("SELECT v, s::INTEGER FROM lake.main.sums ORDER BY v");
  expect(rows.getRowsJS()).toEqual([
    [0, 135],
    [1, 145],
    [2, 155],
  ]);
  connection.closeSync();
  instance.closeSync();
});

describe("a lake that can't be reached says so, and keeps its secrets", () => {
  /** Opens a lake, works with it, and gives the error that comes of it. */
  async function failure(config: LakeConfig): Promise<IvmError> {
    try {
      await using lake = await open(config);
      await lake.define([{ name: "one", sql: "SELECT 1 AS one" }]);
      const result = await lake.refresh();
      const [view] = result.views;
      if (view?.error) throw Object.assign(new Error(view.error.message), view.error);
    } catch (error) {
      if (error instanceof IvmError) return error;
      if (error instanceof Error && "retryable" in error) return error as IvmError;
      throw error;
    }
    throw new Error("the lake could be reached");
  }

  /** All that a program could print of an error. */
  function everything(error: unknown): string {
    if (!(error instanceof Error)) return JSON.stringify(error) ?? "";
    const own = JSON.stringify(error, Object.getOwnPropertyNames(error));
    return `${own} ${error.stack} ${error.cause === undefined ? "" : everything(error.cause)}`;
  }

  const SECRET = "Wr0ng+Secret/Key";

  test("wrong S3 keys", async () => {
    await using place = await tempLake({ catalog: "duckdb", data: "s3" });
    const s3 = { ...place.config.s3, secretAccessKey: SECRET };
    const error = await failure({ ...place.config, s3 });
    expect(error).toMatchObject({ code: "storage_denied", retryable: false });
    expect(error.hint).toMatch(/keys/);
    expect(everything(error)).not.toContain(SECRET);
    expect(everything(error)).not.toMatch(/Authorization|Signature=/);
  });

  test("no object storage at the endpoint", async () => {
    await using place = await tempLake({ catalog: "duckdb", data: "s3" });
    const s3 = { ...place.config.s3, endpoint: `127.0.0.1:${await freePort()}`, secretAccessKey: SECRET };
    const error = await failure({ ...place.config, s3 });
    expect(error.code).toBe("storage_unreachable");
    expect(everything(error)).not.toContain(SECRET);
  });

  test("a wrong password of PostgreSQL", async () => {
    await using place = await tempLake({ catalog: "postgres", data: "folder" });
    for (const password of [SECRET, "'wr0ng secret\\' key'"]) {
      const catalog = place.config.catalog.replace(/password=\S+/, `password=${password}`);
      const error = await failure({ ...place.config, catalog });
      expect(error).toMatchObject({ code: "catalog_unreachable", retryable: false });
      expect(everything(error)).not.toMatch(/Wr0ng|wr0ng/);
    }
  });

  test("no PostgreSQL at the address", async () => {
    await using place = await tempLake({ catalog: "postgres", data: "folder" });
    const catalog = place.config.catalog.replace(/port=\d+/, `port=${await freePort()}`);
    const error = await failure({ ...place.config, catalog });
    expect(error.code).toBe("catalog_unreachable");
    expect(error.hint).toBeTruthy();
    const password = /password=(\S+)/.exec(catalog)?.[1] ?? "?";
    expect(everything(error)).not.toContain(password);
  });

  test.each(["", "sqlite:"])("a catalog file in a folder that does not exist (%s)", async (prefix) => {
    await using place = await tempLake();
    const folder = join(place.folder, "nowhere");
    const error = await failure({ catalog: `${prefix}${join(folder, "catalog")}`, dataPath: place.folder });
    expect(error.code).toBe("catalog_unreachable");
    expect(existsSync(folder)).toBe(false);
  });

  test.each(["duckdb", "sqlite", "postgres"] as const)("no lake where one must be (%s)", async (catalog) => {
    await using place = await tempLake({ catalog, data: "folder" });
    for (const access of [{ mustExist: true }, { mustExist: true, readOnly: true }]) {
      await expect(open(place.config, access)).rejects.toMatchObject({ code: "catalog_unreachable" });
    }
    const { checks } = await diagnose(place.config);
    expect(checks.find(({ name }) => name === "catalog")).toMatchObject({ status: "error" });
    expect(await readdir(place.folder)).toEqual([]);
    if (catalog === "postgres") expect(await schemasIn(place.config)).not.toContain(place.config.metadataSchema);
    await (await open(place.config)).close();
    await (await open(place.config, { mustExist: true })).close();
  });

  test("another data path than the lake's own, and a new lake without one", async () => {
    await using place = await tempLake();
    await using lake = await open(place.config);
    await lake.close();
    expect((await failure({ ...place.config, dataPath: join(place.folder, "elsewhere") })).code).toBe(
      "data_path_wrong",
    );
  });
});

/** A port of this machine where nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

/** The schemas of a catalog's PostgreSQL database. */
async function schemasIn({ catalog }: LakeConfig): Promise<unknown[]> {
  const instance = await DuckDBInstance.create(":memory:");
  try {
    const connection = await instance.connect();
    await loadExtension(connection, "postgres_scanner");
    await connection.run(`ATTACH ${quoteLiteral(catalog.replace(/^postgres:/, ""))} AS pg (TYPE postgres, READ_ONLY)`);
    const rows = await connection.runAndReadAll("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'pg'");
    return rows.getRows().flat();
  } finally {
    instance.closeSync();
  }
}
