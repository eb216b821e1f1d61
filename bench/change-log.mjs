#!/usr/bin/env node
/**
 * Times the compaction of a change log against DuckDB's own sorted COPY of the same rows, and reads of the log before
 * and after compaction. Both sides run in one process, in turns, on the same files.
 *
 *   node bench/change-log.mjs [--rows 1000000] [--windows 64] [--repetitions 5] [--markdown]
 *
 * Each repetition makes a log anew: a base of `rows` rows, then windows that each update one row in a thousand. The
 * compaction folds all of it into a new base; the copy reads the view's own table and writes one sorted Parquet file
 * with the same row groups and compression. Reads go to the end, so that their rows are produced as well.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { open } from "../dist/index.js";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    windows: { type: "string", default: "64" },
    repetitions: { type: "string", default: "5" },
    markdown: { type: "boolean", default: false },
  },
});
const rows = Number(values.rows);
const windows = Number(values.windows);
const repetitions = Number(values.repetitions);
const VIEW = "items_by_id";
const ROW_GROUP = 20_480;

const times = new Map();
const counts = [];
for (let repetition = 0; repetition < repetitions; repetition += 1) await measure(repetition);
print();

async function measure(repetition) {
  const folder = mkdtempSync(join(tmpdir(), "ducklake-ivm-log-bench-"));
  const place = { catalog: join(folder, "lake.ducklake"), dataPath: join(folder, "data") };
  // Nothing is compacted before it is timed, and everything then.
  const log = { path: join(folder, "log"), compact: "manual", keep: { snapshots: 0n } };
  const lake = await open({ ...place, log });
  const connection = await lake.connect();
  try {
    await connection.run(
      `CREATE TABLE items AS SELECT i AS id, (hash(i) % 1000)::INTEGER AS amount, 'item ' || i AS name FROM range(${rows}) r(i)`,
    );
    await lake.define([{ name: VIEW, sql: "SELECT id, name, amount FROM items", primaryKey: ["id"] }]);
    const first = (await lake.refresh()).horizon;
    for (let window = 0; window < windows; window += 1) {
      await connection.run(`UPDATE items SET amount = amount + 1 WHERE hash(id, ${window}) % 1000 = 0`);
      await lake.refresh();
    }
    const key = [{ id: String(Math.floor(rows / 3)) }];
    await reads(lake, "before", first, key);
    const copy = () => copySorted(connection, join(folder, "copy.parquet"));
    const compact = async () => counts.push((await lake.compact()).logs[0]);
    for (const [name, work] of repetition % 2 === 0
      ? [
          ["compaction", compact],
          ["copy", copy],
        ]
      : [
          ["copy", copy],
          ["compaction", compact],
        ]) {
      await time(name, work);
    }
    await reads(lake, "after", undefined, key);
  } finally {
    connection.closeSync();
    await lake.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function reads(lake, when, since, key) {
  await time(`one key ${when}`, async () => drain(await lake.state(VIEW, { keys: key })));
  if (since !== undefined) await time(`all windows ${when}`, async () => drain(await lake.changes(VIEW, { since })));
  await time(`whole state ${when}`, async () => drain(await lake.state(VIEW)));
}

async function drain(found) {
  let count = 0;
  for await (const _ of found) count += 1;
  return count;
}

function copySorted(connection, path) {
  return connection.run(
    `COPY (SELECT id, name, amount, 1::BIGINT AS weight FROM ${VIEW} ORDER BY id) TO '${path}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP})`,
  );
}

async function time(name, work) {
  const began = performance.now();
  await work();
  times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function print() {
  const line = (name, against) => {
    const own = times.get(name) ?? [];
    const spread = `${Math.round(Math.min(...own))}–${Math.round(Math.max(...own))}`;
    const ratio = against === undefined ? "" : (median(own) / median(times.get(against) ?? [])).toFixed(2);
    return [name, String(Math.round(median(own))), spread, ratio];
  };
  const lines = [
    line("copy"),
    line("compaction", "copy"),
    line("one key before"),
    line("one key after", "one key before"),
    line("whole state before"),
    line("whole state after", "whole state before"),
    line("all windows before"),
  ];
  console.log(
    `${rows} rows, ${windows} windows, ${repetitions} repetitions; rows written by the compaction: ${counts[0]?.rewritten}`,
  );
  const head = ["work", "median ms", "least–most ms", "ratio to the line above"];
  const all = values.markdown ? [head, head.map(() => "---"), ...lines] : [head, ...lines];
  for (const cells of all) console.log(values.markdown ? `| ${cells.join(" | ")} |` : cells.join("\t"));
}
