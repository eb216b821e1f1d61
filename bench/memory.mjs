#!/usr/bin/env node
/**
 * Shows that a refresh stays inside a configured memory limit on deltas many times that size.
 *
 *   node bench/memory.mjs [--limit 500MB] [--factor 10] [--threads 2] [--overhead 350] [--seed 1] [--markdown]
 *
 * A table of rows with columns of modest width gets `factor` times the limit of new rows, then a change of half of
 * them. Each command is the real one, in a process of its own, whose highest resident set is read from the system
 * (Linux only). `memory_limit` counts what DuckDB's buffer manager holds; Node itself, code, extensions and what DuckDB
 * allocates outside of it come on top: `overhead`, in MB, is what this program allows for that, and for each row that a
 * refresh deletes from a view another 200 bytes, since DuckLake collects their positions outside of the limit.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { failureOf, runCli, writeProject } from "./harness/cli.mjs";
import { attachLake } from "./harness/plain.mjs";
import { Findings, printTable, say } from "./harness/report.mjs";

const { values } = parseArgs({
  options: {
    limit: { type: "string", default: "500MB" },
    factor: { type: "string", default: "10" },
    threads: { type: "string", default: "2" },
    overhead: { type: "string", default: "350" },
    seed: { type: "string", default: "1" },
    markdown: { type: "boolean", default: false },
  },
});
/** Bytes that a row of a delta takes in DuckDB's memory: its columns, text beyond 12 bytes, the weight. */
const ROW_BYTES = 100;
const MB = 1_000_000;
const limit = Number(/^(\d+)MB$/.exec(values.limit)?.[1]) * MB;
if (!(limit > 0)) throw new Error("--limit is a number of megabytes, such as 500MB");
const rows = Math.round((limit * Number(values.factor)) / ROW_BYTES);
const DELETED_ROW_BYTES = 200;
const allowedFor = (deleted) => limit + Number(values.overhead) * MB + deleted * DELETED_ROW_BYTES;
const seed = Number(values.seed);

/** Rows of modest width, scattered over customers. */
const rowsFrom = (from, to) => `SELECT i AS id, (hash(i, ${seed}) % ${Math.round(rows / 5)})::INTEGER AS customer,
  'p' || (hash(i * 3, ${seed}) % 5000) AS product, ((hash(i * 7, ${seed}) % 100000) / 100.0)::DECIMAL(12, 2) AS amount,
  TIMESTAMP '2024-01-01' + to_seconds((hash(i * 11) % 30000000)::BIGINT) AS moment, md5(i::VARCHAR) AS note
  FROM range(${from}, ${to}) r(i)`;

const VIEWS = {
  // Every row of the delta is a row of the view, sorted for its log.
  lines: {
    sql: "SELECT id, customer, product, amount, moment, note FROM t",
    primary_key: "id",
    refresh: "incremental",
  },
  // As many groups as a fifth of the rows, folded.
  by_customer: {
    sql: "SELECT customer, count(*) AS n, sum(amount) AS amount, max(moment) AS latest FROM t GROUP BY customer",
    refresh: "incremental",
  },
  // A join with a small table, and a view over it.
  priced: {
    sql: "SELECT t.id, t.product, p.kind, t.amount FROM t JOIN products p USING (product)",
    primary_key: "id",
    refresh: "incremental",
  },
  by_kind: { sql: "SELECT kind, count(*) AS n, sum(amount) AS amount FROM priced GROUP BY kind" },
};

const findings = new Findings();
const lines = [["command", "delta", "rows read", "peak memory", "limit + overhead", "time"]];
const folder = mkdtempSync(join(tmpdir(), "ducklake-ivm-memory-"));
const place = { catalog: join(folder, "lake.ducklake"), dataPath: join(folder, "data") };
try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
printTable(lines, values.markdown);
findings.close();

async function main() {
  const engine = {
    memory_limit: values.limit,
    threads: Number(values.threads),
    temp_directory: join(folder, "spill"),
  };
  await writeProject(folder, { place, log: { path: join(folder, "log"), compact: "manual" }, engine, views: VIEWS });
  await change("an empty table", `CREATE TABLE t AS ${rowsFrom(0, 0)}`, ...products());
  await command("apply", "");
  await command("refresh", "none");
  await change(`${rows} rows come`, `INSERT INTO t ${rowsFrom(0, rows)}`);
  await command("refresh", `${rows} rows come`, rows);
  await change("half of them change", "UPDATE t SET amount = amount + 1, note = reverse(note) WHERE id % 2 = 0");
  const changed = Math.ceil(rows / 2);
  await command("refresh", `${changed} rows change`, 2 * changed, changed);
  await command("compact", "");
  await command("verify", "");
  await compare();
}

function products() {
  return ["CREATE TABLE products AS SELECT 'p' || i AS product, 'k' || (i % 40) AS kind FROM range(5000) r(i)"];
}

/** Writers have limits of their own, which are no part of this. */
async function change(what, ...statements) {
  say(what);
  const lake = await attachLake(place, { threads: "1", memory_limit: "3GB", temp_directory: join(folder, "writer") });
  await lake.run(...statements);
  lake.close();
}

async function command(name, delta, read, deleted = 0) {
  const allowed = allowedFor(deleted);
  const outcome = await runCli([name], { cwd: folder, watchMemory: true, timeoutMs: 4 * 3_600_000 });
  const peak = `${Math.round(outcome.peak / MB)} MB`;
  say(`${name}: ${peak}, ${(outcome.elapsedMs / 1000).toFixed(1)} s`);
  for (const view of outcome.json?.views ?? []) {
    if (view.elapsed_ms !== undefined) say(`  ${view.view}: ${view.strategy} ${(view.elapsed_ms / 1000).toFixed(1)} s`);
  }
  lines.push([
    name,
    delta,
    read ?? "",
    peak,
    `${Math.round(allowed / MB)} MB`,
    `${(outcome.elapsedMs / 1000).toFixed(1)} s`,
  ]);
  if (outcome.code !== 0) findings.add(`${name} (${delta}) failed: ${failureOf(outcome)}`);
  if (outcome.peak > allowed) findings.add(`${name} (${delta}) took ${peak}, more than ${Math.round(allowed / MB)} MB`);
}

/** The oracle: the views' queries over the base tables, by count and sum of hashes, which any order gives alike. */
async function compare() {
  const lake = await attachLake(place, { threads: "1", memory_limit: "3GB", temp_directory: join(folder, "oracle") });
  for (const [name, { sql }] of Object.entries(VIEWS)) {
    const digest = (from) =>
      lake.rows(`SELECT count(*)::VARCHAR AS rows, sum(hash(COLUMNS(*)::VARCHAR)::HUGEINT)::VARCHAR FROM ${from}`);
    const [have, want] = [await digest(name), await digest(`(${sql})`)];
    const same = JSON.stringify(have) === JSON.stringify(want);
    say(`${name}: ${same ? "exact" : "WRONG"}`);
    if (!same) findings.add(`${name} differs from its query: ${JSON.stringify(have)} against ${JSON.stringify(want)}`);
  }
  lake.close();
}
