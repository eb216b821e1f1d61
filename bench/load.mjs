#!/usr/bin/env node
/**
 * Many views over many tables while many processes write: commits a second, freshness, memory and handles, and at the
 * end whether every row is right.
 *
 *   node bench/load.mjs [--seconds 300] [--tables 20] [--views 100] [--writers 8] [--pause 50] [--checkpoint 60]
 *     [--growth 1.3] [--seed 1]
 *     [--markdown]
 *
 * The catalog is PostgreSQL. Each writer is a process of its own with plain DuckDB, which commits small inserts, updates
 * and deletes with `pause` milliseconds between them. This process refreshes all views again and again. The lag of a
 * commit is the time from its snapshot to the end of the refresh that brought it to all views. Every `checkpoint` seconds
 * somebody else does a CHECKPOINT of the lake, as owners of lakes with so many small commits have to.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { open } from "../dist/index.js";
import { differences } from "./harness/oracle.mjs";
import { makePlace } from "./harness/places.mjs";
import { attachLake } from "./harness/plain.mjs";
import { Random } from "./harness/random.mjs";
import { Findings, median, printTable, quantile, say } from "./harness/report.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "300" },
    tables: { type: "string", default: "20" },
    views: { type: "string", default: "100" },
    writers: { type: "string", default: "8" },
    pause: { type: "string", default: "50" },
    checkpoint: { type: "string", default: "60" },
    growth: { type: "string", default: "1.3" },
    seed: { type: "string", default: "1" },
    markdown: { type: "boolean", default: false },
    // What this program tells its writers.
    write: { type: "string" },
  },
});
const tables = Number(values.tables);
const seed = Number(values.seed);
const growth = Number(values.growth);
const ROWS = 2_000;
/** Memory that a process may still gain when it is warm, in MB, and handles. */
const SLACK = { mb: 80, handles: 8 };

/** Five views a table: an aggregate, a filter, a join with the next table, distinct values, and a view over the first. */
const KINDS = [
  (t) => [`by_group_${t}`, `SELECT g, count(*) AS n, sum(v) AS s, max(v) AS m FROM t${t} GROUP BY g`],
  (t) => [`large_${t}`, `SELECT id, g, v FROM t${t} WHERE v > 700`],
  (t) => [
    `joined_${t}`,
    `SELECT a.id, a.g, b.n FROM t${t} a JOIN by_group_${(t + 1) % tables} b ON a.g = b.g WHERE a.v < 100`,
  ],
  (t) => [`values_${t}`, `SELECT DISTINCT g, v % 10 AS last FROM t${t}`],
  (t) => [`total_${t}`, `SELECT count(*) AS groups, sum(n) AS n, sum(s) AS s FROM by_group_${t}`],
];
const VIEWS = KINDS.flatMap((kind) => Array.from({ length: tables }, (_, table) => kind(table))).slice(
  0,
  Number(values.views),
);
const DEFINITIONS = VIEWS.map(([name, sql]) => ({ name, sql }));

if (values.write === undefined) await main();
else await write(JSON.parse(values.write));

async function main() {
  const findings = new Findings();
  const made = await makePlace({ catalog: "postgres", data: "folder" });
  try {
    await load(made, findings);
  } finally {
    made.remove();
  }
  findings.close();
}

async function load({ place, folder }, findings) {
  const config = { ...place, log: { path: join(folder, "log"), keep: { snapshots: 100n } } };
  const lake = await open(config);
  const connection = await lake.connect();
  for (let table = 0; table < tables; table += 1) {
    await connection.run(
      `CREATE TABLE t${table} AS SELECT i AS id, (hash(i, ${table}) % 200)::INTEGER AS g, (hash(i * 3, ${seed}) % 1000)::INTEGER AS v FROM range(${ROWS}) r(i)`,
    );
  }
  connection.closeSync();
  await lake.define(DEFINITIONS);
  const first = await lake.refresh();
  for (const view of first.views) if (view.error !== null) findings.add(`${view.view}: ${view.error.message}`);
  say(`${VIEWS.length} views over ${tables} tables are built`);

  const writers = Array.from({ length: Number(values.writers) }, (_, number) => startWriter(place, number));
  const upkeep = keepUp(place);
  const until = performance.now() + Number(values.seconds) * 1_000;
  const runs = [];
  const began = performance.now();
  while (performance.now() < until) {
    const started = performance.now();
    const result = await lake.refresh();
    runs.push({ horizon: result.horizon, finished: Date.now(), ms: performance.now() - started, ...usage() });
    for (const view of result.views.filter((one) => one.error !== null)) {
      findings.add(`refresh ${runs.length}: ${view.view}: ${view.error.code}: ${view.error.message}`);
    }
    const { mb, handles, ms } = runs.at(-1);
    say(
      `refresh ${runs.length}: snapshot ${result.horizon}, ${Math.round(ms)} ms, ${Math.round(mb)} MB, ${handles} handles`,
    );
  }
  for (const writer of writers) writer.child.send("stop");
  const checkpoints = await upkeep.stop();
  await Promise.all(writers.map((writer) => writer.ended));
  const seconds = (performance.now() - began) / 1_000;
  for (const writer of writers) for (const error of writer.errors) findings.add(`a writer failed: ${error}`);

  const last = await lake.refresh();
  runs.push({ horizon: last.horizon, finished: Date.now(), ...usage() });
  const other = await attachLake(place);
  const lags = await lagsOf(other, first.horizon, runs);
  const wrong = await differences(other, inOrder(), last.horizon);
  other.close();
  await lake.close();
  for (const text of wrong) findings.add(text);
  conclude({ runs: runs.slice(0, -1), lags, writers, seconds, checkpoints }, findings);
}

function conclude({ runs, lags, writers, seconds, checkpoints }, findings) {
  const sum = (key) => writers.reduce((total, writer) => total + writer[key], 0);
  const tenth = Math.max(1, Math.floor(runs.length / 10));
  // The first runs warm the process up.
  const warm = runs.slice(Math.min(tenth, runs.length - 1));
  const [early, late] = [warm.slice(0, tenth), warm.slice(-tenth)];
  const change = (key) => [early, late].map((part) => median(part.map((run) => run[key])));
  const lines = [["measure", "value"]];
  lines.push(["views, tables, writers", `${VIEWS.length}, ${tables}, ${writers.length}`]);
  lines.push(["commits a second", (sum("commits") / seconds).toFixed(1)]);
  lines.push(["conflicts among writers", String(sum("conflicts"))]);
  lines.push(["checkpoints done, and lost to other commits", `${checkpoints.done}, ${checkpoints.lost}`]);
  lines.push(["refreshes", String(runs.length)]);
  lines.push(["seconds a refresh, median", (median(runs.map((run) => run.ms)) / 1_000).toFixed(2)]);
  for (const share of [0.5, 0.95, 0.99]) {
    lines.push([`freshness lag p${share * 100}, seconds`, (quantile(lags, share) / 1_000).toFixed(2)]);
  }
  for (const [name, key] of [
    ["resident memory, MB", "mb"],
    ["open handles", "handles"],
  ]) {
    const [before, after] = change(key);
    lines.push([`${name}, early and late`, `${before.toFixed(0)}, ${after.toFixed(0)}`]);
    if (after > before * growth + SLACK[key])
      findings.add(`${name} went from ${before.toFixed(0)} to ${after.toFixed(0)}`);
  }
  lines.push(["every view equal to its query at the end", findings.count === 0 ? "yes" : "see below"]);
  printTable(lines, values.markdown);
  if (sum("commits") === 0) findings.add("no writer could commit");
}

/** Views in the order in which they read each other. */
function inOrder() {
  const rank = ({ name }) => (name.startsWith("by_group") ? 0 : 1);
  return [...DEFINITIONS].sort((a, b) => rank(a) - rank(b));
}

/** For each commit of a writer, how long it took until all views had it, in milliseconds. */
async function lagsOf(lake, from, runs) {
  const commits = await lake.rows(
    `SELECT snapshot_id AS id, epoch_ms(snapshot_time) AS at FROM other.snapshots() WHERE author = 'writer' AND snapshot_id > ${from}`,
  );
  return commits.flatMap(({ id, at }) => {
    const run = runs.find((one) => one.horizon >= id);
    return run === undefined ? [] : [Math.max(0, run.finished - Number(at))];
  });
}

/** A CHECKPOINT from time to time, by somebody who knows nothing of this tool. */
function keepUp(place) {
  const counts = { done: 0, lost: 0 };
  let stopped = false;
  const work = (async () => {
    const lake = await attachLake(place, { threads: "1" });
    let next = performance.now() + Number(values.checkpoint) * 1_000;
    while (!stopped) {
      await delay(200);
      if (performance.now() < next) continue;
      next = performance.now() + Number(values.checkpoint) * 1_000;
      try {
        await lake.run("CHECKPOINT");
        counts.done += 1;
      } catch {
        counts.lost += 1;
      }
    }
    lake.close();
    return counts;
  })();
  return {
    stop: () => {
      stopped = true;
      return work;
    },
  };
}

function usage() {
  let handles = process.getActiveResourcesInfo().length;
  try {
    handles = readdirSync("/proc/self/fd").length;
  } catch {
    // Not Linux.
  }
  return { mb: process.memoryUsage().rss / 1e6, handles };
}

function startWriter(place, number) {
  const args = [...process.argv.slice(2), "--write", JSON.stringify({ place, number })];
  const child = fork(new URL(import.meta.url), args);
  const writer = { child, commits: 0, conflicts: 0, errors: [] };
  child.on("message", ({ commits, conflicts, error }) => {
    if (error !== undefined) writer.errors.push(error);
    if (commits !== undefined) Object.assign(writer, { commits, conflicts });
  });
  writer.ended = once(child, "exit");
  return writer;
}

/** One writer: small commits until it is told to stop. */
async function write({ place, number }) {
  const random = new Random(seed * 1_000 + number);
  const lake = await attachLake(place, { threads: "1", memory_limit: "300MB" });
  let stopped = false;
  process.on("message", () => {
    stopped = true;
  });
  const count = { commits: 0, conflicts: 0 };
  for (let turn = 0; !stopped; turn += 1) {
    const any = random.below(tables);
    // Updates and deletes only where no other writer has any: those conflict in a whole table.
    const own = (number + Number(values.writers) * random.below(tables)) % tables;
    const insert = `INSERT INTO t${any} SELECT ${ROWS + turn * 100 + number * 1e7}::BIGINT + i, (hash(i, ${turn}, ${number}) % 200)::INTEGER, (hash(i, ${turn * 7 + number}) % 1000)::INTEGER FROM range(8) r(i)`;
    const work = random.pick([
      [insert],
      [insert],
      [`UPDATE t${own} SET v = (v + 13) % 1000 WHERE id % 211 = ${turn % 211}`],
      [insert, `DELETE FROM t${own} WHERE id % 199 = ${turn % 199} AND g % 3 = ${turn % 3}`],
    ]);
    try {
      await lake.run("BEGIN", ...work, "CALL other.set_commit_message('writer', 'load')", "COMMIT");
      count.commits += 1;
    } catch (error) {
      await lake.run("ROLLBACK").catch(() => undefined);
      if (/conflict/i.test(error.message)) count.conflicts += 1;
      else process.send({ error: error.message.slice(0, 300) });
    }
    await delay(random.between(0.5, 1.5) * Number(values.pause));
  }
  lake.close();
  process.send(count, () => process.disconnect());
}
