/** Every form of the builder against SQL that somebody wrote, on a lake that changes. */
import { expect, test } from "vitest";
import {
  and,
  argMax,
  count,
  countDistinct,
  denseRank,
  descending,
  every,
  fromSql,
  type KeyedQuery,
  lag,
  lead,
  literal,
  max,
  mean,
  median,
  min,
  movingAverage,
  movingSum,
  not,
  or,
  type Query,
  quantile,
  rank,
  rowNumber,
  runningCount,
  runningMax,
  runningMean,
  runningMin,
  runningSum,
  some,
  source,
  sql,
  stddev,
  sum,
  variance,
  view,
} from "../../src/builder/index.js";
import { OpenLake } from "../setup/open-lake.js";

const orders = source("orders").as("o");
const customers = source("customers").as("c");
const prices = source("price list", { schema: "shop" }).as("p");
const on = { "o.customer": "c.id" };

interface Form {
  // biome-ignore lint/suspicious/noExplicitAny: forms of all row types.
  readonly query: Query<any> | KeyedQuery<any>;
  readonly sql: string;
  /** Columns of doubles that depend on the order of additions in their last digits. */
  readonly rounded?: readonly string[];
}

const FORMS: Readonly<Record<string, Form>> = {
  "a source as it is": { query: source("orders"), sql: "FROM orders" },
  "a source of another schema, with odd names": {
    query: prices.select("p.item", { net: "p.the price" }),
    sql: `SELECT item, "the price" AS net FROM shop."price list"`,
  },
  "inner join": {
    query: orders.join(customers, { on }).select("o.id", "c.name"),
    sql: "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id",
  },
  "left join, with a condition before it": {
    query: orders.where("o.amount", ">", 20).join(customers, { kind: "left", on }).select("o.id", "c.name"),
    sql: "SELECT o.id, c.name FROM (FROM orders WHERE amount > 20) o LEFT JOIN customers c ON o.customer = c.id",
  },
  "right join, with a condition before it": {
    query: orders.where("o.amount", ">", 20).join(customers, { kind: "right", on }).select("o.id", "c.name"),
    sql: "SELECT o.id, c.name FROM (FROM orders WHERE amount > 20) o RIGHT JOIN customers c ON o.customer = c.id",
  },
  "full join with a condition on the other side": {
    query: orders
      .join(customers.where("name", "<>", "Ada"), {
        kind: "full",
        on: (column) => sql`${column("o.customer")} = ${column("c.id")}`,
      })
      .select("o.id", "c.name"),
    sql: "SELECT o.id, c.name FROM orders o FULL JOIN (FROM customers WHERE name <> 'Ada') c ON o.customer = c.id",
  },
  "semi join": {
    query: orders.join(customers.where("c.name", "=", "Ada"), { kind: "semi", on }).select("*"),
    sql: "SELECT * FROM orders WHERE customer IN (SELECT id FROM customers WHERE name = 'Ada')",
  },
  "anti join": {
    query: orders.join(customers, { kind: "anti", on }),
    sql: "FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer)",
  },
  "cross join": {
    query: customers.join(prices, { kind: "cross" }).select("c.*", "p.item"),
    sql: `SELECT c.*, p.item FROM customers c, shop."price list" p`,
  },
  "ASOF join": {
    query: orders
      .join(prices, {
        kind: "asof",
        on: (column) => sql`${column("o.item")} = ${column("p.item")} AND ${column("o.day")} >= ${column("p.since")}`,
      })
      .select("o.id", "p.the price"),
    sql: `SELECT o.id, p."the price" FROM orders o ASOF JOIN shop."price list" p ON o.item = p.item AND o.day >= p.since AND o.day IS NOT NULL`,
  },
  "ASOF left join": {
    query: orders
      .join(prices, {
        kind: "asof_left",
        on: (column) =>
          and(sql`${column("o.item")} = ${column("p.item")}`, sql`${column("o.day")} >= ${column("p.since")}`),
      })
      .select("o.id", "p.the price"),
    sql: `SELECT o.id, p."the price" FROM orders o ASOF LEFT JOIN shop."price list" p ON o.item = p.item AND o.day >= p.since AND o.day IS NOT NULL`,
  },
  "join using, of three": {
    query: orders
      .join(prices, { using: ["item"] })
      .join(customers, { on })
      .select("item", "o.id", "c.name", "p.since"),
    sql: `SELECT item, o.id, c.name, p.since FROM orders o JOIN shop."price list" p USING (item) JOIN customers c ON o.customer = c.id`,
  },
  "join with a join": {
    query: customers
      .join(orders.join(prices, { on: { "o.item": "p.item" } }), { kind: "left", on: { "c.id": "o.customer" } })
      .select("c.id", "p.since"),
    sql: `SELECT c.id, p.since FROM customers c LEFT JOIN (orders o JOIN shop."price list" p ON o.item = p.item) ON c.id = o.customer`,
  },
  "join with a grouped query under a name": {
    query: customers
      .join(orders.aggregate({ by: "o.customer", total: sum("o.amount") }).as("t"), {
        kind: "left",
        on: { id: "customer" },
      })
      .select("c.name", { total: (column) => sql`coalesce(${column("t.total")}, ${0})` }),
    sql: "SELECT c.name, coalesce(t.total, 0) AS total FROM customers c LEFT JOIN (SELECT customer, sum(amount) AS total FROM orders GROUP BY 1) t ON c.id = t.customer",
  },
  "self-join": {
    query: customers
      .join(source("customers").as("other"), { on: (column) => sql`${column("c.id")} < ${column("other.id")}` })
      .select({ one: "c.name", two: "other.name" }),
    sql: "SELECT a.name AS one, b.name AS two FROM customers a JOIN customers b ON a.id < b.id",
  },
  "conditions of all kinds": {
    query: source("orders")
      .where("amount", ">=", 5)
      .where("customer", "in", [1, 2, 3])
      .where("item", "not in", ["it's"])
      .where("day", "is not null")
      .where("item", "like", "a%")
      .where((column) => or(not(sql`${column("id")} = ${4}`), sql`${literal(true)}`)),
    sql: "FROM orders WHERE amount >= 5 AND customer IN (1, 2, 3) AND item NOT IN ('it''s') AND day IS NOT NULL AND item LIKE 'a%'",
  },
  "a condition on a computed column": {
    query: source("orders")
      .select("id", { twice: sql`${2} * ${source("orders").select({ n: sql`1` }).aggregate({ n: count() })}` })
      .where("twice", ">", 0),
    sql: "SELECT id, 2 * (SELECT count(*) FROM orders) AS twice FROM orders",
  },
  distinct: {
    query: source("orders").select("customer", "item").distinct(),
    sql: "SELECT DISTINCT customer, item FROM orders",
  },
  "distinct of a join": {
    query: orders.join(customers, { on }).distinct().select("name"),
    sql: "SELECT name FROM (SELECT DISTINCT * FROM orders o JOIN customers c ON o.customer = c.id)",
  },
  "aggregates of all kinds": {
    query: source("orders").aggregate({
      by: ["customer"],
      orders: count(),
      days: count("day"),
      items: countDistinct("item"),
      total: sum("amount"),
      mean: mean("amount"),
      least: min("amount"),
      most: max("amount"),
      spread: stddev("amount"),
      variance: variance("amount"),
      middle: median("amount"),
      upper: quantile("amount", 0.75),
      best: argMax("amount", "id"),
      all_paid: every("paid"),
      any_paid: some("paid"),
      paid: sum("amount").where(sql`paid`),
      spelled: (column) => sql`string_agg(${column("item")}, ${","} ORDER BY ${column("item")})`,
    }),
    sql: `SELECT customer, count(*) AS orders, count(day) AS days, count(DISTINCT item) AS items, sum(amount) AS total,
      avg(amount) AS mean, min(amount) AS least, max(amount) AS most, stddev_samp(amount) AS spread,
      var_samp(amount) AS variance, median(amount) AS middle, quantile_cont(amount, 0.75) AS upper,
      arg_max(amount, id) AS best, bool_and(paid) AS all_paid, bool_or(paid) AS any_paid,
      sum(amount) FILTER (WHERE paid) AS paid, string_agg(item, ',' ORDER BY item) AS spelled FROM orders GROUP BY 1`,
    rounded: ["spread", "variance"],
  },
  "an aggregate of all rows": {
    query: orders.where("o.id", ">", 1000).aggregate({ n: count(), total: sum("o.amount") }),
    sql: "SELECT count(*) AS n, sum(amount) AS total FROM orders WHERE id > 1000",
  },
  "aggregate by an expression, and a condition on the groups": {
    query: orders
      .where("o.day", "is not null")
      .join(customers, { on })
      .aggregate({
        by: ["c.name", { month: (column) => sql`date_trunc('month', ${column("o.day")})` }],
        total: sum("o.amount"),
      })
      .where("total", ">", 10)
      .primaryKey("name", "month"),
    sql: "SELECT c.name, date_trunc('month', o.day) AS month, sum(o.amount) AS total FROM orders o JOIN customers c ON o.customer = c.id WHERE o.day IS NOT NULL GROUP BY 1, 2 HAVING total > 10",
  },
  "running values": {
    query: source("orders").accumulate({
      by: "customer",
      along: ["day", "id"],
      total: runningSum("amount"),
      n: runningCount("amount"),
      mean: runningMean("amount"),
      least: runningMin("amount"),
      most: runningMax("amount"),
      last3: movingAverage("amount", 3),
      sum2: movingSum("amount", 2),
      before: lag("amount"),
      after: lead("amount", 2),
      number: rowNumber(),
    }),
    sql: `SELECT *, sum(amount) OVER w AS total, count(amount) OVER w AS n, avg(amount) OVER w AS mean, min(amount) OVER w AS least,
      max(amount) OVER w AS most, avg(amount) OVER (w ROWS 2 PRECEDING) AS last3, sum(amount) OVER (w ROWS 1 PRECEDING) AS sum2,
      lag(amount) OVER w AS before, lead(amount, 2) OVER w AS after, row_number() OVER w AS number
      FROM orders WINDOW w AS (PARTITION BY customer ORDER BY day, id)`,
  },
  "ranks from the greatest down": {
    query: orders
      .accumulate({ by: ["o.item"], along: descending("o.amount"), rank: rank(), dense: denseRank() })
      .where("rank", "<=", 2)
      .select("id", "rank", "dense"),
    sql: "SELECT id, rank() OVER w AS rank, dense_rank() OVER w AS dense FROM orders WINDOW w AS (PARTITION BY item ORDER BY amount DESC) QUALIFY rank <= 2",
  },
  "union all, columns by name": {
    query: source("orders")
      .select("id", { what: sql`'order'` })
      .unionAll(source("customers").select({ what: "name" }, "id")),
    sql: "SELECT id, 'order' AS what FROM orders UNION ALL SELECT id, name FROM customers",
  },
  union: {
    query: source("orders")
      .select("customer")
      .union(source("customers").select({ customer: "id" })),
    sql: "SELECT customer FROM orders UNION SELECT id FROM customers",
  },
  "anything else": {
    query: orders
      .select("id", "o.item", "amount")
      .sql(
        (rows) => sql`SELECT item, list(id ORDER BY id) AS ids FROM ${rows} AS r WHERE item <> ${"x'y"} GROUP BY item`,
      )
      .select("item", { n: (column) => sql`len(${column("ids")})` }),
    sql: "SELECT item, count(id) AS n FROM orders WHERE item <> 'x''y' GROUP BY item",
  },
  "plain SQL to go on with": {
    query: fromSql(sql`SELECT id % 3 AS third, amount FROM orders`).aggregate({ by: "third", total: sum("amount") }),
    sql: "SELECT id % 3 AS third, sum(amount) AS total FROM orders GROUP BY 1",
  },
};

const TABLES = [
  "CREATE TABLE orders (id INTEGER, customer INTEGER, item VARCHAR, amount DECIMAL(9, 2), day DATE, paid BOOLEAN)",
  "CREATE TABLE customers (id INTEGER, name VARCHAR)",
  "CREATE SCHEMA shop",
  'CREATE TABLE shop."price list" (item VARCHAR, since DATE, "the price" INTEGER)',
  `INSERT INTO orders SELECT i, 1 + i % 5, CASE WHEN i % 4 = 0 THEN 'bread' ELSE 'apple ' || (i % 3) END, i * 7 % 50 / 2,
   CASE WHEN i % 9 > 0 THEN DATE '2024-01-01' + CAST(i % 80 AS INTEGER) END, i % 2 = 0 FROM range(60) r(i)`,
  "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob'), (3, 'Ada'), (7, 'Cy'), (NULL, 'Nobody')",
  `INSERT INTO shop."price list" SELECT DISTINCT item, DATE '2024-01-10' + n::INTEGER, n::INTEGER FROM orders, range(0, 60, 20) t(n)`,
];

const CHANGES = [
  "UPDATE orders SET amount = amount + 3, item = 'apple 1' WHERE id % 7 = 1",
  "DELETE FROM orders WHERE id % 11 = 3",
  "INSERT INTO orders VALUES (100, 7, 'bread', 4, DATE '2024-02-02', true), (101, NULL, NULL, NULL, NULL, NULL)",
  "UPDATE customers SET name = 'Dee' WHERE id = 2",
  `DELETE FROM shop."price list" WHERE "the price" = 20`,
];

test("every form equals the SQL that it stands for, before and after changes", { timeout: 300_000 }, async () => {
  await using opened = await OpenLake.start({ engine: { threads: 1 } });
  const { lake } = opened;
  for (const table of TABLES) await opened.rows(table);
  const forms = Object.entries(FORMS).map(([title, form], index) => ({ title, form, name: `form ${index + 1}` }));
  await lake.define(forms.map(({ form, name }) => view(name, form.query)));

  const check = async (when: string): Promise<void> => {
    const result = await lake.refresh();
    for (const { title, form, name } of forms) {
      const outcome = result.views.find(({ view }) => view === name);
      expect(outcome?.error, title).toBeNull();
      if (when === "changed") {
        expect([title, outcome?.strategy, outcome?.reason?.text]).toEqual([title, "incremental", undefined]);
      }
      const difference = (one: string, other: string) => opened.rows(`(${one}) EXCEPT ALL (${other})`);
      const rows = `SELECT * FROM main."${name}"`;
      const rounded = (form.rounded ?? []).map((column) => `round(${column}, 9) AS ${column}`);
      const shown = (query: string): string =>
        rounded.length === 0 ? query : `SELECT * REPLACE (${rounded.join(", ")}) FROM (${query})`;
      expect([title, when, await difference(shown(rows), shown(form.sql))]).toEqual([title, when, []]);
      expect([title, when, await difference(shown(form.sql), shown(rows))]).toEqual([title, when, []]);
      const names = async (query: string) => (await opened.rows(`DESCRIBE ${query}`)).map(([column]) => column);
      expect([title, await names(rows)]).toEqual([title, await names(form.sql)]);
    }
  };
  await check("new");
  for (const change of CHANGES) await opened.rows(change);
  await check("changed");
});
