import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { OpenLake } from "../setup/open-lake.js";

const QUERY = "SELECT customer, total, big, part FROM totals ORDER BY customer DESC NULLS LAST;";

async function start(): Promise<OpenLake> {
  const opened = await OpenLake.start();
  await opened.rows("CREATE TABLE orders (customer VARCHAR, amount DECIMAL(9, 2))");
  await opened.rows("INSERT INTO orders VALUES ('Ada', 1.10), ('Ada', 2.20), ('Bob', 5), (NULL, 7)");
  const sql =
    "SELECT customer, sum(amount) AS total, 9007199254740993 AS big, CASE WHEN customer = 'Bob' THEN 'nan'::DOUBLE ELSE 0.5 END AS part FROM orders GROUP BY 1";
  await opened.lake.define([{ name: "totals", sql }]);
  await opened.lake.refresh();
  return opened;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("a query gives rows as objects with exact types, as JSON, as Arrow and as files", async () => {
  await using opened = await start();
  const { lake } = opened;
  const rows = await lake.query(QUERY);
  expect(rows.columns).toEqual([
    { name: "customer", type: "VARCHAR" },
    { name: "total", type: "DECIMAL(38,2)" },
    { name: "big", type: "BIGINT" },
    { name: "part", type: "DOUBLE" },
  ]);
  const objects = [];
  for await (const row of rows) objects.push({ ...row, total: String(row["total"]) });
  const big = 9007199254740993n;
  expect(objects).toEqual([
    { customer: "Bob", total: "5.00", big, part: Number.NaN },
    { customer: "Ada", total: "3.30", big, part: 0.5 },
    { customer: null, total: "7.00", big, part: 0.5 },
  ]);

  const lines: string[] = [];
  for await (const line of (await lake.query(QUERY)).jsonLines()) lines.push(line);
  expect(lines[0]).toBe('{"customer":"Bob","total":5.00,"big":9007199254740993,"part":"NaN"}');
  expect(lines).toHaveLength(3);

  const chunks: Uint8Array[] = [];
  for await (const chunk of (await lake.query(QUERY)).arrow()) chunks.push(chunk);
  const table = tableFromIPC(chunks);
  expect(table.schema.fields.map(({ name, type }) => [name, String(type)])).toEqual([
    ["customer", "Utf8"],
    ["total", "Decimal[38e+2]"],
    ["big", "Int64"],
    ["part", "Float64"],
  ]);
  expect([...(table.getChild("big") ?? [])]).toEqual([big, big, big]);

  const file = join(opened.folder, "totals.csv");
  expect(await (await lake.query(QUERY)).copyTo(file, "csv")).toBe(3n);
  expect(await readFile(file, "utf8")).toContain("Ada,3.30,9007199254740993,0.5");
});

test("row values keep all their fields, at any depth", async () => {
  await using opened = await start();
  const { lake } = opened;
  const sql = `SELECT (5, 'x', NULL) AS q, [(1, 12345678901234567890.1234567890)] AS l, {'a': (1e0, ('y', 'nan'::DOUBLE))} AS s, MAP {(1, 2): (3, 4)} AS m,
    array_value((1, 2), NULL) AS a, CASE WHEN customer = 'Ada' THEN (1, 2) END AS n, union_value(u := (1, 2)) AS u, customer
    FROM totals WHERE customer IS NOT NULL ORDER BY customer`;
  const json = await all((await lake.query(sql)).jsonLines());
  const always =
    '"q":{"1":5,"2":"x","3":null},"l":[{"1":1,"2":12345678901234567890.1234567890}],"s":{"a":{"1":1.0,"2":{"1":"y","2":"NaN"}}},"m":{"(1, 2)":{"1":3,"2":4}},"a":[{"1":1,"2":2},null]';
  expect(json).toEqual([
    `{${always},"n":{"1":1,"2":2},"u":"(1, 2)","customer":"Ada"}`,
    `{${always},"n":null,"u":"(1, 2)","customer":"Bob"}`,
  ]);
  const [ada, bob] = (await all(await lake.query(sql))).map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])),
  );
  expect(ada).toEqual({
    q: "{'1': 5, '2': 'x', '3': NULL}",
    l: "[{'1': 1, '2': 12345678901234567890.1234567890}]",
    s: "{'a': {'1': 1, '2': {'1': 'y', '2': NaN}}}",
    m: "{{'1': 1, '2': 2}: {'1': 3, '2': 4}}",
    a: "[{'1': 1, '2': 2}, NULL]",
    n: "{'1': 1, '2': 2}",
    u: "(1, 2)",
    customer: "Ada",
  });
  expect(bob?.["n"]).toBe("null");
});

test("columns of one name are told apart, and old states are read", async () => {
  await using opened = await start();
  const { lake } = opened;
  const rows = await lake.query(
    "SELECT a.customer, b.customer FROM orders a JOIN orders b USING (amount) WHERE amount = 5",
  );
  const [row] = await all(rows);
  expect(Object.values(row ?? {})).toEqual(["Bob", "Bob"]);
  expect(Object.keys(row ?? {})).toHaveLength(2);
  const [{ snapshot }] = (await all(await lake.query("SELECT max(snapshot_id) AS snapshot FROM lake.snapshots()"))) as [
    { snapshot: bigint },
  ];
  await opened.rows("DELETE FROM orders");
  const old = await lake.query(`SELECT count(*) AS n FROM orders AT (VERSION => ${snapshot})`);
  expect(await all(old)).toEqual([{ n: 4n }]);
});

test("a view is read by its name, a limit holds, and macros of the lake are as good as its views", async () => {
  await using opened = await start();
  const { lake } = opened;
  await opened.rows("CREATE MACRO above(least) AS TABLE SELECT customer FROM orders WHERE amount > least");
  const of = async (query: string, options = {}): Promise<unknown[]> =>
    (await all(await lake.query(query, options))).map(({ customer }) => customer);
  expect((await of("Totals")).length).toBe(3);
  expect(await of("SELECT customer FROM totals ORDER BY customer DESC NULLS LAST", { limit: 1 })).toEqual(["Bob"]);
  expect(await of("SELECT customer FROM above(4) ORDER BY ALL", { view: "totals" })).toEqual(["Bob", null]);
  await lake.define([
    { name: "totals", sql: "SELECT customer, sum(amount) AS total FROM orders GROUP BY 1" },
    { name: "later", sql: "FROM totals" },
  ]);
  await expect(lake.query("later")).rejects.toMatchObject({ code: "not_built" });
  await expect(lake.query("FROM orders", { view: "later" })).rejects.toMatchObject({ code: "not_built" });
  await expect(lake.query("total")).rejects.toMatchObject({
    code: "view_unknown",
    hint: expect.stringContaining('"totals"'),
  });
});

test("nothing but one SELECT is run, and an abort ends it", async () => {
  await using opened = await start();
  const { lake } = opened;
  for (const sql of [
    "DROP TABLE orders",
    "SELECT 1; SELECT 2",
    "",
    "total s",
    "SELEC 1",
    "INSERT INTO orders VALUES ('x', 1)",
  ]) {
    await expect(lake.query(sql), sql).rejects.toMatchObject({ code: "query_invalid" });
  }
  await expect(lake.query("SELECT nothing FROM orders")).rejects.toMatchObject({ code: "engine_error" });
  expect(await opened.rows("SELECT count(*) FROM orders")).toEqual([[4n]]);
  for (const name of ["ducklake_cleanup_old_files('lake', cleanup_all => true)", "query('SELECT 1')", "checkpoint()"]) {
    const sql = `SELECT * FROM orders WHERE EXISTS (FROM ${name})`;
    await expect(lake.query(sql), sql).rejects.toMatchObject({
      code: "query_invalid",
      message: `The table function ${name.replace(/\(.*/, "")} is not known to read only.`,
    });
  }
  const controller = new AbortController();
  const endless = await lake.query(
    "SELECT count(*) FROM range(100000) a, range(100000) b, range(100) c WHERE a.range * b.range % 7 = c.range",
    { signal: controller.signal },
  );
  setTimeout(() => controller.abort(), 300);
  await expect(all(endless)).rejects.toMatchObject({ code: "interrupted" });
});
