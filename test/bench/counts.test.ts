/**
 * What refreshes cost, in numbers that no machine changes: terms, statements, questions to the catalog, files and row
 * groups. `counts.json` has the expected ones with their reasons; `IVM_WRITE_COUNTS=1` writes it anew. A number that grows
 * is work that somebody waits for.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import type { RefreshResult, ViewDefinition } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";
import { Counter, type Counts } from "./counts.js";

interface Work extends Counts {
  /** Terms that ran and terms that there are, of each view that was refreshed. */
  readonly terms: string;
}

interface Expected extends Work {
  readonly why: string;
}

const FILE = new URL("counts.json", import.meta.url);
const expected = JSON.parse(readFileSync(FILE, "utf8")) as Record<string, Expected>;
const found: Record<string, Expected> = {};

interface Scene {
  readonly name: string;
  readonly tables: readonly string[];
  readonly views: readonly ViewDefinition[];
  readonly change: readonly string[];
}

const GROUPED = "SELECT g, sum(v) AS s, count(*) AS n FROM t GROUP BY g";
// In one file of five row groups, of 122,880 rows each.
const LARGE =
  "CREATE TABLE t AS SELECT i AS id, (hash(i) % 1000)::BIGINT AS a, i % 77 AS b, i % 13 AS c FROM range(600000) r(i)";
const STAR = [
  `CREATE TABLE items AS SELECT i AS id, (hash(i * 7 + 1) % 2000)::BIGINT AS order_id, (hash(i * 13 + 1) % 500)::INTEGER AS product_id,
    (1 + hash(i * 17) % 9)::INTEGER AS qty, ((hash(i * 19) % 100000) / 100.0)::DECIMAL(12, 2) AS price FROM range(250000) r(i)`,
  "CREATE TABLE orders AS SELECT i AS order_id, 'r' || (hash(i * 23) % 20) AS region FROM range(2000) r(i)",
  "CREATE TABLE products AS SELECT i::INTEGER AS product_id, 'cat' || (hash(i * 31) % 50) AS category FROM range(500) r(i)",
];
const BY_CATEGORY = {
  name: "by_category",
  sql: `SELECT p.category, o.region, sum(i.qty * i.price) AS amount, count(*) AS n, avg(i.price) AS avg_price
    FROM items i JOIN orders o ON i.order_id = o.order_id JOIN products p ON i.product_id = p.product_id GROUP BY p.category, o.region`,
};
const SIDES = ["a", "b", "c", "d", "e"];
const GROUPS = {
  tables: ["CREATE TABLE t AS SELECT i % 300000 AS g, i AS v FROM range(400000) r(i)"],
  views: [{ name: "v", sql: GROUPED }],
};

const SCENES: readonly Scene[] = [
  ...[1, 100].map((count) => ({
    name: `nothing changed, ${count} view${count === 1 ? "" : "s"}`,
    tables: ["CREATE TABLE t AS SELECT i AS id, i % 100 AS g, i % 7 AS v FROM range(1000) r(i)"],
    views: Array.from({ length: count }, (_, index) => ({
      name: `v${index}`,
      sql: `${GROUPED} HAVING count(*) > ${index}`,
    })),
    change: [],
  })),
  ...[
    ["clustered", "id BETWEEN 200000 AND 200616"],
    ["scattered", "id % 973 = 0"],
  ].map(([kind, gone]) => ({
    name: `617 deletes and 894 inserts, ${kind}`,
    tables: [LARGE],
    views: [{ name: "v", sql: "SELECT c, sum(a) AS s FROM t GROUP BY c" }],
    change: [
      "BEGIN",
      `DELETE FROM t WHERE ${gone}`,
      "INSERT INTO t SELECT 600000 + i, 1, 2, 3 FROM range(894) r(i)",
      "COMMIT",
    ],
  })),
  ...[
    ["inserts", "INSERT INTO items SELECT 250000 + i, i, i, 2, 9.99 FROM range(25) r(i)"],
    ["an update, clustered", "UPDATE items SET qty = qty % 9 + 1 WHERE id < 25"],
    ["an update, scattered", "UPDATE items SET qty = qty % 9 + 1 WHERE id % 10000 = 7"],
    ["ten products, which the catalog keeps", "UPDATE products SET category = 'moved' WHERE product_id < 10"],
    ["fifty products", "UPDATE products SET category = 'moved' WHERE product_id < 50"],
  ].map(([kind, change = ""]) => ({
    name: `a join of three tables, ${kind}`,
    tables: STAR,
    views: [BY_CATEGORY],
    change: [change],
  })),
  {
    name: "a star of six tables, all changed",
    tables: [
      `CREATE TABLE facts AS SELECT i AS id, ${SIDES.map((side, n) => `(hash(i * ${n + 3}) % 200)::INTEGER AS ${side}`).join(", ")}, i % 100 AS v FROM range(50000) r(i)`,
      ...SIDES.map((side) => `CREATE TABLE d${side} AS SELECT i::INTEGER AS ${side}, i % 9 AS x FROM range(200) r(i)`),
    ],
    views: [
      {
        name: "star",
        sql: `SELECT da.x, sum(v * db.x + dc.x - dd.x * de.x) AS s, count(*) AS n FROM facts ${SIDES.map((side) => `JOIN d${side} USING (${side})`).join(" ")} GROUP BY da.x`,
      },
    ],
    change: [
      "INSERT INTO facts SELECT 50000 + i, 1, 2, 3, 4, 5, 6 FROM range(20) r(i)",
      ...SIDES.map((side) => `UPDATE d${side} SET x = x + 1 WHERE ${side} < 20`),
    ],
  },
  {
    name: "a chain of four views",
    tables: ["CREATE TABLE t AS SELECT i AS id, i % 1000 AS g, i % 7 AS v FROM range(50000) r(i)"],
    views: [
      { name: "v1", sql: "SELECT id, g, v FROM t WHERE v < 6" },
      { name: "v2", sql: "SELECT g, sum(v) AS s, count(*) AS n FROM v1 GROUP BY g" },
      { name: "v3", sql: "SELECT s % 10 AS k, count(*) AS groups, sum(n) AS n FROM v2 GROUP BY s % 10" },
      { name: "v4", sql: "SELECT sum(groups) AS groups, sum(n) AS n FROM v3" },
    ],
    change: ["UPDATE t SET v = (v + 1) % 7 WHERE id < 50"],
  },
  {
    ...GROUPS,
    name: "many groups, a hundred neighbours changed",
    change: ["INSERT INTO t SELECT 200000 + i, 1 FROM range(100) r(i)"],
  },
  {
    ...GROUPS,
    name: "many groups, a hundred changed all over",
    change: ["INSERT INTO t SELECT i * 2999, 1 FROM range(100) r(i)"],
  },
];

/** On one thread: the order of the rows in files depends on the order of work. */
async function measure({ tables, views, change }: Scene): Promise<Work> {
  using counter = new Counter();
  await using place = await OpenLake.start({ engine: { threads: 1 } });
  const { lake, connection, folder } = place;
  const refresh = async (): Promise<RefreshResult> => {
    const result = await lake.refresh();
    expect(result.views.map(({ error }) => error)).toEqual(views.map(() => null));
    return result;
  };
  for (const table of tables) await connection.run(table);
  await lake.define(views.map((view) => ({ refresh: "incremental" as const, ...view })));
  await refresh();
  // The first refresh may have left something to settle.
  await refresh();
  for (const statement of change) await connection.run(statement);
  let terms = "";
  const counts = await counter.count(connection, folder, async () => {
    const refreshed = (await refresh()).views.filter(({ status }) => status === "refreshed");
    terms = refreshed.map(({ terms: { run, total } }) => `${run} of ${total}`).join(", ");
  });
  return { terms, ...counts };
}

test.each(SCENES)("$name", { timeout: 300_000 }, async (scene) => {
  const work = await measure(scene);
  const why = expected[scene.name]?.why ?? "";
  found[scene.name] = { why, ...work };
  if (process.env["IVM_WRITE_COUNTS"] === undefined) expect({ why, ...work }).toEqual(expected[scene.name]);
});

test("every expected number is looked at", () => {
  expect(Object.keys(expected)).toEqual(SCENES.map(({ name }) => name));
  for (const [name, { why }] of Object.entries(expected)) expect(why, name).not.toBe("");
});

afterAll(() => {
  if (process.env["IVM_WRITE_COUNTS"] !== undefined) writeFileSync(FILE, `${JSON.stringify(found, null, 2)}\n`);
});
