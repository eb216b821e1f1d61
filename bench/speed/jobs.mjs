/** Twenty views that share nothing, one at a time and two at a time. */
import { goal, inLake, inTurns, refreshed, sameRows } from "../harness/measure.mjs";

const VIEWS = 20;
const query = (index) =>
  `SELECT g, sum(v * w) AS s, min(v) AS least, count(DISTINCT w) AS ws FROM t${index} GROUP BY g`;

export async function jobsCase({ scale, repetitions, ...options }) {
  const rows = Math.max(Math.round(1_000_000 * scale), 10_000);
  const work = `${VIEWS} independent views over ${rows} rows each, two jobs`;
  return inLake(options, work, ({ lake, connection }) => measure(lake, connection, rows, work, repetitions));
}

async function measure(lake, connection, rows, work, repetitions) {
  const indexes = Array.from({ length: VIEWS }, (_, index) => index);
  const change = async (round) => {
    for (const index of indexes) {
      await connection.run(
        `UPDATE t${index} SET v = v + 1 WHERE id BETWEEN ${((round + 1) * rows) / 100} AND ${((round + 2) * rows) / 100 - 1}`,
      );
    }
  };
  for (const index of indexes) {
    await connection.run(
      `CREATE TABLE t${index} AS SELECT i AS id, hash(i) % 5000 AS g, i % 97 AS v, i % 13 AS w FROM range(${rows}) r(i)`,
    );
  }
  await lake.define(indexes.map((index) => ({ name: `v${index}`, sql: query(index), refresh: "incremental" })));
  await refreshed(lake);
  const { times, exact } = await inTurns(repetitions, {
    change: (round) => change(2 * round),
    refresh: () => refreshed(lake, { jobs: 2 }),
    exact: async () => {
      for (const index of indexes) {
        await connection.run(`CREATE OR REPLACE TABLE recomputed AS ${query(index)}`);
        if (!(await sameRows(connection, `v${index}`, "recomputed"))) return false;
      }
      return true;
    },
  });
  const single = await inTurns(repetitions, {
    change: (round) => change(2 * round + 1),
    refresh: () => refreshed(lake, { jobs: 1 }),
    exact: async () => true,
  });
  return [
    {
      work,
      how: "full: one job",
      times: { ...times, full: single.times.refresh },
      goals: [goal("than one job", "faster", 1.6, times.refresh, single.times.refresh)],
      exact,
    },
  ];
}
