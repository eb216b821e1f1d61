#!/usr/bin/env node
/**
 * Shows that a lake that is refreshed again and again does not age: times, files, catalog and memory stay flat.
 *
 *   node bench/long-life.mjs [--refreshes 2000] [--in-process 300] [--views 10] [--catalog postgres|duckdb]
 *     [--checkpoint-every 100] [--growth 1.3] [--seed 1] [--markdown]
 *
 * First `refreshes` runs of `views` views, in processes that each live for `in-process` runs of them; then a last
 * process does `in-process` runs in one go. Each run follows a small commit of inserts, updates and deletes, so that the
 * tables keep their size. Every `checkpoint-every` runs another writer does a CHECKPOINT of the lake *while* a refresh
 * is under way (with a DuckDB file as the catalog: on a connection of the same process). Reported are medians of the
 * first and of the last tenth; `growth` is how much more than at first is still called flat.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { open } from "../dist/index.js";
import { differences } from "./harness/oracle.mjs";
import { makePlace } from "./harness/places.mjs";
import { attachLake } from "./harness/plain.mjs";
import { Findings, median, printTable, say } from "./harness/report.mjs";

const { values } = parseArgs({
  options: {
    refreshes: { type: "string", default: "2000" },
    "in-process": { type: "string", default: "300" },
    views: { type: "string", default: "10" },
    catalog: { type: "string", default: "postgres" },
    "checkpoint-every": { type: "string", default: "100" },
    growth: { type: "string", default: "1.3" },
    seed: { type: "string", default: "1" },
    markdown: { type: "boolean", default: false },
    // What this program tells its own processes.
    work: { type: "string" },
  },
});
const seed = Number(values.seed);
const every = Number(values["checkpoint-every"]);
const growth = Number(values.growth);

/** A few milliseconds are noise, whatever they are a share of. */
const SLACK = { ms: 25, mb: 60, files: 40, kb: 600 };

const VIEWS = [
  ["by_group", "SELECT g, count(*) AS n, sum(v) AS s, max(v) AS m FROM t GROUP BY g"],
  ["named", "SELECT t.id, d.name, t.v FROM t JOIN d USING (g)"],
  ["by_name", "SELECT name, sum(v) AS s FROM named GROUP BY name"],
  ["big", "SELECT id, g, v FROM t WHERE v > 600"],
  ["unmatched", "SELECT d.name FROM d LEFT JOIN t ON t.g = d.g AND t.v > 900 WHERE t.id IS NULL"],
  ["distinct_groups", "SELECT DISTINCT g, v % 10 AS last FROM t"],
  ["first_of_group", "SELECT id, g, v FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY v, id) = 1"],
  ["counted", "SELECT d.kind, count(DISTINCT t.v) AS n FROM t JOIN d USING (g) GROUP BY d.kind"],
  ["top", "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 20"],
  ["total", "SELECT count(*) AS n, sum(s) AS s FROM by_group"],
].slice(0, Number(values.views));

const ROWS = 20_000;

if (values.work === undefined) await main();
else await work(JSON.parse(values.work));

async function main() {
  const findings = new Findings();
  const made = await makePlace({ catalog: values.catalog, data: "folder" });
  try {
    await live(made, findings);
  } finally {
    made.remove();
  }
  findings.close();
}

async function live(made, findings) {
  const config = {
    ...made.place,
    log: { path: join(made.folder, "log"), keep: { snapshots: "200" }, graceMs: 60_000 },
  };
  await begin(config);
  const total = Number(values.refreshes);
  const perProcess = Number(values["in-process"]);
  const samples = [];
  for (let from = 0; from < total; from += perProcess) {
    const to = Math.min(total, from + perProcess);
    samples.push(...(await inProcess({ config, folder: made.folder, from, to }, findings)));
    say(`${to} of ${total} refreshes, the last ones ${Math.round(median(samples.slice(-20).map((s) => s.ms)))} ms`);
  }
  const alone = await inProcess({ config, folder: made.folder, from: total, to: total + perProcess }, findings);
  const lake = await attachLake(made.place);
  const wrong = await differences(
    lake,
    VIEWS.map(([name, sql]) => ({ name, sql })),
    await lake.value("SELECT min(horizon) FROM ivm.progress"),
  );
  lake.close();
  for (const text of wrong) findings.add(text);
  const lines = [["", "measure", "first tenth", "last tenth", "ratio"]];
  judge(`${total} refreshes in one lake`, samples, findings, lines);
  judge(`${alone.length} refreshes in one process`, alone, findings, lines);
  printTable(lines, values.markdown);
}

function judge(what, samples, findings, lines) {
  const tenth = Math.max(1, Math.floor(samples.length / 10));
  const [first, last] = [samples.slice(0, tenth), samples.slice(-tenth)];
  for (const [name, key, slack] of [
    ["ms a refresh", "ms", SLACK.ms],
    ["resident memory, MB", "mb", SLACK.mb],
    ["temporary tables", "temporary", 0],
    ["live files of the state schema", "stateFiles", SLACK.files],
    ["files of the change logs", "logFiles", SLACK.files],
    ["rows of the catalog for live files", "catalogFiles", SLACK.files],
  ]) {
    const [before, after] = [first, last].map((part) =>
      median(part.map((sample) => sample[key]).filter((value) => value !== null)),
    );
    lines.push([what, name, before.toFixed(0), after.toFixed(0), (after / before).toFixed(2)]);
    if (after > before * growth + slack) {
      findings.add(`${what}: ${name} went from ${before.toFixed(0)} to ${after.toFixed(0)}`);
    }
  }
}

async function begin(config) {
  const lake = await open(reviveLog(config));
  const connection = await lake.connect();
  await connection.run(
    `CREATE TABLE t AS SELECT i AS id, (hash(i, ${seed}) % 500)::INTEGER AS g, (hash(i * 3) % 1000)::INTEGER AS v FROM range(${ROWS}) r(i)`,
  );
  await connection.run(
    "CREATE TABLE d AS SELECT i::INTEGER AS g, 'n' || (i % 50) AS name, 'k' || (i % 7) AS kind FROM range(520) r(i)",
  );
  await lake.define(VIEWS.map(([name, sql]) => ({ name, sql })));
  await lake.refresh();
  connection.closeSync();
  await lake.close();
}

async function inProcess(task, findings) {
  const args = process.argv.slice(2).concat(["--work", JSON.stringify(task)]);
  const child = fork(new URL(import.meta.url), args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: ["--expose-gc"],
  });
  const samples = [];
  child.on("message", ({ sample, finding }) => {
    if (sample !== undefined) {
      samples.push(sample);
      if (samples.length % 10 === 0)
        say(`refresh ${task.from + samples.length}: ${Math.round(sample.ms)} ms, ${Math.round(sample.mb)} MB`);
    }
    if (finding !== undefined) findings.add(finding);
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`a process with refreshes ended with ${code}`);
  return samples;
}

/** The refreshes of one process. */
async function work({ config, folder, from, to }) {
  const lake = await open(reviveLog(config));
  const alone = /^(postgres|sqlite):/.test(config.catalog);
  const other = alone ? await attachLake(config) : { connection: await lake.connect(), close() {} };
  const run = (sql) => other.connection.run(sql);
  const measure = await lake.connect();
  const value = async (sql) => Number((await measure.runAndReadAll(sql)).getRowsJS()[0]?.[0]);
  for (let step = from; step < to; step += 1) {
    await run("BEGIN");
    await run(
      `INSERT INTO t SELECT ${ROWS + step * 20} + i, (hash(i, ${step}) % 500)::INTEGER, (hash(i * 5, ${step}) % 1000)::INTEGER FROM range(20) r(i)`,
    );
    await run(`UPDATE t SET v = (v + 37) % 1000 WHERE id % 997 = ${step % 997}`);
    await run(`DELETE FROM t WHERE id IN (SELECT id FROM t WHERE g = ${(step * 7) % 500} ORDER BY id LIMIT 20)`);
    await run("COMMIT");
    const checkpoint = every > 0 && step % every === every - 1 ? busy(run) : undefined;
    const began = performance.now();
    const result = await lake.refresh();
    const ms = performance.now() - began;
    const failed = result.views.filter((view) => view.error !== null);
    for (const view of failed) process.send({ finding: `refresh ${step}: ${view.view}: ${view.error.message}` });
    for (const warning of result.warnings)
      process.send({ finding: `refresh ${step}: ${warning.code}: ${warning.text}` });
    const trouble = await checkpoint;
    if (trouble !== undefined) process.send({ finding: `refresh ${step}: CHECKPOINT beside it: ${trouble}` });
    globalThis.gc?.();
    process.send({
      sample: {
        // A refresh beside a CHECKPOINT waits for it.
        ms: checkpoint === undefined ? ms : null,
        mb: process.memoryUsage().rss / 1e6,
        temporary: await value("SELECT count(*) FROM duckdb_tables() WHERE temporary"),
        stateFiles: await value(liveFiles(config, "s.schema_name = 'ivm'")),
        catalogFiles: await value(liveFiles(config, "true")),
        logFiles: countFiles(join(folder, "log")),
      },
    });
  }
  measure.closeSync();
  other.close();
  await lake.close();
  process.disconnect();
}

/**
 * What a CHECKPOINT of a user says, beside a refresh. A conflict is told to the one who commits second: a CHECKPOINT that
 * meets one commit after the other may well give up, as it does beside any writer.
 */
async function busy(run) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await run("CHECKPOINT");
      return undefined;
    } catch (error) {
      if (!/conflict|locked/i.test(error.message)) return error.message.slice(0, 300);
      if (attempt === 5) return undefined;
    }
  }
}

function liveFiles(config, condition) {
  const schema = config.metadataSchema === undefined ? "" : `"${config.metadataSchema}".`;
  const metadata = (table) => `"__ducklake_metadata_lake".${schema}${table}`;
  return `SELECT count(*) FROM ${metadata("ducklake_data_file")} f
    JOIN ${metadata("ducklake_table")} t ON t.table_id = f.table_id AND t.end_snapshot IS NULL
    JOIN ${metadata("ducklake_schema")} s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL
    WHERE f.end_snapshot IS NULL AND ${condition}`;
}

function countFiles(folder) {
  try {
    return readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile()).length;
  } catch {
    return 0;
  }
}

/** A retention of snapshots is a bigint, which JSON has not. */
function reviveLog(config) {
  return { ...config, log: { ...config.log, keep: { snapshots: BigInt(config.log.keep.snapshots) } } };
}
