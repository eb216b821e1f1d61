/** A lake that has been through something: views of all kinds, failures, names that try to be markup. */
import { join } from "node:path";
import type { Overview } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";
import { OpenLake } from "../setup/open-lake.js";

export const HOSTILE = "</script><img src=x onerror=alert(1)>";

/** Its overview: six views, of which one failed, one was never built, one is fresh and three are behind. */
export async function livedInOverview(): Promise<Overview> {
  await using place = await tempLake();
  await using open = await OpenLake.start({ log: { path: join(place.folder, "logs") } });
  const { lake } = open;
  await open.rows("CREATE TABLE orders (id INTEGER, customer INTEGER, amount DECIMAL(10, 2))");
  await open.rows("CREATE TABLE customers (id INTEGER, name VARCHAR)");
  await open.rows("CREATE TABLE refunds (order_id INTEGER, amount DECIMAL(10, 2))");
  await open.rows("INSERT INTO customers SELECT range, 'customer ' || range FROM range(40)");
  await open.rows("INSERT INTO orders SELECT range, range % 40, range FROM range(400)");
  await lake.define([
    {
      name: "spent",
      sql: "SELECT c.name, sum(o.amount) AS amount, count(*) AS orders FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.name",
      primaryKey: ["name"],
      refresh: "incremental",
    },
    { name: "big", sql: "SELECT * FROM spent WHERE amount > 5000" },
    {
      name: HOSTILE,
      sql: `SELECT id, '</code></script><script>window.hacked = 1</script>' AS "<b>&amp;" FROM orders WHERE customer = 1`,
    },
    { name: "refunded", sql: "SELECT count(*) AS n FROM refunds", refresh: "incremental" },
    {
      name: "places",
      sql: "SELECT * FROM (SELECT row_number() OVER (ORDER BY id) AS place, name FROM customers) WHERE place < 30",
    },
  ]);
  await lake.refresh();
  await lake.addConsumer(`mirror "${HOSTILE}"`, "spent", "end");
  for (let round = 1; round <= 3; round++) {
    await open.rows(`INSERT INTO orders SELECT 1000 * ${round} + range, range % 40, 7 FROM range(20)`);
    await lake.refresh();
  }
  await open.rows("ALTER TABLE refunds RENAME TO old_refunds");
  await lake.refresh();
  await lake.refresh();
  await open.rows("INSERT INTO orders VALUES (9999, 1, 1)");
  await open.rows("CALL lake.set_option('expire_older_than', '100 milliseconds')");
  await lake.define([{ name: "never", sql: "SELECT max(id) AS newest FROM orders" }]);
  return lake.overview();
}
