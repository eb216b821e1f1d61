import { once } from "node:events";
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { loadExtension } from "../../src/engine/extensions.js";
import { EngineError } from "../../src/errors.js";

/** Nothing listens there, so a request fails at once. */
const NOWHERE = "http://127.0.0.1:9";

let folder: string;
let cacheDirectory: string;
/** A cache that holds `tpch`, for the tests that begin with one, and the file in it. */
let seedCache: string;
let seed: string;
const opened: DuckDBInstance[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(inject("workspace"), "seed-"));
  cacheDirectory = join(folder, "cache");
  await loadExtension(await isolated(), "tpch", { cacheDirectory });
  seedCache = cacheDirectory;
  seed = await cachedFile();
});

beforeEach(async () => {
  folder = await mkdtemp(join(inject("workspace"), "extensions-"));
  cacheDirectory = join(folder, "cache");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const instance of opened.splice(0)) instance.closeSync();
});

/** An instance with nothing installed, whose own repository can't be reached: only folders, cache and wheels are left. */
async function isolated(repository = NOWHERE): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(":memory:", {
    extension_directory: join(folder, "installed"),
    custom_extension_repository: repository,
  });
  opened.push(instance);
  return instance.connect();
}

async function cachedFile(): Promise<string> {
  const files = await readdir(cacheDirectory, { recursive: true });
  const [file] = files.filter((path) => path.endsWith("tpch.duckdb_extension"));
  if (file === undefined) throw new Error(`nothing cached: ${files.join(", ")}`);
  return join(cacheDirectory, file);
}

async function loaded(connection: DuckDBConnection, name: string): Promise<unknown> {
  const reader = await connection.runAndReadAll(
    `SELECT loaded FROM duckdb_extensions() WHERE extension_name = '${name}'`,
  );
  return reader.getRowsJson()[0]?.[0];
}

describe("with what the machine has", () => {
  test("a lake's extensions load, and loading again does nothing", async () => {
    const instance = await DuckDBInstance.create(":memory:");
    opened.push(instance);
    const connection = await instance.connect();
    for (const name of ["ducklake", "sqlite_scanner", "postgres_scanner", "httpfs"] as const) {
      expect(await loadExtension(connection, name)).not.toBe("loaded");
      expect(await loaded(connection, name)).toBe(true);
      expect(await loadExtension(connection, name)).toBe("loaded");
    }
  });
});

test("DuckDB's INSTALL comes before the wheel, with the instance's own settings, and stays installed", async () => {
  const compressed = gzipSync(await readFile(seed), { level: 1 });
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    response.end(compressed);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const repository = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await loadExtension(await isolated(repository), "tpch", { cacheDirectory })).toBe("duckdb");
    expect(requests).toEqual([expect.stringMatching(/^\/v[\d.]+\/\w+\/tpch\.duckdb_extension\.gz$/)]);
    expect(await loadExtension(await isolated(), "tpch", { cacheDirectory })).toBe("installed");
  } finally {
    server.close();
  }
});

describe("from a wheel", () => {
  test("the extension is fetched once, kept, and used from the cache afterwards", async () => {
    expect(await loadExtension(await isolated(), "tpch", { cacheDirectory })).toBe("wheel");
    const file = await cachedFile();
    expect(file).toMatch(/v\d+\.\d+\.\d+[\\/][a-z0-9_]+[\\/]tpch\.duckdb_extension$/);
    expect(await readdir(join(file, ".."))).toEqual(["tpch.duckdb_extension"]);

    const next = await isolated();
    expect(await loadExtension(next, "tpch", { cacheDirectory })).toBe("cache");
    const reader = await next.runAndReadAll("SELECT count(*) FROM tpch_queries()");
    expect(reader.getRowsJson()).toEqual([["22"]]);
  });

  test("a damaged file in the cache is replaced", async () => {
    await cp(seedCache, cacheDirectory, { recursive: true });
    const file = await cachedFile();
    const whole = await readFile(file);
    const flipped = Buffer.from(whole);
    flipped[1000] = 255 - (whole[1000] ?? 0);
    for (const damaged of [Buffer.from("no extension"), whole.subarray(0, whole.length / 2), flipped]) {
      // Written as a new file: the old one is mapped into this process.
      await rm(file);
      await writeFile(file, damaged);
      expect(await loadExtension(await isolated(), "tpch", { cacheDirectory })).toBe("wheel");
      expect(whole.equals(await readFile(file))).toBe(true);
    }
  });

  // The resolver keeps no state in memory, so callers of one process race just as processes do.
  test("callers that fetch the same extension at once all get it", async () => {
    const connections = await Promise.all([isolated(), isolated(), isolated()]);
    const origins = await Promise.all(connections.map((one) => loadExtension(one, "tpch", { cacheDirectory })));
    expect(origins).toEqual(["wheel", "wheel", "wheel"]);
    expect(await loadExtension(await isolated(), "tpch", { cacheDirectory })).toBe("cache");
    expect(await readdir(join(await cachedFile(), ".."))).toEqual(["tpch.duckdb_extension"]);
  });

  test("a cache that can't be written is no obstacle", async () => {
    await writeFile(join(folder, "file"), "");
    const options = { cacheDirectory: join(folder, "file", "cache") };
    expect(await loadExtension(await isolated(), "tpch", options)).toBe("wheel");
  });
});

describe("from a configured folder", () => {
  test("the option comes before the environment, and both before everything else", async () => {
    const directory = join(folder, "configured");
    await mkdir(directory);
    await copyFile(seed, join(directory, "tpch.duckdb_extension"));
    expect(await loadExtension(await isolated(), "tpch", { cacheDirectory, directory })).toBe("directory");

    vi.stubEnv("DUCKLAKE_IVM_EXTENSION_DIR", directory);
    expect(await loadExtension(await isolated(), "tpch", { cacheDirectory })).toBe("directory");
    const elsewhere = { cacheDirectory, directory: join(folder, "empty") };
    expect(await loadExtension(await isolated(), "tpch", elsewhere)).toBe("directory");
  });

  test("a folder without the extension, or with a broken one, is passed over and left alone", async () => {
    await cp(seedCache, cacheDirectory, { recursive: true });
    const directory = join(folder, "configured");
    await mkdir(directory);
    expect(await loadExtension(await isolated(), "tpch", { cacheDirectory, directory })).toBe("cache");
    await writeFile(join(directory, "tpch.duckdb_extension"), "no extension");
    expect(await loadExtension(await isolated(), "tpch", { cacheDirectory, directory })).toBe("cache");
    expect((await stat(join(directory, "tpch.duckdb_extension"))).size).toBe(12);
  });
});

test("where nothing helps, the error lists all that was tried, without passwords", async () => {
  vi.stubEnv("DUCKLAKE_IVM_EXTENSION_DIR", join(folder, "from-environment"));
  vi.stubEnv("PIP_INDEX_URL", "http://someone:hunter2@127.0.0.1:9/simple");
  vi.stubEnv("PIP_RETRIES", "0");
  vi.stubEnv("PIP_NO_CACHE_DIR", "1");
  vi.stubEnv("PIP_FIND_LINKS", "");
  const directory = join(folder, "configured");
  const failure = await loadExtension(await isolated(), "tpch", { cacheDirectory, directory }).catch((error) => error);
  expect(failure).toBeInstanceOf(EngineError);
  expect(failure.code).toBe("extension_unavailable");
  const [head, ...tried] = failure.message.split("\n");
  expect(head).toMatch(/tpch \(v\d+\.\d+\.\d+, \w+\)/);
  expect(tried).toEqual([
    `  - configured folder (${join(directory, "tpch.duckdb_extension")}): no such file`,
    `  - DUCKLAKE_IVM_EXTENSION_DIR (${join(folder, "from-environment", "tpch.duckdb_extension")}): no such file`,
    "  - DuckDB's installed extensions: not installed",
    expect.stringMatching(/^ {2}- cache \(.*tpch\.duckdb_extension\): no such file$/),
    expect.stringContaining(`Failed to download extension "tpch" at URL "${NOWHERE}`),
    expect.stringMatching(/^ {2}- pip download duckdb-extension-tpch==[\d.]+: ERROR: /),
  ]);
  expect(failure.message).not.toContain("hunter2");
  expect(failure.hint).toContain("DUCKLAKE_IVM_EXTENSION_DIR");
});
