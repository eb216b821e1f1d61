/**
 * A join of three tables with a grouped sum, count and average over a fact table, after changes of several sizes and
 * kinds: refreshed, recomputed, and written by hand with MERGE from a change that is given ready-made.
 */
import { goal, howOf, inTurns, refreshed, sameRows, time } from "../harness/measure.mjs";
import { say } from "../harness/report.mjs";

export const ORDERS = 100_000;
export const PRODUCTS = 10_000;

const JOIN = `items i JOIN orders o ON i.order_id = o.order_id JOIN products p ON i.product_id = p.product_id`;
export const QUERY = `SELECT p.category, o.region, sum(i.qty * i.price) AS amount, count(*) AS n, avg(i.price) AS avg_price
FROM ${JOIN} GROUP BY p.category, o.region`;

/** A fact table of so many rows, and its two dimensions. */
export async function makeTables(run, rows) {
  await run(`CREATE TABLE items AS SELECT i AS id, (hash(i * 7 + 1) % ${ORDERS})::BIGINT AS order_id, (hash(i * 13 + 1) % ${PRODUCTS})::INTEGER AS product_id,
    (1 + hash(i * 17) % 9)::INTEGER AS qty, ((hash(i * 19) % 100000) / 100.0)::DECIMAL(12, 2) AS price FROM range(${rows}) r(i)`);
  await run(
    `CREATE TABLE orders AS SELECT i AS order_id, 'r' || (hash(i * 23) % 20) AS region, (hash(i * 29) % 50000)::INTEGER AS customer_id FROM range(${ORDERS}) r(i)`,
  );
  await run(
    `CREATE TABLE products AS SELECT i::INTEGER AS product_id, 'cat' || (hash(i * 31) % 50) AS category, 'product ' || i AS name FROM range(${PRODUCTS}) r(i)`,
  );
}

export class Star {
  constructor(lake, connection, rows) {
    this.lake = lake;
    this.connection = connection;
    this.rows = rows;
    this.next = rows;
    this.step = 0;
  }

  run(sql) {
    return this.connection.run(sql);
  }

  /** The tables, the view, and the same rows once more for the change that is written by hand. */
  async make() {
    say(`${this.rows} items`);
    await makeTables((sql) => this.run(sql), this.rows);
    await this.lake.define([{ name: "by_category", sql: QUERY, refresh: "auto" }]);
    const build = [await time(() => this.refresh())];
    await this.run(
      `CREATE TABLE by_hand AS SELECT p.category, o.region, sum(i.qty * i.price)::DECIMAL(38, 2) AS amount, count(*) AS n, sum(i.price)::DECIMAL(38, 2) AS price FROM ${JOIN} GROUP BY ALL`,
    );
    return build;
  }

  async refresh() {
    this.last = await refreshed(this.lake, { views: ["by_category"] });
  }

  recompute() {
    return this.run(`CREATE OR REPLACE TABLE recomputed AS ${QUERY}`);
  }

  /** The rows that go and come, in `change` with a weight, and then in the lake: 60 % updates, 20 % inserts, 20 % deletes. */
  async mixed(count, clustered) {
    this.step += 1;
    const [updated, inserted] = [Math.round(count * 0.6), Math.round(count * 0.2)];
    const touched = updated + (count - updated - inserted);
    const order = clustered ? "id DESC" : `hash(id * 101 + ${this.step})`;
    await this.run(
      `CREATE OR REPLACE TEMP TABLE picked AS SELECT id, row_number() OVER (ORDER BY ${order}) AS place FROM items ORDER BY place LIMIT ${touched}`,
    );
    await this.run(`CREATE OR REPLACE TEMP TABLE change AS
      SELECT r.*, -1 AS weight FROM items r JOIN picked USING (id)
      UNION ALL SELECT r.id, r.order_id, ((r.product_id + 1) % ${PRODUCTS})::INTEGER, (1 + (r.qty + 1) % 9)::INTEGER, (r.price + 1.25)::DECIMAL(12, 2), 1
      FROM items r JOIN picked USING (id) WHERE place <= ${updated}
      UNION ALL SELECT ${this.next} + i, (hash(i + ${this.step}) % ${ORDERS})::BIGINT, (hash(i * 3 + ${this.step}) % ${PRODUCTS})::INTEGER, 2, 9.99, 1 FROM range(${inserted}) r(i)`);
    await this.run("BEGIN");
    await this.run("DELETE FROM items WHERE id IN (SELECT id FROM picked)");
    await this.run("INSERT INTO items SELECT * EXCLUDE (weight) FROM change WHERE weight = 1");
    await this.run("COMMIT");
    this.next += inserted;
  }

  async inserts(count) {
    this.step += 1;
    await this.run(`CREATE OR REPLACE TEMP TABLE change AS SELECT ${this.next} + i AS id, (hash(i + ${this.step}) % ${ORDERS})::BIGINT AS order_id,
      (hash(i * 3 + ${this.step}) % ${PRODUCTS})::INTEGER AS product_id, 2 AS qty, 9.99::DECIMAL(12, 2) AS price, 1 AS weight FROM range(${count}) r(i)`);
    await this.run("INSERT INTO items SELECT * EXCLUDE (weight) FROM change");
    this.next += count;
  }

  async products(count) {
    this.step += 1;
    await this.run(`UPDATE products SET category = 'moved ${this.step}' WHERE product_id < ${count}`);
  }

  /** The same change by one MERGE, of rows that are given: what is left when nothing has to be found out. */
  async byHand() {
    await this.run(`MERGE INTO by_hand USING (
        SELECT p.category, o.region, sum(i.weight * i.qty * i.price)::DECIMAL(38, 2) AS amount, sum(i.weight)::BIGINT AS n, sum(i.weight * i.price)::DECIMAL(38, 2) AS price
        FROM change i JOIN orders o ON i.order_id = o.order_id JOIN products p ON i.product_id = p.product_id GROUP BY ALL
      ) AS c ON by_hand.category = c.category AND by_hand.region = c.region
      WHEN MATCHED THEN UPDATE SET amount = by_hand.amount + c.amount, n = by_hand.n + c.n, price = by_hand.price + c.price
      WHEN NOT MATCHED THEN INSERT VALUES (c.category, c.region, c.amount, c.n, c.price)`);
  }

  exact() {
    return sameRows(this.connection, "by_category", "recomputed");
  }
}

/** From so many rows on the goals against a recompute hold: a smaller table is recomputed in next to no time. */
const LARGE = 10_000_000;

/**
 * Each change with its goals; `rival` is how the other project's script names the same change, and `rivalGoalSmall` the
 * goal against it for a smaller table.
 */
const CHANGES = [
  {
    work: "0.01 % inserted",
    make: (star) => star.inserts(share(star, 0.01)),
    faster: 4,
    rival: ["insert", 0.01],
    rivalGoal: 6,
    rivalGoalSmall: 4,
    byHand: true,
  },
  {
    work: "0.01 % mixed, clustered",
    make: (star) => star.mixed(share(star, 0.01), true),
    faster: 4,
    rival: ["mixed", 0.01],
    rivalGoal: 6,
    rivalGoalSmall: 4,
    byHand: true,
  },
  {
    work: "0.01 % mixed, scattered",
    make: (star) => star.mixed(share(star, 0.01), false),
    faster: 1.8,
    rival: ["mixed", 0.01],
    rivalGoal: 2.5,
    rivalGoalSmall: 4,
    byHand: true,
  },
  {
    work: "1 % mixed, scattered",
    make: (star) => star.mixed(share(star, 1), false),
    faster: 1,
    rival: ["mixed", 1],
    rivalGoal: 2,
    byHand: true,
  },
  {
    work: "10 % mixed, scattered",
    make: (star) => star.mixed(share(star, 10), false),
    slower: 1.2,
    rival: ["mixed", 10],
    rivalGoal: 4,
    byHand: true,
  },
  {
    work: "ten products changed",
    make: (star) => star.products(10),
    faster: 2,
    rival: ["dims"],
    rivalGoal: 20,
    byHand: false,
  },
];

function share(star, percent) {
  return Math.max(20, Math.round((star.rows * percent) / 100));
}

/** Measures every kind of change on a lake of its own. */
export async function starCase({ openLake, rows, repetitions, rival, only }) {
  const place = await openLake();
  try {
    return await measure(new Star(place.lake, place.connection, rows), { repetitions, rival, only });
  } finally {
    await place.dispose();
  }
}

async function measure(star, { repetitions, rival, only }) {
  const { rows } = star;
  const build = await star.make();
  const results = [];
  const full = [];
  for (const change of CHANGES) {
    if (only !== undefined && !change.work.includes(only)) continue;
    say(change.work);
    const { times, exact } = await inTurns(repetitions, {
      change: () => change.make(star),
      refresh: () => star.refresh(),
      full: () => star.recompute(),
      ...(change.byHand ? { byHand: () => star.byHand() } : {}),
      exact: () => star.exact(),
    });
    full.push(...times.full);
    const other = rival?.find(change.rival);
    const isLarge = rows >= LARGE;
    const rivalGoal = isLarge ? change.rivalGoal : change.rivalGoalSmall;
    const goals = [
      ...(isLarge && change.faster !== undefined
        ? [goal("than a recompute", "faster", change.faster, times.refresh, times.full)]
        : []),
      ...(isLarge && change.slower !== undefined
        ? [goal("of a recompute", "slower", change.slower, times.refresh, times.full)]
        : []),
      ...(other === undefined || rivalGoal === undefined
        ? []
        : [goal("than the rival", "faster", rivalGoal, times.refresh, other)]),
    ];
    results.push({
      work: `${rows} rows, ${change.work}`,
      how: howOf(star.last),
      times: { ...times, rival: other ?? [] },
      goals,
      exact,
    });
  }
  if (full.length === 0) full.push(await time(() => star.recompute()));
  results.push({
    work: `${rows} rows, first build`,
    how: "initial, against CREATE TABLE AS",
    times: { refresh: build, full, byHand: [], rival: [] },
    goals: [goal("of a recompute", "slower", 1.3, build, full)],
    exact: true,
  });
  return results;
}
