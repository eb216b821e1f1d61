/** A lake with a project that processes are killed on: its changes, its commands, and what must hold after each death. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { loadExtension } from "../../dist/engine/extensions.js";
import { CliProcess, failureOf, runCli, s3Environment, writeProject, writeViews } from "./cli.mjs";
import { compare, differences } from "./oracle.mjs";
import { postgresAddress } from "./places.mjs";
import { attachLake, LAKE, openPlain, quote, quoteName, useS3 } from "./plain.mjs";

const ROWS = 3_000;
const TIMEOUT_MS = 180_000;

/** With copies; updated in place above it; with a key of its own; and one whose definition changes to and fro. */
const VIEWS = {
  pairs: { sql: "SELECT a.v, b.w FROM a JOIN b ON a.id = b.id" },
  sums: { sql: "SELECT v, count(*) AS n, sum(w) AS s, max(w) AS m FROM pairs GROUP BY v" },
  items: { sql: "SELECT id, v, v % 3 AS r FROM keyed WHERE v > 10", primary_key: "id" },
};
const ALTERNATES = [
  { sql: "SELECT v, count(*) AS n FROM a GROUP BY v" },
  { sql: "SELECT w % 2 AS parity, min(id) AS least, sum(w) AS s FROM b GROUP BY w % 2" },
];
const MIRRORED = "sums";

export class CrashScene {
  #turns = 0;
  #alternate = 0;
  #batches = 0;

  /**
   * @param made.place the lake as plain readers reach it, `made.product` as the product does where that is another way.
   * @param made.grace the log's grace time.
   */
  constructor(made, random, servers) {
    this.place = made.place;
    this.product = made.product ?? made.place;
    this.folder = made.folder;
    this.made = made;
    this.random = random;
    this.project = join(made.folder, "project");
    this.grace = made.grace ?? "1h";
    this.logPath = made.log ?? join(made.folder, "log");
    this.env = s3Environment(this.place.s3);
    this.mirrors = {
      duckdb: `duckdb:${join(made.folder, "mirror.db")}`,
      ducklake: `ducklake:${join(made.folder, "mirror.ducklake")}`,
    };
    if (servers !== undefined) this.mirrors.postgres = postgresAddress(servers);
    this.mirrorSchema = `public`;
    this.mirrorTable = `mirror_${Math.floor(random.next() * 1e9)}`;
  }

  async begin() {
    mkdirSync(this.project, { recursive: true });
    await writeProject(this.project, {
      place: this.product,
      log: { path: this.logPath, keep: "1 snapshots", fan_out: 2, grace: this.grace, compact: "manual" },
      engine: { threads: 2, temp_directory: join(this.folder, "spill") },
      views: { ...VIEWS, alternate: ALTERNATES[0] },
    });
    await this.sql(
      `CREATE TABLE a AS SELECT i::INTEGER AS id, (i % 40)::INTEGER AS v FROM range(${ROWS}) r(i)`,
      `CREATE TABLE b AS SELECT (i % ${ROWS / 2})::INTEGER AS id, (i % 30)::INTEGER AS w FROM range(${ROWS}) r(i)`,
      `CREATE TABLE keyed AS SELECT i::INTEGER AS id, (hash(i) % 100)::INTEGER AS v FROM range(${ROWS}) r(i)`,
      "CREATE TABLE feed (id INTEGER, batch INTEGER)",
    );
    for (const args of [["apply"], ["refresh"]]) await this.must(args);
    for (const kind of Object.keys(this.mirrors)) await this.must(["consumer", "add", `to_${kind}`, MIRRORED]);
  }

  /** Runs work on the lake by plain DuckDB, with nobody else at work where the catalog is a file. */
  async plain(work) {
    for (let attempt = 1; ; attempt += 1) {
      let lake;
      try {
        lake = await attachLake(this.place, { threads: "1" });
        return await work(lake);
      } catch (error) {
        // A server that was just started, or a file whose dead owner's lock is about to go.
        if (attempt === 8 || !/connect|locked|lock on file|starting up|shutting down|conflict/i.test(error.message))
          throw error;
        await delay(250 * attempt);
      } finally {
        lake?.close();
      }
    }
  }

  sql(...statements) {
    return this.plain((lake) => lake.run(...statements));
  }

  /** Changes all base tables a little, and leaves them about as large as they are. */
  change() {
    this.#turns += 1;
    const turn = this.#turns;
    return this.sql(
      "BEGIN",
      `INSERT INTO a SELECT i, ${turn % 40} FROM range(${(turn * 7) % ROWS}, ${((turn * 7) % ROWS) + 25}) r(i)`,
      `DELETE FROM a WHERE rowid IN (SELECT rowid FROM a WHERE v = ${(turn + 20) % 40} ORDER BY id LIMIT 25)`,
      `UPDATE b SET w = (w + 1) % 30 WHERE id % 97 = ${turn % 97}`,
      `UPDATE keyed SET v = (v + 7) % 100 WHERE id % 89 = ${turn % 89}`,
      "COMMIT",
    );
  }

  /** Prepares one of the commands to be disturbed; gives its arguments and what must hold of it before and after a rerun. */
  async prepare(name) {
    if (name === "refresh") {
      await this.change();
      return { args: ["refresh"] };
    }
    if (name === "compact" || name === "maintain") {
      await this.change();
      await this.must(["refresh"]);
      return { args: name === "compact" ? ["compact"] : ["maintain", "--yes", "--expire-older-than", "1s"] };
    }
    if (name === "apply") {
      this.#alternate = 1 - this.#alternate;
      await writeViews(this.project, { alternate: ALTERNATES[this.#alternate] });
      return { args: ["apply"] };
    }
    if (name === "append" || name === "merge") return this.#ingest(name);
    const kind = name.replace("replay ", "");
    await this.change();
    await this.must(["refresh"]);
    const before = await this.mirrorRows(kind);
    return {
      args: this.replayArgs(kind),
      halfDone: async (again) => {
        const seen = await this.mirrorRows(kind);
        await again();
        const after = await this.mirrorRows(kind);
        if (seen !== before && seen !== after) return [`the ${kind} mirror was seen in a state between two positions`];
        return this.mirrorProblems(kind);
      },
    };
  }

  /** The commands that can be disturbed here. */
  get commands() {
    return [
      "refresh",
      "compact",
      "apply",
      "append",
      "merge",
      "maintain",
      ...Object.keys(this.mirrors).map((kind) => `replay ${kind}`),
    ];
  }

  replayArgs(kind) {
    const table = kind === "postgres" ? `${this.mirrorSchema}.${this.mirrorTable}` : this.mirrorTable;
    return ["replay", MIRRORED, "--consumer", `to_${kind}`, "--into", this.mirrors[kind], "--table", table];
  }

  async #ingest(name) {
    this.#batches += 1;
    const batch = this.#batches;
    const first = name === "append" ? batch * 1_000 : 0;
    const query = `SELECT (${first} + i)::INTEGER AS id, ${batch}::INTEGER AS batch FROM range(500) r(i)`;
    const args = [name, "feed", "from", query, "--key", "id"];
    const rows = () =>
      this.plain(async (lake) => Number(await lake.value(`SELECT count(*) FROM feed WHERE batch = ${batch}`)));
    return {
      args: name === "merge" ? [...args, "--delete-missing"] : args,
      halfDone: async (again) => {
        const seen = await rows();
        await again();
        const after = await rows();
        const problems = [];
        if (seen !== 0 && seen !== 500) problems.push(`${name}: ${seen} of 500 rows were seen`);
        if (after !== 500) problems.push(`${name}: ${after} rows of 500 after the rerun`);
        const copies = await this.plain((lake) => lake.value("SELECT count(*) - count(DISTINCT id) FROM feed"));
        if (Number(copies) !== 0) problems.push(`${name}: ${copies} rows are there twice`);
        return problems;
      },
    };
  }

  start(args, options = {}) {
    return new CliProcess(args, { cwd: this.project, env: this.env, ...options });
  }

  run(args) {
    return runCli(args, { cwd: this.project, env: this.env, timeoutMs: TIMEOUT_MS });
  }

  /** Runs a command that must succeed; one that lost a race may be run again. */
  async must(args) {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.run(args);
      if (outcome.code === 0) return outcome;
      if (outcome.code !== 75 || attempt === 5)
        throw new Error(`${args.slice(0, 2).join(" ")} failed: ${failureOf(outcome)}`);
    }
  }

  /** What is wrong with a command that was disturbed but not killed: it may fail, but not in any way. */
  static misbehaviour(outcome) {
    if (outcome.hung) return ["it hung"];
    if (outcome.signal !== null) return [];
    const text = JSON.stringify(outcome.json ?? "") + outcome.errors;
    if (outcome.code !== 0 && outcome.code !== 1 && outcome.code !== 75)
      return [`exit ${outcome.code}: ${failureOf(outcome)}`];
    if (/internal_error|\n {4}at .*\.js:\d+/.test(text)) return [failureOf(outcome)];
    return [];
  }

  /** Each view holds what its definition gives at the view's own horizon, whatever that is. */
  consistent() {
    return this.plain(async (lake) => {
      const progress = await lake.rows("SELECT view, horizon FROM ivm.progress WHERE horizon IS NOT NULL");
      const found = [];
      for (const horizon of new Set(progress.map((row) => row.horizon))) {
        const names = progress.filter((row) => row.horizon === horizon).map((row) => row.view);
        found.push(...(await this.#differences(lake, horizon, names)));
      }
      return found;
    });
  }

  async #differences(lake, horizon, names) {
    const columns = names.includes("alternate")
      ? (await lake.rows("SELECT column_name AS name FROM (DESCRIBE FROM alternate)")).map((row) => row.name)
      : [];
    const alternate = ALTERNATES[columns.includes("parity") ? 1 : 0];
    const queries = Object.entries({ ...VIEWS, alternate }).map(([name, { sql }]) => ({ name, sql }));
    return differences(lake, queries, horizon, names);
  }

  /** After a rerun: everything is at the newest state of the base tables. */
  async settled() {
    const outcome = await this.must(["refresh"]);
    const problems = await this.plain(async (lake) => {
      const names = [...Object.keys(VIEWS), "alternate"];
      const found = await this.#differences(lake, outcome.json.horizon, names);
      const standing = await lake.rows("SELECT view FROM ivm.progress WHERE horizon IS NOT NULL ORDER BY view");
      if (standing.map((row) => row.view).join() !== names.sort().join()) found.push("not all views stand somewhere");
      for (const view of names) found.push(...(await this.#logProblems(lake, view)));
      return found;
    });
    return problems;
  }

  /** The log's files add up to the view, by its manifest alone. */
  async #logProblems(lake, view) {
    const root = this.logPath;
    if (root.startsWith("s3:")) await useS3(lake, this.place.s3);
    const text = root.startsWith("s3:")
      ? await lake.value(`SELECT content FROM read_text(${quote(`${root}/${view}/manifest.json`)})`)
      : readFileSync(join(root, view, "manifest.json"), "utf8");
    const manifest = JSON.parse(text);
    const base = manifest.bases.at(-1);
    const files = [...base.files, ...manifest.segments.filter((one) => one.from >= base.at)].flatMap(
      (one) => one.file ?? [],
    );
    const columns = manifest.columns.map(
      ({ name, type }) => `CAST(${quoteName(name)} AS ${type}) AS ${quoteName(name)}`,
    );
    const weight = quoteName(manifest.weight_column);
    const list = files.map((file) => quote(`${root}/${view}/${file}`));
    const logged =
      list.length === 0
        ? `(SELECT * FROM ${LAKE}.main.${view} WHERE false)`
        : `(SELECT * EXCLUDE (_copies), unnest(range(_copies)) AS _copy FROM (SELECT ${columns.join(", ")}, sum(${weight})::BIGINT AS _copies
            FROM read_parquet([${list.join(", ")}], hive_partitioning = false) GROUP BY ALL HAVING sum(${weight}) <> 0))`;
    const held = list.length === 0 ? logged : `(SELECT * EXCLUDE (_copy) FROM ${logged})`;
    return compare(lake, `the log of ${view}`, held, `${LAKE}.main.${view}`);
  }

  /** Brings all mirrors to the end and compares them. */
  async mirrorsSettled() {
    const problems = [];
    for (const kind of Object.keys(this.mirrors)) {
      await this.must(this.replayArgs(kind));
      problems.push(...(await this.mirrorProblems(kind)));
    }
    return problems;
  }

  async mirrorProblems(kind) {
    const want = await this.plain(async (lake) => asText(await lake.rows(`SELECT ${TEXTS} FROM ${MIRRORED}`)));
    return (await this.mirrorRows(kind)) === want ? [] : [`the ${kind} mirror differs from the view`];
  }

  /** A mirror's rows as text; null where there is none yet. */
  async mirrorRows(kind) {
    const plain = await openPlain({ threads: "1" });
    try {
      const type = kind === "postgres" ? " (TYPE postgres, READ_ONLY)" : "";
      if (kind !== "duckdb")
        await loadExtension(plain.connection, kind === "ducklake" ? "ducklake" : "postgres_scanner");
      const address = this.mirrors[kind].replace(/^(duckdb|postgres):/, "");
      await plain.run(`ATTACH ${quote(address)} AS target${type}`);
      const schema = kind === "postgres" ? this.mirrorSchema : "main";
      const there = await plain.value(
        `SELECT count(*) FROM duckdb_tables() WHERE database_name = 'target' AND schema_name = ${quote(schema)} AND table_name = ${quote(this.mirrorTable)}`,
      );
      if (Number(there) === 0) return null;
      return asText(await plain.rows(`SELECT ${TEXTS} FROM target.${schema}.${this.mirrorTable}`));
    } finally {
      plain.close();
    }
  }

  /** After the grace time a sweep leaves no file below the log root that nothing registers. Takes as long as the grace. */
  async strays(graceMs) {
    await delay(graceMs + 500);
    await this.must(["sweep"]);
    if (this.logPath.startsWith("s3:")) {
      return this.plain(async (lake) => {
        await useS3(lake, this.place.s3);
        const files = await lake.rows(`SELECT file FROM glob(${quote(`${this.logPath}/**`)})`);
        return this.#unregistered(
          lake,
          files.map((row) => row.file.slice(this.logPath.length + 1)),
        );
      });
    }
    const files = readdirSync(this.logPath, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(this.logPath.length + 1));
    return this.plain((lake) => this.#unregistered(lake, files));
  }

  async #unregistered(lake, files) {
    const known = new Set(
      (await lake.rows("SELECT file FROM ivm.segments WHERE file IS NOT NULL")).map((row) => row.file),
    );
    const there = new Set(files);
    return [
      ...files
        .filter((file) => !file.endsWith("manifest.json") && !known.has(file))
        .map((file) => `a stray file: ${file}`),
      ...[...known].filter((file) => !there.has(file)).map((file) => `a registered file is not there: ${file}`),
    ];
  }

  remove() {
    this.made.remove?.();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const TEXTS = ["v", "n", "s", "m"].map((name) => `${name}::VARCHAR AS ${name}`).join(", ");

function asText(rows) {
  return rows
    .map((row) => Object.values(row).join("|"))
    .sort()
    .join("\n");
}
