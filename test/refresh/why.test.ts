import { describe, expect, test } from "vitest";
import { whyLines } from "../../src/cli/why.js";
import type { WhyResult, WhySource } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

const plain = { bold: String, dim: String, green: String, yellow: String, red: String };

function of(result: WhyResult, source: string): WhySource {
  const found = result.sources.find((candidate) => candidate.source === source);
  if (found === undefined) throw new Error(`no ${source}`);
  return found;
}

const changes = ({ changes: all }: WhySource): string[] =>
  all.map(({ change, row, run }) => `${change} ${Object.values(row).join(" ")} ${run?.strategy ?? "?"}`);

async function shop(): Promise<OpenLake> {
  const opened = await OpenLake.start();
  const { lake, connection } = opened;
  for (const sql of [
    "CREATE TABLE customers (id INTEGER, name VARCHAR)",
    "CREATE TABLE orders (id INTEGER, customer INTEGER, amount INTEGER)",
    "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob'), (3, NULL)",
    "INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30), (4, 3, 40)",
  ])
    await connection.run(sql);
  await lake.define([
    {
      name: "revenue",
      sql: "SELECT c.name AS customer, count(*) AS n, sum(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY 1 HAVING sum(o.amount) > 0",
    },
    { name: "large", sql: "SELECT customer, total * 2 AS twice FROM revenue WHERE total >= 30" },
    {
      name: "shapes",
      sql: `SELECT o.id, o.amount, c.name FROM orders o LEFT JOIN customers c ON c.id = o.customer AND c.name <> 'Bob'
            WHERE o.customer NOT IN (SELECT id FROM customers WHERE name = 'nobody') AND EXISTS (FROM customers x WHERE x.id = o.customer)`,
    },
    {
      name: "best",
      sql: "SELECT id, customer FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount DESC, id) = 1",
    },
    {
      name: "pairs",
      sql: "SELECT x.id AS one, y.id AS other FROM orders x JOIN orders y ON x.customer = y.customer AND x.id < y.id",
    },
    { name: "whole", sql: "SELECT x.id, y.name FROM orders x POSITIONAL JOIN customers y" },
    { name: "all_names", sql: "SELECT id, name FROM customers UNION ALL SELECT amount, 'order' FROM orders" },
    {
      name: "reach",
      sql: "WITH RECURSIVE r(id) AS (SELECT id FROM customers WHERE id = 1 UNION SELECT o.id FROM orders o JOIN r ON o.customer = r.id) SELECT r.id, c.name FROM r JOIN customers c USING (id)",
    },
  ]);
  await lake.refresh();
  return opened;
}

test("a group shows the rows that made it, and what happened to them, in which snapshot and by which run", async () => {
  await using opened = await shop();
  const { lake, connection } = opened;
  await connection.run("UPDATE orders SET amount = 25 WHERE id = 2");
  await connection.run("INSERT INTO orders VALUES (5, 2, 7)");
  await lake.refresh();
  await connection.run("DELETE FROM orders WHERE id = 1");
  const last = await lake.refresh();
  // Written since, and not in the view yet.
  await connection.run("INSERT INTO orders VALUES (6, 1, 99)");

  const result = await lake.why("revenue", { key: { Customer: "Ada" } });
  expect(result).toMatchObject({ view: "revenue", horizon: last.horizon, rowCount: 1n, note: null });
  expect(result.rows).toEqual([{ customer: "Ada", n: "1", total: "25" }]);
  const orders = of(result, "main.orders");
  expect(orders).toMatchObject({
    alias: "o",
    kind: "table",
    traced: "rows",
    note: null,
    rowCount: 1n,
    snapshot: last.horizon,
  });
  expect(orders.rows).toEqual([{ id: "2", customer: "1", amount: "25" }]);
  expect(changes(orders)).toEqual([
    "deleted 1 1 10 incremental",
    "deleted 2 1 20 incremental",
    "inserted 2 1 25 incremental",
    "inserted 1 1 10 initial",
    "inserted 2 1 20 initial",
  ]);
  const [newest] = orders.changes;
  expect(newest?.run?.runId).toBe(last.runId);
  expect(newest?.at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  expect(of(result, "main.customers").rows).toEqual([{ id: "1", name: "Ada" }]);

  const some = await lake.why("revenue", { key: { customer: "Ada" }, limit: 2 });
  expect(of(some, "main.orders").changes).toHaveLength(2);
  expect((await lake.why("revenue", { key: { customer: null } })).rows).toEqual([
    { customer: null, n: "1", total: "40" },
  ]);
  expect((await lake.why("revenue", { key: { customer: "nobody" } })).rowCount).toBe(0n);

  const lines = (await whyLines(result, plain)).join("\n");
  expect(lines).toMatch(/^revenue at snapshot \d+: 1 row$/m);
  expect(lines).toMatch(/^main\.orders AS o \(table at snapshot \d+\): 1 row behind them$/m);
  expect(lines).toMatch(/^ {2}− snapshot \d+ \S+ {2}id=1, customer=1, amount=10 {2}by run \S+ \(incremental\)$/m);
});

describe("other operators are traced", () => {
  test("a view's rows lead to the view that it reads, with the changes that the runs made there", async () => {
    await using opened = await shop();
    const { lake, connection } = opened;
    await connection.run("INSERT INTO orders VALUES (5, 1, 7)");
    await lake.refresh();
    const result = await lake.why("large", { key: { customer: "Ada" } });
    const revenue = of(result, "main.revenue");
    expect(revenue).toMatchObject({ kind: "view", traced: "rows", rows: [{ customer: "Ada", n: "3", total: "37" }] });
    expect(changes(revenue).slice(0, 2)).toEqual(["deleted Ada 2 30 incremental", "inserted Ada 3 37 incremental"]);
  });

  test("outer joins, EXISTS, NOT IN, windows, self-joins, unions and recursions", async () => {
    await using opened = await shop();
    const { lake } = opened;
    const traced = async (view: string, key: Record<string, string>): Promise<string[]> =>
      (await lake.why(view, { key })).sources.map(({ source, alias, traced: how, rows }) =>
        `${source.slice(5)} ${alias}: ${how} ${rows.map((row) => Object.values(row).join("/")).join(" ")}`.trim(),
      );
    expect(await traced("shapes", { id: "1" })).toEqual([
      "orders o: rows 1/1/10",
      "customers c: rows 1/Ada",
      "customers customers: none",
      "customers x: rows 1/Ada",
    ]);
    expect(await traced("shapes", { id: "3" })).toEqual([
      "orders o: rows 3/2/30",
      "customers c: rows",
      "customers customers: none",
      "customers x: rows 2/Bob",
    ]);
    expect(await traced("best", { customer: "1" })).toEqual(["orders orders: candidates 2/1/20"]);
    expect(await traced("pairs", { one: "1" })).toEqual(["orders x: rows 1/1/10", "orders y: rows 2/1/20"]);
    expect(await traced("all_names", { id: "2" })).toEqual(["customers customers: rows 2/Bob", "orders orders: rows"]);
    expect(await traced("reach", { id: "2" })).toEqual([
      "customers c: rows 2/Bob",
      "customers customers: none",
      "orders o: none",
    ]);
    const computed = await lake.why("large", { key: { twice: "60" } });
    expect(of(computed, "main.revenue").rows).toHaveLength(2);
    const summed = await lake.why("revenue", { key: { total: "30" } });
    expect(of(summed, "main.orders")).toMatchObject({
      traced: "none",
      rows: [],
      note: expect.stringContaining("computed"),
    });
  });

  test("a view that is recomputed shows its rows, and why nothing else", async () => {
    await using opened = await shop();
    const result = await opened.lake.why("whole", { key: { id: 1 } });
    expect(result).toMatchObject({ rowCount: 1n, sources: [] });
    expect(result.note).toMatch(/recomputed as a whole.*POSITIONAL/);
  });
});

test("snapshots that were expired are left out, and the columns of other days end the search", async () => {
  await using opened = await shop();
  const { lake, connection } = opened;
  await connection.run("ALTER TABLE orders ADD COLUMN note VARCHAR");
  await connection.run("INSERT INTO orders VALUES (5, 1, 7, 'late')");
  await lake.refresh();
  const before = of(await lake.why("revenue", { key: { customer: "Ada" } }), "main.orders");
  expect(changes(before)[0]).toMatch(/^inserted 5 1 7/);
  await connection.run("CALL ducklake_expire_snapshots('lake', older_than => now())");
  const after = of(await lake.why("revenue", { key: { customer: "Ada" } }), "main.orders");
  expect(after.rows).toHaveLength(3);
  expect(after.changes.length).toBeLessThan(before.changes.length);
});

test("columns that the view has not and values of another type are errors", async () => {
  await using opened = await shop();
  const { lake } = opened;
  await expect(lake.why("revenue", { key: { nobody: 1 } })).rejects.toMatchObject({ code: "key_invalid" });
  await expect(lake.why("revenue", { key: { n: "many" } })).rejects.toMatchObject({ code: "key_invalid" });
  await expect(lake.why("revenue", { key: {} })).rejects.toMatchObject({ code: "key_invalid" });
  await expect(lake.why("nothing", { key: { n: 1 } })).rejects.toMatchObject({ code: "view_unknown" });
  await lake.define([{ name: "pending", sql: "SELECT 1 AS n" }]);
  await expect(lake.why("pending", { key: { n: 1 } })).rejects.toMatchObject({ code: "not_built" });
});
