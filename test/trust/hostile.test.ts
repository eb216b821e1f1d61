// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations have references of this form.
/**
 * Broken and hostile input of every kind, from fixed seeds: whatever comes in, what goes out is an answer or an error of
 * this project's family, soon, and the lake is as it was.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { InternalError, IvmError, type Lake } from "../../src/index.js";
import { readConfig } from "../../src/project/config.js";
import { Problems } from "../../src/project/problems.js";
import { load } from "../project/files.js";
import { OpenLake } from "../setup/open-lake.js";

vi.setConfig({ testTimeout: 300_000 });

const SLOWEST_MS = 15_000;

const HOSTILE = [
  "'",
  '"',
  "`",
  ";",
  "--",
  "/*",
  "*/",
  "\\",
  "\u0000",
  "\n",
  "\t",
  "${",
  "${HOME}",
  "${}",
  "$(id)",
  "%00",
  "../",
  "/etc/passwd",
  "'; DROP TABLE t; --",
  '"; DROP SCHEMA ivm CASCADE; --',
  "&a",
  "*a",
  "!!js/function",
  "<<: *a",
  "{{{{",
  "[[[[",
  "- - - -",
  "9".repeat(400),
  "x".repeat(5_000),
  "(".repeat(300),
  "\ud800",
  "𝒳",
  "\u202e",
  "NaN",
  "1e999",
  "-1",
  "null",
  "true",
  "~",
  "%",
  "{",
  "}",
  "ATTACH 'x'",
  "read_csv('/etc/passwd')",
  "COPY t TO 'x'",
  "PRAGMA x",
  "SELECT",
  "FROM",
  "WITH RECURSIVE",
  "UNION ALL",
  ",",
  "(",
  ")",
] as const;

/** A text with some of it cut out, doubled, or exchanged for something hostile. */
function mutated(texts: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 0, max: 12 }),
    put: fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 8 }), fc.constant("")),
  });
  return fc.tuple(fc.constantFrom(...texts), fc.array(edit, { minLength: 1, maxLength: 4 })).map(([text, edits]) =>
    edits.reduce((result, { at, length, put }) => {
      const start = Math.floor(at * result.length);
      return result.slice(0, start) + put + result.slice(start + length);
    }, text),
  );
}

/** Fine, or an error that was raised on purpose; never one that is a fault of this project. */
async function expectAnswer(work: () => Promise<unknown>, input: unknown): Promise<void> {
  const start = performance.now();
  try {
    await work();
  } catch (error) {
    const shown = `${String(error)} for ${JSON.stringify(input)?.slice(0, 600)}`;
    expect(error, shown).toBeInstanceOf(IvmError);
    expect(error, shown).not.toBeInstanceOf(InternalError);
    expect((error as IvmError).message, shown).not.toMatch(/\n\s+at .*\.js:\d/);
  }
  expect(performance.now() - start, JSON.stringify(input)?.slice(0, 600)).toBeLessThan(SLOWEST_MS);
}

const check = <Input>(arbitrary: fc.Arbitrary<Input>, numRuns: number, run: (input: Input) => Promise<void>) =>
  fc.assert(fc.asyncProperty(arbitrary, run), { seed: 20_261, numRuns, endOnFailure: true });

const CONFIGS = [
  "lake:\n  catalog: lake.ducklake\n  data_path: files\nviews: views\nschema: main\nstate_schema: ivm\n",
  'lake: { catalog: "postgres:dbname=x host=y password=${PASSWORD}", metadata_schema: m }\ns3: { endpoint: "http://h:9000", url_style: path }\n',
  "lake: &a\n  catalog: sqlite:x.sqlite\nlog:\n  path: s3://bucket/logs\n  keep: 7d\n  fan_out: 8\n  file_size: 128MB\nengine:\n  threads: 2\n  memory_limit: 1GB\nretry_for: 2m\n",
];

test("1,000 configurations", () =>
  check(mutated(CONFIGS), 1_000, async (text) => {
    await expectAnswer(async () => {
      readConfig({ file: "/p/ducklake-ivm.yaml", text, directory: "/p" }, { PASSWORD: "s3cret" }, new Problems());
    }, text);
  }));

test("120 projects whose files are no text at all", () =>
  check(
    fc.tuple(
      fc.uint8Array({ maxLength: 300 }),
      mutated(["/* ---\nprimary_key: id\nrefresh: auto\n--- */\nSELECT 1 AS id"]),
    ),
    120,
    async ([bytes, view]) => {
      await expectAnswer(() => load("lake: { catalog: x }", { "views/a.sql": view, "views/b.sql": bytes }), view);
    },
  ));

const QUERIES = [
  "SELECT k, sum(v) AS s FROM t GROUP BY k HAVING sum(v) > 1",
  "WITH x AS (SELECT * FROM t WHERE v > 3) SELECT a.k, b.v FROM x a LEFT JOIN t b ON a.k = b.k",
  "SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM t QUALIFY n < 3",
  "SELECT DISTINCT k FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.v = t.k) ORDER BY k LIMIT 5",
  "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r, t",
];

async function lakeWithTable(log = false): Promise<OpenLake> {
  const opened = await OpenLake.start(
    { engine: { threads: 1 } },
    log ? { compact: "manual", keep: { snapshots: 100n } } : undefined,
  );
  await opened.rows("CREATE TABLE t AS SELECT range % 3 AS k, range AS v FROM range(20)");
  return opened;
}

const newest = async ({ connection }: OpenLake): Promise<unknown> =>
  (await connection.runAndReadAll("FROM ducklake_current_snapshot('lake')")).getRowsJS();

test("600 definitions: nothing is written, and no statement hides in them", async () => {
  await using opened = await lakeWithTable();
  const names = fc.oneof(fc.constant("v"), fc.constantFrom(...HOSTILE), mutated(["view name"]));
  const before = await newest(opened);
  await check(fc.tuple(names, mutated(QUERIES)), 600, async ([name, sql]) => {
    await expectAnswer(() => opened.lake.define([{ name, sql }], { dryRun: true }), { name, sql });
  });
  expect(await newest(opened)).toEqual(before);
  expect(await opened.rows("SELECT count(*) FROM t")).toEqual([[20n]]);
});

test("hostile names are only names: of views, and of what is below the log root", async () => {
  await using opened = await lakeWithTable(true);
  const { lake } = opened;
  const names = ["../../up", "a'; DROP TABLE t; --", 'a"b', "ü/ö", "select", "x".repeat(200), "a.b", "con", "%2e%2e"];
  for (const [index, name] of names.entries()) {
    await expectAnswer(async () => {
      await lake.define([{ name, sql: `SELECT k, ${index} AS i FROM t` }]);
      await lake.refresh({ views: [name] });
      expect((await lake.verify({ views: [name] })).map(({ ok }) => ok)).toEqual([true]);
    }, name);
  }
  expect(await opened.rows("SELECT count(*) FROM t")).toEqual([[20n]]);
  const outside = (await readdir(opened.folder)).sort();
  expect(outside.filter((file) => !/^(catalog\.ducklake(\.wal)?|data|logs)$/.test(file))).toEqual([]);
});

/** A lake with a change log, and the files of one view. */
async function logged(): Promise<OpenLake & { readonly logFolder: string }> {
  const opened = await lakeWithTable(true);
  await opened.lake.define([{ name: "w", sql: "SELECT k, sum(v) AS s FROM t GROUP BY k" }]);
  await opened.lake.refresh();
  for (const value of [100, 200]) {
    await opened.rows(`INSERT INTO t VALUES (1, ${value})`);
    await opened.lake.refresh();
  }
  return Object.assign(opened, { logFolder: join(opened.folder, "logs", "w") });
}

const readAll = async (lake: Lake): Promise<number> => {
  let rows = 0;
  for await (const _ of await lake.state("w")) rows += 1;
  return rows;
};

test("150 manifests: the lake's tables are the truth, and repair them", async () => {
  await using opened = await logged();
  const file = join(opened.logFolder, "manifest.json");
  await opened.lake.compact();
  const good = await readFile(file, "utf8");
  const told = (text: string): unknown => {
    const { bases, segments, end } = JSON.parse(text) as Record<string, unknown>;
    return { bases, segments, end };
  };
  await check(fc.oneof(mutated([good]), fc.string(), fc.json()), 150, async (text) => {
    await writeFile(file, text);
    await expectAnswer(() => opened.lake.compact(), text);
  });
  await opened.lake.compact();
  expect(told(good)).toMatchObject({ end: expect.anything(), segments: expect.anything() });
  expect(told(await readFile(file, "utf8"))).toEqual(told(good));
  expect(await readAll(opened.lake)).toBe(3);
});

test("250 Parquet files of a log: rows or an error, and the views go on", async () => {
  await using opened = await logged();
  const names = (await readdir(opened.logFolder)).filter((name) => name.endsWith(".parquet"));
  expect(names.length).toBeGreaterThan(1);
  const contents = new Map<string, Buffer>();
  for (const name of names) contents.set(name, await readFile(join(opened.logFolder, name)));
  const damage = fc.record({
    name: fc.constantFrom(...names),
    keep: fc.double({ min: 0, max: 1, noNaN: true }),
    truncate: fc.boolean(),
    bytes: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 6,
    }),
  });
  await check(damage, 250, async ({ name, keep, truncate, bytes }) => {
    const good = contents.get(name) ?? Buffer.alloc(0);
    const bad = Buffer.from(truncate ? good.subarray(0, Math.floor(keep * good.length)) : good);
    for (const [at, byte] of bytes) if (bad.length > 0) bad[Math.floor(at * (bad.length - 1))] = byte;
    await writeFile(join(opened.logFolder, name), bad);
    await expectAnswer(() => readAll(opened.lake), { name, keep, truncate, bytes });
    await writeFile(join(opened.logFolder, name), good);
  });
  expect(await readAll(opened.lake)).toBe(3);
  await opened.rows("INSERT INTO t VALUES (2, 7)");
  expect((await opened.lake.refresh()).views.map(({ error }) => error)).toEqual([null]);
  expect((await opened.lake.verify()).map(({ ok }) => ok)).toEqual([true]);
});
