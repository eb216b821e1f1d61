/**
 * A program that works on a lake and kills itself, with the signal that no program can handle, at one step of it.
 *
 * Reads two lines from stdin, each JSON: first `{config, early}`, then the task. The product knows nothing of this:
 * a step is a statement that it sends to DuckDB.
 */
import { createInterface } from "node:readline";
import { DuckDBConnection } from "@duckdb/node-api";
import { open } from "../../dist/index.js";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
// JSON has no bigint, which a retention of snapshots is.
const revive = (key, value) => (key === "snapshots" ? BigInt(value) : value);
const next = async () => JSON.parse((await lines.next()).value, revive);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const die = () => process.kill(process.pid, "SIGKILL");

const { config, early } = await next();
// A catalog in a file is opened only when nobody else has it open any more.
let lake = early ? await open(config) : undefined;
say("ready");
const { action, definitions, options, table, from, before, commit, delay } = await next();
lake ??= await open(config);

const statements = [];
let commits = 0;
const original = DuckDBConnection.prototype.runAndReadAll;
DuckDBConnection.prototype.runAndReadAll = function (sql, ...rest) {
  statements.push(sql);
  if (statements.length === before) die();
  const result = original.call(this, sql, ...rest);
  if (sql === "COMMIT") {
    commits += 1;
    if (commits === commit) delay === 0 ? die() : setTimeout(die, delay);
  }
  return result;
};

const actions = {
  define: () => lake.define(definitions, options),
  refresh: () => lake.refresh(options),
  merge: () => lake.merge(table, from, options),
  compact: () => lake.compact(),
  replay: () => lake.replay(options),
};
const result = await actions[action]();
const failures = (result.views ?? []).flatMap((view) => view.error ?? []);
say({ statements, failures });
process.exit(0);
