/** SIGINT and SIGTERM to real commands, at their statements in turn: nothing is half done, and a rerun does the rest. */
import { cp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DuckDBConnection } from "@duckdb/node-api";
import { execa } from "execa";
import { expect, test, vi } from "vitest";
import { type Lake, open, type ViewDefinition } from "../../src/index.js";
import { BINARY, processOptions } from "../cli/command.js";
import { folder } from "../project/files.js";

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const HOOK = fileURLToPath(new URL("signal-at.mjs", import.meta.url));
const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** In order is within less than ten seconds; the rest is a busy machine. */
const QUICKLY_MS = 20_000;

const CONFIG = `
lake: { catalog: lake.ducklake, data_path: data }
log: { path: logs, fan_out: 2, keep: 1 snapshots, compact: manual }
engine: { threads: 1 }`;
const ROWS = "SELECT id, v FROM t WHERE v < 5";
const SUMS = "SELECT v, count(*) AS n, sum(id) AS s FROM rows GROUP BY v";
const VIEWS = {
  "views/rows.sql": `/* ---\nprimary_key: id\n--- */\n${ROWS}`,
  "views/sums.sql": SUMS,
};
const DEFINITIONS: readonly ViewDefinition[] = [
  { name: "rows", sql: ROWS, primaryKey: ["id"] },
  { name: "sums", sql: SUMS },
];
const QUERY = "SELECT (i * 3)::INTEGER AS id, (i % 4)::INTEGER AS v FROM range(60) r(i)";

/** A lake whose views are a change behind, whose logs can be compacted, and whose mirror is behind them. */
async function prepare(): Promise<string> {
  const cwd = await folder({ "ducklake-ivm.yaml": CONFIG, ...VIEWS });
  await using place = await Place.open(cwd);
  await place.sql(
    "CREATE TABLE t(id INTEGER, v INTEGER)",
    "CALL lake.set_option('data_inlining_row_limit', 0)",
    "INSERT INTO t SELECT i, i % 7 FROM range(100) r(i)",
  );
  await place.lake.define(DEFINITIONS);
  await place.lake.refresh();
  await place.lake.addConsumer("mirror", "rows");
  await place.lake.replay({ consumer: "mirror", into: mirrorOf(cwd) });
  for (let round = 0; round < 3; round += 1) {
    await place.sql(
      `INSERT INTO t VALUES (${1000 + round}, ${round})`,
      `UPDATE t SET v = v + 1 WHERE id % 9 = ${round}`,
    );
    await place.lake.refresh();
    if (round === 1) await place.lake.compact();
  }
  // Files for a sweep.
  await place.sql("UPDATE ivm.retired SET retired_at = retired_at - INTERVAL 2 HOUR");
  await place.sql("DELETE FROM t WHERE id % 10 = 3", "INSERT INTO t VALUES (2000, 2)");
  return cwd;
}

function mirrorOf(cwd: string): string {
  return `duckdb:${join(cwd, "mirror.db")}.copy`;
}

/** The project's lake, for as long as no command has it. */
class Place implements AsyncDisposable {
  private constructor(
    readonly cwd: string,
    readonly lake: Lake,
    private readonly connection: DuckDBConnection,
  ) {}

  static async open(cwd: string, graceMs?: number): Promise<Place> {
    const grace = graceMs === undefined ? {} : { graceMs };
    const lake = await open({
      catalog: join(cwd, "lake.ducklake"),
      dataPath: join(cwd, "data"),
      log: { path: join(cwd, "logs"), fanOut: 2, keep: { snapshots: 1n }, compact: "manual", ...grace },
      engine: { threads: 1 },
    });
    return new Place(cwd, lake, await lake.connect());
  }

  async sql(...statements: readonly string[]): Promise<unknown[][]> {
    let rows: unknown[][] = [];
    for (const statement of statements) rows = (await this.connection.runAndReadAll(statement)).getRowsJson();
    return rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.closeSync();
    await this.lake.close();
  }
}

type Content = Readonly<Record<string, string>>;

/** Everything that a command may write, as text; each part may move only as a whole. */
async function contentOf(place: Place): Promise<Content> {
  const rows = async (relation: string) => JSON.stringify(await place.sql(`FROM ${relation} ORDER BY ALL`));
  expect((await place.lake.verify()).map(({ view, ok }) => [view, ok])).toEqual([
    ["rows", true],
    ["sums", true],
  ]);
  await place.sql(`ATTACH '${join(place.cwd, "mirror.db")}' AS mirror (READ_ONLY)`);
  const mirror = await rows("mirror.main.copy");
  await place.sql("DETACH mirror");
  return { t: await rows("t"), rows: await rows("rows"), sums: await rows("sums"), mirror };
}

async function onPlace<Result>(
  cwd: string,
  work: (place: Place) => Promise<Result>,
  graceMs?: number,
): Promise<Result> {
  await using place = await Place.open(cwd, graceMs);
  return await work(place);
}

/** What a view's log says that it holds. */
async function logged(place: Place, view: string): Promise<string> {
  const rows: string[] = [];
  for await (const { row } of await place.lake.state(view)) rows.push(JSON.stringify(Object.values(row).map(String)));
  return rows.sort().join();
}

async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** After the rest is done too: logs equal views, and there is no file that nothing knows of. */
async function expectTidy(place: Place): Promise<void> {
  const { cwd } = place;
  for (const view of ["rows", "sums"]) {
    const held = await place.sql(`SELECT COLUMNS(*)::VARCHAR FROM ${view}`);
    expect(await logged(place, view)).toBe(
      held
        .map((row) => JSON.stringify(row))
        .sort()
        .join(),
    );
  }
  await place.lake.sweep();
  const known = await place.sql("SELECT file FROM ivm.segments WHERE file IS NOT NULL");
  const logs = (await filesBelow(join(cwd, "logs"))).map((file) => file.slice(cwd.length + "/logs/".length));
  expect(logs.filter((file) => !file.endsWith("/manifest.json")).sort()).toEqual(known.flat().sort());
  // A file of the lake that was being written when its statement was interrupted is left by DuckLake, now and then.
  const orphans = "ducklake_delete_orphaned_files('lake', dry_run => true, cleanup_all => true)";
  expect((await place.sql(`FROM ${orphans}`)).length).toBeLessThanOrEqual(1);
  const left = (await readdir(cwd)).filter((name) => !name.endsWith(".wal") && name !== "target").sort();
  expect(left).toEqual(["data", "ducklake-ivm.yaml", "lake.ducklake", "logs", "mirror.db", "views"]);
}

interface Signalled {
  readonly inOrder: boolean;
  readonly tookMs: number;
}

/** Runs the command and sends it a signal at its n-th statement. */
async function signalled(cwd: string, words: readonly string[], at: number): Promise<Signalled> {
  const signal = SIGNALS[at % 2] ?? "SIGINT";
  const start = performance.now();
  const {
    exitCode,
    signal: endedBy,
    stdout,
    stderr,
  } = await execa(
    BINARY,
    [...words, "--output", "json"],
    processOptions({ cwd, env: { NODE_OPTIONS: `--import=${HOOK}`, SIGNAL: signal, SIGNAL_AT: String(at) } }),
  );
  const tookMs = performance.now() - start;
  const inOrder = stderr.includes("Stopping in order");
  // While the lake is being opened, a command ends on the spot, which shells tell as 130.
  expect(inOrder ? exitCode : endedBy, stderr).toBe(inOrder ? 130 : "SIGINT");
  expect(stderr).not.toMatch(/internal_error|Unexpected/);
  const last = JSON.parse(stdout.split("\n").at(-1) ?? "") as { error?: { code: string } };
  // One that could not be stopped any more tells what it has done.
  if (last.error !== undefined) expect(last.error.code).toBe("interrupted");
  return { inOrder, tookMs };
}

async function statementsOf(cwd: string, words: readonly string[]): Promise<string[]> {
  const file = join(await folder(), "statements");
  const env = { NODE_OPTIONS: `--import=${HOOK}`, STATEMENTS_FILE: file };
  const { exitCode, stderr } = await execa(BINARY, [...words], processOptions({ cwd, env }));
  expect(exitCode, stderr).toBe(0);
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as string);
}

/** Works on the prepared lake, which is there again afterwards; it can't be moved. */
async function onCopy<Result>(cwd: string, work: () => Promise<Result>): Promise<Result> {
  const backup = `${cwd}.backup`;
  await cp(cwd, backup, { recursive: true, preserveTimestamps: true });
  try {
    return await work();
  } finally {
    await rm(cwd, { recursive: true });
    await rename(backup, cwd);
  }
}

interface Command {
  readonly words: (cwd: string) => string[];
  /** The same once more, by whoever comes next. */
  readonly again: (lake: Lake, cwd: string) => Promise<unknown>;
}

const APPENDED = `${QUERY} WHERE i > 40`;

const COMMANDS: Readonly<Record<string, Command>> = {
  refresh: { words: () => ["refresh"], again: (lake) => lake.refresh() },
  compact: { words: () => ["compact"], again: (lake) => lake.compact() },
  maintain: {
    words: () => ["maintain", "--yes", "--expire-older-than", "1s", "--grace", "1s"],
    again: (lake) => lake.maintain({ deletes: true, expireOlderThanMs: 1_000, graceMs: 1_000 }),
  },
  replay: {
    words: (cwd) => ["replay", "rows", "--consumer", "mirror", "--into", mirrorOf(cwd)],
    again: (lake, cwd) => lake.replay({ consumer: "mirror", into: mirrorOf(cwd) }),
  },
  append: {
    words: () => ["append", "t", "from", APPENDED, "--key", "id"],
    again: (lake) => lake.append("t", APPENDED, { key: ["id"] }),
  },
  merge: {
    words: () => ["merge", "t", "from", QUERY, "--key", "id", "--delete-missing"],
    again: (lake) => lake.merge("t", QUERY, { key: ["id"], deleteMissing: true }),
  },
  verify: { words: () => ["verify"], again: (lake) => lake.verify() },
  sweep: { words: () => ["sweep"], again: (lake) => lake.sweep() },
  apply: { words: () => ["apply"], again: (lake) => lake.define(DEFINITIONS) },
};

let prepared: Promise<string> | undefined;

test.each(Object.entries(COMMANDS))("%s", async (_name, { words, again }) => {
  prepared ??= prepare();
  const cwd = await prepared;
  let before: Content = {};
  let after: Content = {};
  const statements = await onCopy(cwd, async () => {
    before = await onPlace(cwd, contentOf);
    const sent = await statementsOf(cwd, words(cwd));
    after = await onPlace(cwd, contentOf);
    return sent;
  });
  const commits = statements.flatMap((sql, index) => (sql === "COMMIT" ? [index + 1] : []));
  // Some statements of all, the last one, and one end of a transaction and what comes before it.
  const [commit] = every(commits, 1);
  const chosen = new Set([
    ...every(
      statements.map((_, index) => index + 1),
      3,
    ),
    ...around(commit),
  ]);
  let inOrder = 0;
  for (const step of [...chosen].sort((a, b) => a - b)) {
    await onCopy(cwd, async () => {
      const ended = await signalled(cwd, words(cwd), step);
      expect(ended.tookMs, `statement ${step}`).toBeLessThan(QUICKLY_MS);
      if (ended.inOrder) inOrder += 1;
      await onPlace(cwd, async (place) => {
        const found = await contentOf(place);
        for (const [part, content] of Object.entries(found)) {
          expect([before[part], after[part]], `${part} after a signal at statement ${step}`).toContain(content);
        }
        await again(place.lake, cwd);
        expect(await contentOf(place), `a rerun after statement ${step}`).toEqual(after);
      });
      await onPlace(cwd, expectTidy, 0);
    });
  }
  expect(inOrder).toBeGreaterThan(2);
});

function around(step: number | undefined): number[] {
  return step === undefined ? [] : [step - 1, step];
}

/** About so many of them, spread evenly. */
function every(steps: readonly number[], wanted: number): number[] {
  const stride = Math.max(1, Math.floor(steps.length / wanted));
  return steps.filter((_, index) => index % stride === stride - 1);
}
