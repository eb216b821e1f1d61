/**
 * TPC-H: all 22 queries as views of one run, after refresh streams as the benchmark has them: a thousandth of the orders
 * comes and another one goes, each with its items.
 */
import { loadExtension } from "../../dist/engine/extensions.js";
import { goal, howOf, inLake, inTurns, refreshed, sameRows, time } from "../harness/measure.mjs";
import { median, say } from "../harness/report.mjs";

const TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"];
const STREAM = [
  ["orders", "o_orderkey"],
  ["lineitem", "l_orderkey"],
];
const SHARE = 1000;

export async function tpchCase({ scale, sf, repetitions, ...options }) {
  const results = [];
  for (const factor of sf) {
    const size = factor * scale;
    const work = `TPC-H at scale ${size}, 22 views`;
    results.push(...(await inLake(options, work, (place) => measure(place, work, factor, size, repetitions))));
  }
  return results;
}

async function measure({ lake, connection }, work, factor, size, repetitions) {
  await load(connection, size);
  const queries = (
    await connection.runAndReadAll("SELECT query_nr, query FROM tpch_queries() ORDER BY query_nr")
  ).getRowsJS();
  const views = queries.map(([number, sql]) => ({
    name: `q${String(number).padStart(2, "0")}`,
    sql: sql.replace(/;\s*$/, ""),
    refresh: "auto",
  }));
  await lake.define(views);
  say(`${work}: first build`);
  await refreshed(lake);
  const perView = new Map(views.map(({ name }) => [name, { refresh: [], full: [] }]));
  let last;
  const { times, exact } = await inTurns(repetitions, {
    change: (round) => stream(connection, round),
    refresh: async () => {
      last = await refreshed(lake);
      for (const { view, elapsedMs } of last.views) perView.get(view).refresh.push(elapsedMs);
    },
    full: async () => {
      for (const { name, sql } of views) {
        const took = await time(() => connection.run(`CREATE OR REPLACE TABLE full_${name} AS ${sql}`));
        perView.get(name).full.push(took);
      }
    },
    exact: async () => {
      let same = true;
      for (const { name } of views) {
        if (await sameRows(connection, name, `full_${name}`)) continue;
        say(`${name} differs from its query`);
        same = false;
      }
      return same;
    },
  });
  // The first round is not told, here neither.
  const ratios = [...perView].map(([name, { refresh, full }]) => ({
    name,
    ratio: median(refresh.slice(1)) / median(full.slice(1)),
  }));
  const slowest = ratios.reduce((one, other) => (other.ratio > one.ratio ? other : one));
  const goals = [
    goal("than recomputing all", "faster", factor >= 10 ? 8 : 3, times.refresh, times.full),
    goal(`of its recompute: ${slowest.name}`, "slower", 1.2, [slowest.ratio], [1]),
  ];
  return [{ work, how: howOf(last), times, goals, exact }];
}

/** Made in the instance's own memory and copied to the lake. */
async function load(connection, size) {
  await connection.run("ATTACH ':memory:' AS generated");
  await connection.run("USE generated");
  await loadExtension(connection, "tpch");
  await connection.run(`CALL dbgen(sf = ${size})`);
  await connection.run("USE lake");
  for (const name of TABLES) await connection.run(`CREATE TABLE ${name} AS FROM generated.${name}`);
  await connection.run("DETACH generated");
}

async function stream(connection, round) {
  const [[shift]] = (await connection.runAndReadAll("SELECT max(o_orderkey) FROM orders")).getRows();
  await connection.run("BEGIN");
  for (const [table, key] of STREAM) {
    await connection.run(
      `INSERT INTO ${table} SELECT * REPLACE (${key} + ${shift} AS ${key}) FROM ${table} WHERE hash(${key}, ${2 * round}) % ${SHARE} = 0`,
    );
  }
  await connection.run("COMMIT");
  await connection.run("BEGIN");
  for (const [table, key] of STREAM) {
    await connection.run(`DELETE FROM ${table} WHERE hash(${key}, ${2 * round + 1}) % ${SHARE} = 0`);
  }
  await connection.run("COMMIT");
}
