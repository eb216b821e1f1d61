/**
 * A star of six tables that all change a little: the telescoping sum has six terms. The same change is written by hand as
 * engines do that know only the new state: by inclusion and exclusion, 63 terms, one for each set of changed tables.
 */
import { goal, howOf, inLake, inTurns, refreshed, sameRows } from "../harness/measure.mjs";

const SIDES = ["a", "b", "c", "d", "e"];
const TABLES = ["facts", ...SIDES.map((side) => `d${side}`)];
const MEMBERS = 10_000;
const VALUE = "f.v * (db.x + dc.x - dd.x) + de.x";
/** The join, with a relation for each table. */
const joined = (relation) =>
  `${relation("facts")} AS f ${SIDES.map((side) => `JOIN ${relation(`d${side}`)} AS d${side} ON d${side}.id = f.${side}`).join(" ")}`;
const QUERY = `SELECT da.x AS x, sum(${VALUE}) AS s, count(*) AS n FROM ${joined((table) => table)} GROUP BY da.x`;

export async function sixCase({ scale, repetitions, ...options }) {
  const rows = Math.max(Math.round(10_000_000 * scale), 1000);
  const work = `star of six, ${rows} facts, all changed`;
  return inLake(options, work, ({ lake, connection }) => measure(lake, connection, rows, work, repetitions));
}

async function measure(lake, connection, rows, work, repetitions) {
  await connection.run(
    `CREATE TABLE facts AS SELECT i AS id, ${SIDES.map((side, n) => `(hash(i * ${2 * n + 3}) % ${MEMBERS})::INTEGER AS ${side}`).join(", ")}, i % 100 AS v FROM range(${rows}) r(i)`,
  );
  for (const side of SIDES) {
    await connection.run(
      `CREATE TABLE d${side} AS SELECT i::INTEGER AS id, (hash(i * 7) % 50)::BIGINT AS x FROM range(${MEMBERS}) r(i)`,
    );
  }
  await lake.define([{ name: "star", sql: QUERY, refresh: "incremental" }]);
  await refreshed(lake);
  await connection.run(
    `CREATE TABLE by_hand AS SELECT da.x AS x, sum(${VALUE})::DECIMAL(38, 0) AS s, count(*) AS n FROM ${joined((table) => table)} GROUP BY da.x`,
  );
  let last;
  const { times, exact } = await inTurns(repetitions, {
    change: (round) => change(connection, rows, round),
    refresh: async () => (last = await refreshed(lake)),
    byHand: () => inclusionExclusion(connection),
    full: () => connection.run(`CREATE OR REPLACE TABLE recomputed AS ${QUERY}`),
    exact: async () =>
      (await sameRows(connection, "star", "recomputed")) &&
      (await sameRows(connection, "(FROM by_hand WHERE n > 0)", "recomputed")),
  });
  return [
    {
      work,
      how: `${howOf(last)}; by hand: 63 terms`,
      times,
      goals: [goal("than 63 terms", "faster", 5, times.refresh, times.byHand)],
      exact,
    },
  ];
}

/** Some facts come, and in each other table some rows get another value. What comes and goes is kept for the change by hand. */
async function change(connection, rows, round) {
  const facts = Math.max(Math.round(rows / 10_000), 10);
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE delta_facts AS SELECT ${rows + round * facts} + i AS id, ${SIDES.map((side, n) => `(hash(i * ${n + 5} + ${round}) % ${MEMBERS})::INTEGER AS ${side}`).join(", ")}, i % 100 AS v, 1 AS weight FROM range(${facts}) r(i)`,
  );
  await connection.run("INSERT INTO facts SELECT * EXCLUDE (weight) FROM delta_facts");
  for (const side of SIDES) {
    const changed = `id BETWEEN ${20 * round} AND ${20 * round + 19}`;
    await connection.run(`CREATE OR REPLACE TEMP TABLE delta_d${side} AS
      SELECT id, x, -1 AS weight FROM d${side} WHERE ${changed} UNION ALL SELECT id, x + 1, 1 FROM d${side} WHERE ${changed}`);
    await connection.run(`UPDATE d${side} SET x = x + 1 WHERE ${changed}`);
  }
}

/** Over the new state, a set of changed tables counts with the sign of its size: more than one of them are taken away again. */
async function inclusionExclusion(connection) {
  const terms = [];
  for (let set = 1; set < 2 ** TABLES.length; set += 1) {
    const changed = TABLES.filter((_, position) => (set >> position) % 2 === 1);
    const weights = changed.map((table) => `${table === "facts" ? "f" : table}.weight`).join(" * ");
    const weight = `${changed.length % 2 === 1 ? "" : "-"}(${weights})`;
    const relation = (table) => (changed.includes(table) ? `temp.delta_${table}` : table);
    terms.push(`SELECT da.x AS x, ${weight} * (${VALUE}) AS s, ${weight} AS n FROM ${joined(relation)}`);
  }
  await connection.run(`MERGE INTO by_hand USING (
      SELECT x, sum(s)::DECIMAL(38, 0) AS s, sum(n)::BIGINT AS n FROM (${terms.join(" UNION ALL ")}) GROUP BY x
    ) AS c ON by_hand.x = c.x
    WHEN MATCHED THEN UPDATE SET s = by_hand.s + c.s, n = by_hand.n + c.n
    WHEN NOT MATCHED THEN INSERT VALUES (c.x, c.s, c.n)`);
}
