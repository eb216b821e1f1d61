#!/usr/bin/env node
/**
 * Times what the project is for, against the ways that are open without it, in one run over the same data, writes and
 * commits included, and says which goals are met.
 *
 *   node bench/speed.mjs [--rows 1000000] [--repetitions 5] [--case star] [--only 'scattered'] [--no-rival] [--markdown]
 *
 * Every refresh is checked against a recompute; a difference ends the run with exit code 1. Goals that are missed are
 * marked and change no exit code: they depend on the machine.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { open } from "../dist/index.js";
import { spread } from "./harness/measure.mjs";
import { Findings, printTable } from "./harness/report.mjs";
import { measureRival } from "./rival/rival.mjs";
import { deltaCase } from "./speed/delta.mjs";
import { commandCase, nothingCase } from "./speed/small.mjs";
import { starCase } from "./speed/star.mjs";

const CASES = { nothing: nothingCase, command: commandCase, delta: deltaCase, star: starCase };

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    repetitions: { type: "string", default: "5" },
    case: { type: "string", multiple: true },
    only: { type: "string" },
    rival: { type: "boolean", default: true },
    markdown: { type: "boolean", default: false },
  },
  allowNegative: true,
});
const rows = Number(values.rows);
const repetitions = Number(values.repetitions);
if (![rows, repetitions].every((value) => Number.isSafeInteger(value) && value > 0)) {
  console.error("--rows and --repetitions take whole numbers from 1 on");
  process.exit(2);
}
const wanted = values.case ?? Object.keys(CASES);
const unknown = wanted.find((name) => !(name in CASES));
if (unknown !== undefined) {
  console.error(`there is no case ${unknown}; there are ${Object.keys(CASES).join(", ")}`);
  process.exit(2);
}

const findings = new Findings();
const rival = values.rival && wanted.includes("star") ? await measureRival(rows, repetitions) : null;
const lines = [["work", "how", "refresh ms", "full ms", "by hand ms", "rival ms", "goals"]];
let missed = 0;
for (const name of wanted) {
  for (const result of await CASES[name]({ openLake, rows, repetitions, rival, only: values.only })) {
    const { refresh, full, byHand, rival: other } = result.times;
    if (!result.exact) findings.add(`${result.work}: wrong rows, or a snapshot that nobody needed`);
    missed += result.goals.filter(({ met }) => !met).length;
    const goals = result.goals.map(({ text, met }) => `${met ? "✓" : "✗"} ${text.trim()}`).join("; ");
    const cell = (times) => (times.length === 0 ? "" : spread(times));
    lines.push([result.work, result.how, cell(refresh), cell(full), cell(byHand), cell(other), goals]);
  }
}
printTable(lines, values.markdown);
if (missed > 0) console.log(`\n${missed} goals are missed on this machine.`);
findings.close();

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
