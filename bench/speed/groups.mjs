/** A view with millions of groups of which a thousand change, next to each other or all over. */
import { goal, howOf, inTurns, refreshed, sameRows } from "../harness/measure.mjs";
import { say } from "../harness/report.mjs";

const CHANGED = 1000;
const QUERY = "SELECT g, sum(v) AS s, count(*) AS n FROM t GROUP BY g";

export async function groupsCase({ openLake, scale, repetitions, only }) {
  const groups = Math.max(Math.round(5_000_000 * scale), 10 * CHANGED);
  const place = await openLake();
  const { lake, connection } = place;
  try {
    const results = [];
    await connection.run(`CREATE TABLE t AS SELECT i AS g, i % 7 AS v FROM range(${groups}) r(i)`);
    await lake.define([{ name: "by_g", sql: QUERY, refresh: "incremental" }]);
    await refreshed(lake);
    for (const [kind, bound, key] of [
      ["clustered", 60, (round) => `${round * CHANGED} + i`],
      ["scattered", 150, (round) => `(i * ${Math.floor(groups / CHANGED)} + ${round}) % ${groups}`],
    ]) {
      const work = `${CHANGED} of ${groups} groups changed, ${kind}`;
      if (only !== undefined && !work.includes(only)) continue;
      say(work);
      let last;
      const { times, exact } = await inTurns(repetitions, {
        change: (round) => connection.run(`INSERT INTO t SELECT ${key(round)}, 1 FROM range(${CHANGED}) r(i)`),
        refresh: async () => (last = await refreshed(lake)),
        full: () => connection.run(`CREATE OR REPLACE TABLE recomputed AS ${QUERY}`),
        exact: () => sameRows(connection, "by_g", "recomputed"),
      });
      results.push({ work, how: howOf(last), times, goals: [goal("", "within", bound, times.refresh)], exact });
    }
    return results;
  } finally {
    await place.dispose();
  }
}
