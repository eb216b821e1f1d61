/** Four views, each over the one before, after a change of a thousandth of the table below. */
import { goal, howOf, inLake, inTurns, refreshed, sameRows } from "../harness/measure.mjs";

const VIEWS = [
  [
    "by_order",
    (t) => `SELECT order_id, customer, sum(qty * price) AS amount, count(*) AS items FROM ${t} GROUP BY ALL`,
  ],
  ["large", (t) => `SELECT order_id, customer, amount FROM ${t} WHERE amount > 20`],
  ["by_customer", (t) => `SELECT customer, sum(amount) AS amount, count(*) AS orders FROM ${t} GROUP BY customer`],
  ["by_size", (t) => `SELECT orders, count(*) AS customers, sum(amount) AS amount FROM ${t} GROUP BY orders`],
];

export async function chainCase({ scale, repetitions, ...options }) {
  const rows = Math.max(Math.round(10_000_000 * scale), 10_000);
  const work = `chain of four views over ${rows} rows, 0.1 % changed`;
  return inLake(options, work, ({ lake, connection }) => measure(lake, connection, rows, work, repetitions));
}

async function measure(lake, connection, rows, work, repetitions) {
  await connection.run(
    `CREATE TABLE items AS SELECT i AS id, i // 5 AS order_id, hash(i // 5) % ${rows / 50} AS customer, 1 + i % 9 AS qty, (i % 1000 / 100)::DECIMAL(9, 2) AS price FROM range(${rows}) r(i)`,
  );
  await lake.define(
    VIEWS.map(([name, sql], index) => ({ name, sql: sql(VIEWS[index - 1]?.[0] ?? "items"), refresh: "auto" })),
  );
  await refreshed(lake);
  const share = Math.round(rows / 1000);
  let last;
  const { times, exact } = await inTurns(repetitions, {
    change: (round) =>
      connection.run(
        `UPDATE items SET qty = qty % 9 + 1 WHERE id BETWEEN ${rows - (round + 1) * share} AND ${rows - round * share - 1}`,
      ),
    refresh: async () => (last = await refreshed(lake)),
    full: async () => {
      for (const [index, [name, sql]] of VIEWS.entries()) {
        const below = index === 0 ? "items" : `full_${VIEWS[index - 1][0]}`;
        await connection.run(`CREATE OR REPLACE TABLE full_${name} AS ${sql(below)}`);
      }
    },
    exact: async () => {
      for (const [name] of VIEWS) if (!(await sameRows(connection, name, `full_${name}`))) return false;
      return true;
    },
  });
  const goals = [goal("than a recompute", "faster", 3, times.refresh, times.full)];
  return [{ work, how: howOf(last), times, goals, exact }];
}
