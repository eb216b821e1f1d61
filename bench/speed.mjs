#!/usr/bin/env node
/**
 * Times what the project is for, against the ways that are open without it, in one run over the same data, writes and
 * commits included, and says which goals are met.
 *
 *   node bench/speed.mjs [--scale 1] [--rows 10000000] [--sf 1] [--repetitions 5] [--case star] [--only 'scattered']
 *                        [--no-rival] [--markdown]
 *
 * `--scale 0.02` makes all data smaller, `--rows` sets the rows of the cases `star`, which may be given several times, as may
 * `--sf` for those of TPC-H. Every refresh is checked against a recompute; a difference ends the run with exit code 1.
 * Goals that are missed are marked and change no exit code: they depend on the machine.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { open } from "../dist/index.js";
import { spread } from "./harness/measure.mjs";
import { Findings, median, printTable } from "./harness/report.mjs";
import { measureRival } from "./rival/rival.mjs";
import { chainCase } from "./speed/chain.mjs";
import { deltaCase } from "./speed/delta.mjs";
import { groupsCase } from "./speed/groups.mjs";
import { growthCase } from "./speed/growth.mjs";
import { jobsCase } from "./speed/jobs.mjs";
import { remoteCase } from "./speed/remote.mjs";
import { sixCase } from "./speed/six.mjs";
import { commandCase, nothingCase } from "./speed/small.mjs";
import { starCase } from "./speed/star.mjs";
import { tpchCase } from "./speed/tpch.mjs";

const CASES = {
  nothing: nothingCase,
  command: commandCase,
  delta: deltaCase,
  star: starsCase,
  growth: growthCase,
  six: sixCase,
  chain: chainCase,
  groups: groupsCase,
  jobs: jobsCase,
  tpch: tpchCase,
  remote: remoteCase,
};
const STAR_ROWS = [1_000_000, 10_000_000];

const { values } = parseArgs({
  options: {
    scale: { type: "string", default: "1" },
    rows: { type: "string", multiple: true },
    sf: { type: "string", multiple: true, default: ["1"] },
    repetitions: { type: "string", default: "5" },
    case: { type: "string", multiple: true },
    only: { type: "string" },
    rival: { type: "boolean", default: true },
    markdown: { type: "boolean", default: false },
  },
  allowNegative: true,
});
const scale = Number(values.scale);
const sf = values.sf.map(Number);
const repetitions = Number(values.repetitions);
const starRows = values.rows?.map(Number) ?? STAR_ROWS.map((rows) => Math.max(Math.round(rows * scale), 10_000));
if (![...starRows, repetitions].every((value) => Number.isSafeInteger(value) && value > 0)) {
  console.error("--rows and --repetitions take whole numbers from 1 on");
  process.exit(2);
}
if (![...sf, scale].every((value) => value > 0 && Number.isFinite(value))) {
  console.error("--scale and --sf take numbers above 0");
  process.exit(2);
}
const wanted = values.case ?? Object.keys(CASES);
const unknown = wanted.find((name) => !(name in CASES));
if (unknown !== undefined) {
  console.error(`there is no case ${unknown}; there are ${Object.keys(CASES).join(", ")}`);
  process.exit(2);
}

const findings = new Findings();
const lines = [["work", "how", "refresh ms", "full ms", "by hand ms", "rival ms", "full ÷ refresh", "goals"]];
let missed = 0;
for (const name of wanted) {
  for (const result of await CASES[name]({ openLake, scale, sf, repetitions, only: values.only })) {
    const { refresh, full, byHand, rival: other } = result.times;
    if (!result.exact) findings.add(`${result.work}: wrong rows, or a snapshot that nobody needed`);
    missed += result.goals.filter(({ met }) => !met).length;
    const goals = result.goals.map(({ text, met }) => `${met ? "✓" : "✗ SHORT:"} ${text.trim()}`).join("; ");
    const cell = (times) => (times.length === 0 ? "" : spread(times));
    const ratio = full.length === 0 ? "" : `${(median(full) / median(refresh)).toFixed(1)}×`;
    lines.push([result.work, result.how, cell(refresh), cell(full), cell(byHand), cell(other), ratio, goals]);
  }
}
printTable(lines, values.markdown);
if (missed > 0) console.log(`\n${missed} goals are missed on this machine.`);
findings.close();

/** The join of three tables at each size, the rival's own run before ours. */
async function starsCase(options) {
  const results = [];
  for (const rows of starRows) {
    const rival = values.rival ? await measureRival(rows, repetitions) : null;
    results.push(...(await starCase({ ...options, rows, rival })));
  }
  return results;
}

/** An open lake in a folder of its own, with a connection beside it. */
async function openLake() {
  const folder = mkdtempSync(join(tmpdir(), "ducklake-ivm-bench-"));
  const config = { catalog: join(folder, "lake.ducklake"), dataPath: join(folder, "data") };
  const lake = await open(config);
  const connection = await lake.connect();
  let attached = true;
  const detach = async () => {
    if (!attached) return;
    attached = false;
    connection.closeSync();
    await lake.close();
  };
  const dispose = async () => {
    await detach();
    rmSync(folder, { recursive: true, force: true });
  };
  return { folder, config, lake, connection, detach, dispose };
}
