/** A shop's lake: tables, views of every kind that is kept incrementally, and a history of changes. */

import type { Strategy, ViewDefinition } from "../../src/index.js";

export const TABLES: readonly string[] = [
  "CREATE TABLE customers (id INTEGER, name VARCHAR, region VARCHAR, vip BOOLEAN)",
  "CREATE TABLE products (id INTEGER, title VARCHAR, price DECIMAL(10, 2), tags VARCHAR[])",
  "CREATE TABLE orders (id BIGINT, customer INTEGER, placed DATE, status VARCHAR)",
  "CREATE TABLE items (order_id BIGINT, product INTEGER, qty INTEGER, discount DOUBLE)",
  "CREATE TABLE returns (order_id BIGINT, reason VARCHAR)",
  "INSERT INTO customers SELECT i, 'customer ' || i, ['north', 'south', 'east', NULL][i % 4 + 1], i % 3 = 0 FROM range(40) r(i)",
  "INSERT INTO products SELECT i, 'product ' || i % 9, i * 1.25, ['a', 'b' || i % 3] FROM range(12) r(i)",
  `INSERT INTO orders SELECT i, CASE WHEN i % 17 = 0 THEN NULL ELSE i % 35 END, DATE '2024-01-01' + (i % 90)::INTEGER,
     ['new', 'paid', 'sent'][i % 3 + 1] FROM range(300) r(i)`,
  "INSERT INTO items SELECT i % 300, i % 12, i % 5 + 1, (i % 7) / 8 FROM range(700) r(i)",
  "INSERT INTO items SELECT i % 300, i % 12, i % 5 + 1, (i % 7) / 8 FROM range(40) r(i)",
  "INSERT INTO returns SELECT i * 7, CASE i % 4 WHEN 0 THEN NULL ELSE 'reason ' || i % 4 END FROM range(20) r(i)",
];

export const VIEWS: readonly ViewDefinition[] = [
  {
    name: "order_lines",
    sql: `SELECT o.id AS order_id, c.id AS customer, c.region, p.title, i.qty, i.qty * p.price AS total
          FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON i.order_id = o.id
          JOIN products p ON p.id = i.product WHERE o.status <> 'void'`,
  },
  {
    name: "by_region",
    sql: `SELECT c.region, count(*) AS lines, sum(i.qty * p.price) AS revenue, avg(i.qty) AS average, count(DISTINCT p.id) AS products
          FROM customers c, orders o, items i, products p
          WHERE c.id = o.customer AND i.order_id = o.id AND p.id = i.product
          GROUP BY c.region HAVING count(*) > 95 OR c.region IS NULL`,
    primaryKey: [],
  },
  {
    name: "extremes",
    sql: `SELECT customer, min(placed) AS first, max(placed) AS last, max(status) AS status,
            count(*) FILTER (WHERE status = 'paid') AS paid, sum(id) AS ids
          FROM orders GROUP BY customer`,
  },
  {
    name: "customers_orders",
    sql: `SELECT c.name, c.vip, o.id AS order_id, r.reason
          FROM customers c LEFT JOIN orders o ON o.customer = c.id AND o.status = 'paid' LEFT JOIN returns r ON r.order_id = o.id`,
  },
  {
    name: "events",
    sql: `SELECT 'order' AS kind, status AS what, customer % 5 AS bucket FROM orders
          UNION ALL SELECT 'return', reason, order_id % 3 FROM returns
          UNION ALL SELECT 'paid', status, 0 FROM orders WHERE status = 'paid'`,
  },
  {
    name: "order_totals",
    sql: "SELECT order_id, customer, sum(total) AS total, count(*) AS lines FROM order_lines GROUP BY order_id, customer",
    primaryKey: ["order_id"],
  },
  {
    name: "customer_totals",
    sql: `SELECT customer, sum(total) AS total, max(total) AS largest, count(*) AS orders FROM order_totals
          GROUP BY customer HAVING count(*) > 1`,
    primaryKey: ["customer"],
  },
  {
    name: "diamond",
    sql: `SELECT c.region, t.total, t.orders, e.paid, e.last FROM customer_totals t JOIN customers c ON c.id = t.customer
          LEFT JOIN extremes e ON e.customer IS NOT DISTINCT FROM c.id`,
  },
  {
    name: "best_products",
    sql: "SELECT title, sum(qty) AS sold FROM order_lines GROUP BY title ORDER BY sold DESC, title LIMIT 3",
  },
  {
    name: "newest_orders",
    sql: "SELECT id, customer FROM orders ORDER BY id DESC NULLS LAST, customer LIMIT 5",
  },
  {
    name: "idle_customers",
    sql: "SELECT id, name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)",
  },
  {
    name: "whole",
    sql: `WITH t AS (SELECT * FROM items WHERE discount < 0.8)
          SELECT count(*) AS n, sum(a.qty) AS qty, min(a.discount) AS low, count(b.product) AS pairs
          FROM t a JOIN (SELECT DISTINCT product FROM t WHERE qty > 4) b ON a.product = b.product`,
  },
];

export interface Step {
  readonly what: string;
  /** Each a transaction of its own; those of one statement are committed by themselves. */
  readonly transactions: readonly (readonly string[])[];
  /** The strategy of some views; null where nothing is to be done. */
  readonly expected: Readonly<Record<string, Strategy | null>>;
}

const ALL_MOVE = { order_lines: "incremental", best_products: "incremental", diamond: "incremental" } as const;
const NONE_MOVES = Object.fromEntries(VIEWS.map(({ name }) => [name, null]));

/** What happens between two refreshes. `LAKE` stands for the lake's name on the writer's connection. */
export const HISTORY: readonly Step[] = [
  {
    what: "small writes, which stay in the catalog",
    expected: ALL_MOVE,
    transactions: [
      ["INSERT INTO orders VALUES (1000, 3, DATE '2024-05-01', 'paid'), (1001, NULL, NULL, NULL)"],
      ["INSERT INTO items VALUES (1000, 3, 7, 0.5), (1000, 3, 7, 0.5), (1001, 1, 1, NULL)"],
      ["UPDATE products SET price = price + 1 WHERE id = 3"],
      ["DELETE FROM returns WHERE order_id = 14"],
    ],
  },
  {
    what: "large writes, which become files",
    expected: ALL_MOVE,
    transactions: [
      ["INSERT INTO items SELECT i % 300, i % 12, 2, 0.25 FROM range(400) r(i)"],
      ["UPDATE orders SET status = 'sent' WHERE id % 4 = 1"],
      ["DELETE FROM items WHERE product = 7"],
    ],
  },
  {
    what: "several statements a transaction, on the same rows",
    expected: ALL_MOVE,
    transactions: [
      [
        "UPDATE orders SET status = 'void' WHERE id < 20",
        "DELETE FROM orders WHERE id BETWEEN 10 AND 30",
        "INSERT INTO orders SELECT i, 1, DATE '2023-12-31', 'paid' FROM range(10, 15) r(i)",
      ],
      ["DELETE FROM customers WHERE id % 4 = 3", "INSERT INTO customers VALUES (3, 'back again', 'south', NULL)"],
      ["INSERT INTO returns VALUES (NULL, 'gone')", "DELETE FROM returns WHERE reason = 'gone'"],
    ],
  },
  {
    what: "maintenance around changes",
    expected: ALL_MOVE,
    transactions: [
      ["CALL ducklake_flush_inlined_data(LAKE)"],
      ["UPDATE customers SET region = 'west' WHERE id < 6"],
      ["CALL ducklake_merge_adjacent_files(LAKE)"],
      ["DELETE FROM items WHERE qty = 5"],
      ["CALL ducklake_rewrite_data_files(LAKE, delete_threshold => 0)"],
      ["INSERT INTO items VALUES (250, 2, 9, 0.0), (250, 2, 9, 0.0)"],
    ],
  },
  {
    what: "only maintenance",
    expected: NONE_MOVES,
    transactions: [["CALL ducklake_flush_inlined_data(LAKE)"], ["CALL ducklake_merge_adjacent_files(LAKE)"]],
  },
  {
    what: "a table emptied and filled again, another one emptied",
    expected: ALL_MOVE,
    transactions: [
      ["DELETE FROM products WHERE id < 6", "DELETE FROM products WHERE id >= 6"],
      ["INSERT INTO products SELECT i, 'again ' || i % 4, i * 2, NULL FROM range(2, 12) r(i)"],
      ["DELETE FROM returns"],
    ],
  },
  {
    what: "changes that cancel out",
    expected: { whole: null, events: "incremental" },
    transactions: [
      ["UPDATE orders SET status = upper(status)"],
      ["UPDATE orders SET status = lower(status)"],
      ["INSERT INTO customers VALUES (77, 'short', 'east', true)"],
      ["DELETE FROM customers WHERE id = 77"],
    ],
  },
];
