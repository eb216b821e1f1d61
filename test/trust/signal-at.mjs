/**
 * Preloaded with `--import` into the real command line: sends the process a signal, as a shell or a scheduler would,
 * when it is about to send a certain statement to DuckDB. The product knows nothing of this.
 */
import { appendFileSync } from "node:fs";
import { DuckDBConnection } from "@duckdb/node-api";

const { SIGNAL, SIGNAL_AT, STATEMENTS_FILE } = process.env;
let sent = 0;
const original = DuckDBConnection.prototype.runAndReadAll;
DuckDBConnection.prototype.runAndReadAll = function (sql, ...rest) {
  sent += 1;
  const isDue = String(sent) === SIGNAL_AT;
  if (STATEMENTS_FILE !== undefined) appendFileSync(STATEMENTS_FILE, `${JSON.stringify(sql)}\n`);
  if (isDue) process.kill(process.pid, SIGNAL);
  return original.call(this, sql, ...rest);
};
