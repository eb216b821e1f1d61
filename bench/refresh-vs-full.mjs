#!/usr/bin/env node
/**
 * Times `refresh` against a full recompute (CREATE OR REPLACE TABLE AS of the same query in the same lake), both in one
 * run over the same data, commits included, in turns, and prints the median, the spread and the ratio of medians.
 *
 *   node bench/refresh-vs-full.mjs [--rows 1000000] [--repetitions 5] [--threads N] [--json]
 *
 * Every refresh is checked against the recompute; a difference ends the run with exit code 1.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { open } from "../dist/index.js";
import { inTurns, refreshed, sameRows, time } from "./harness/measure.mjs";
import { median } from "./harness/report.mjs";
import { makeTables, ORDERS, PRODUCTS, QUERY } from "./speed/star.mjs";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    repetitions: { type: "string", default: "5" },
    threads: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const rows = wholeNumber("rows");
const repetitions = wholeNumber("repetitions");
const folder = mkdtempSync(join(tmpdir(), "ducklake-ivm-bench-"));
const lake = await open({
  catalog: join(folder, "lake.ducklake"),
  dataPath: join(folder, "data"),
  ...(values.threads === undefined ? {} : { engine: { threads: Number(values.threads) } }),
});
const connection = await lake.connect();
const run = (sql) => connection.run(sql);

try {
  const results = await measure();
  print(results);
  if (results.some((result) => !result.exact)) process.exitCode = 1;
} finally {
  connection.closeSync();
  await lake.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measure() {
  await makeTables(run, rows);
  await lake.define([{ name: "by_category", sql: QUERY, refresh: "incremental" }]);
  const initial = await time(() => lake.refresh());
  const cases = [];
  for (const [name, change] of changes()) {
    let view;
    const { times, exact } = await inTurns(repetitions, {
      change,
      refresh: async () => ([view] = (await refreshed(lake)).views),
      full: () => run(`CREATE OR REPLACE TABLE recomputed AS ${QUERY}`),
      exact: () => sameRows(connection, "by_category", "recomputed"),
    });
    cases.push({ name, terms: `${view.terms.run} of ${view.terms.total}`, ...times, exact });
  }
  return [{ name: "initial build", terms: "", refresh: [initial], full: cases[0]?.full ?? [], exact: true }, ...cases];
}

/** Kinds of change; each leaves the lake ready for one refresh. */
function changes() {
  let next = rows;
  const insert = async (count) => {
    await run(`INSERT INTO items SELECT ${next} + i, (hash(i) % ${ORDERS})::BIGINT, (hash(i * 3) % ${PRODUCTS})::INTEGER, 2, 9.99
      FROM range(${count}) r(i)`);
    next += count;
  };
  const percent = (share) => Math.max(20, Math.round((rows * share) / 100));
  const scattered = (share) => async (repetition) => {
    const every = Math.round(100 / share);
    await run(`UPDATE items SET qty = qty % 9 + 1 WHERE hash(id * 101 + ${repetition}) % ${every} = 0`);
  };
  return [
    ["nothing changed", async () => {}],
    ["0.01 % inserted", () => insert(percent(0.01))],
    ["0.1 % inserted", () => insert(percent(0.1))],
    ["0.01 % updated, scattered", scattered(0.01)],
    ["1 % updated, scattered", scattered(1)],
    [
      "10 products changed",
      (repetition) => run(`UPDATE products SET category = 'moved ${repetition}' WHERE product_id < 10`),
    ],
  ];
}

function print(results) {
  const summary = results.map(({ name, terms, refresh, full, exact }) => ({
    change: name,
    terms,
    refresh_ms: spread(refresh),
    full_ms: spread(full),
    times_faster: round(median(full) / median(refresh)),
    exact,
  }));
  if (values.json) {
    console.log(JSON.stringify({ rows, repetitions, results: summary }));
    return;
  }
  console.log(
    `${rows} items, ${ORDERS} orders, ${PRODUCTS} products; ${repetitions} repetitions; median (least to most) in ms, warm`,
  );
  for (const line of summary) {
    console.log(
      `${line.change.padEnd(28)} ${line.terms.padEnd(7)} refresh ${text(line.refresh_ms).padEnd(24)} full ${text(line.full_ms).padEnd(24)} ${line.times_faster}x ${line.exact ? "exact" : "WRONG"}`,
    );
  }
}

function spread(times) {
  return { median: round(median(times)), least: round(Math.min(...times)), most: round(Math.max(...times)) };
}

function text({ median: middle, least, most }) {
  return `${middle} (${least} to ${most})`;
}

function round(value) {
  return Math.round(value * 10) / 10;
}

function wholeNumber(name) {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  console.error(`--${name} takes a whole number from 1 on`);
  process.exit(2);
}
