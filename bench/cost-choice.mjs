#!/usr/bin/env node
/**
 * Times the choice of cost: the same query as three views, one kept by rules, one recomputed, and one left to the
 * choice, refreshed in turns after each change. The choice is good where its median is at most 1.2 times that of the
 * faster of the other two.
 *
 *   node bench/cost-choice.mjs [--rows 400000] [--repetitions 5] [--only 'sums by group'] [--markdown]
 *
 * Before it is timed, each size of change is refreshed twice, so that the choice knows what this machine takes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { open } from "../dist/index.js";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "400000" },
    repetitions: { type: "string", default: "5" },
    only: { type: "string" },
    markdown: { type: "boolean", default: false },
  },
});
const rows = Number(values.rows);
const repetitions = Number(values.repetitions);
const WARM = 2;
const SHARES = [0.0001, 0.01, 0.1, 0.3, 1];
const MODES = ["incremental", "full", "auto"];
const SHAPES = {
  "sums by group": "SELECT kind, sum(amount) AS amount, count(*) AS n FROM items GROUP BY kind",
  "join of three, sums by group":
    "SELECT p.category, c.region, sum(i.amount) AS amount, count(*) AS n FROM items i JOIN products p ON p.id = i.product JOIN customers c ON c.id = i.customer GROUP BY ALL",
  "join of two, rows":
    "SELECT i.id, i.amount, p.category FROM items i JOIN products p ON p.id = i.product WHERE i.amount > 500",
  "medians by group": "SELECT product, median(amount) AS middle FROM items GROUP BY product",
  "ranks by partition":
    "SELECT product, id, rank() OVER (PARTITION BY product ORDER BY amount DESC, id) AS place FROM items",
};

const folder = mkdtempSync(join(tmpdir(), "ducklake-ivm-cost-"));
const lake = await open({ catalog: join(folder, "lake.ducklake"), dataPath: join(folder, "data") });
const connection = await lake.connect();
const results = [];
try {
  await connection.run(`CREATE TABLE items AS SELECT i AS id, (hash(i) % 2000)::INTEGER AS product, (hash(i * 3) % 50000)::INTEGER AS customer,
    (hash(i * 7) % 100)::INTEGER AS kind, (hash(i * 11) % 1000)::INTEGER AS amount FROM range(${rows}) r(i)`);
  await connection.run(
    "CREATE TABLE products AS SELECT i::INTEGER AS id, 'c' || (i % 40) AS category FROM range(2000) r(i)",
  );
  await connection.run(
    "CREATE TABLE customers AS SELECT i::INTEGER AS id, 'r' || (i % 20) AS region FROM range(50000) r(i)",
  );
  for (const [shape, sql] of Object.entries(SHAPES)) {
    if (values.only === undefined || values.only === shape) await measureShape(shape, sql);
  }
  print();
} finally {
  connection.closeSync();
  await lake.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measureShape(shape, sql) {
  await lake.define(
    MODES.map((refresh) => ({ name: `v_${refresh}`, sql, refresh })),
    { drop: true },
  );
  await lake.refresh();
  for (const share of SHARES) {
    const times = { incremental: [], full: [], auto: [] };
    const chosen = [];
    for (let repetition = -WARM; repetition < repetitions; repetition += 1) {
      const every = Math.round(1 / share);
      await connection.run(
        `UPDATE items SET amount = (amount + 13) % 1000 WHERE hash(id, ${repetition}) % ${every} = 0`,
      );
      const turn = (repetition + WARM) % MODES.length;
      for (const mode of [...MODES.slice(turn), ...MODES.slice(0, turn)]) {
        const result = await lake.refresh({ views: [`v_${mode}`] });
        const [view] = result.views;
        if (view === undefined || view.error !== null) throw new Error(`${shape}: ${view?.error?.message}`);
        if (repetition < 0) continue;
        times[mode].push(view.elapsedMs);
        if (mode === "auto") chosen.push(view.strategy);
      }
    }
    const [incremental, full, auto] = MODES.map((mode) => median(times[mode]));
    results.push({
      shape,
      share,
      incremental,
      full,
      auto,
      ratio: auto / Math.min(incremental, full),
      chosen: summary(chosen),
    });
  }
}

function summary(chosen) {
  const byRules = chosen.filter((strategy) => strategy === "incremental").length;
  if (byRules === chosen.length) return "rules";
  return byRules === 0 ? "recompute" : `rules ${byRules} of ${chosen.length}`;
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function print() {
  const lines = results.map((line) => [
    line.shape,
    `${line.share * 100} %`,
    ...[line.incremental, line.full, line.auto].map((ms) => String(Math.round(ms))),
    line.chosen,
    line.ratio.toFixed(2),
  ]);
  const head = ["view", "updated", "rules ms", "recompute ms", "choice ms", "chosen", "choice / faster"];
  if (values.markdown) {
    for (const line of [head, head.map(() => "---"), ...lines]) console.log(`| ${line.join(" | ")} |`);
  } else {
    const widths = head.map((_, index) => Math.max(...[head, ...lines].map((line) => line[index].length)));
    for (const line of [head, ...lines]) console.log(line.map((cell, index) => cell.padEnd(widths[index])).join("  "));
  }
  const worst = Math.max(...results.map((line) => line.ratio));
  console.log(
    `\n${rows} rows, ${repetitions} repetitions, medians; the choice took at most ${worst.toFixed(2)} times the faster way`,
  );
  if (worst > 1.2) process.exitCode = 1;
}
