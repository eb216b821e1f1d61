/** `npm run picture`: docs/report-light.png and -dark.png, the report of a shop's lake in a browser. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findChromium, launchChromium } from "../infra/chromium.mjs";
import { prepare, ROOT, run } from "./prepare.mjs";

const SIZE = { width: 1180, height: 1120 };
const ORDERS = 5_000_000;
const CUSTOMERS = 100_000;
const PRODUCTS = 2_000;
const ROUNDS = 12;

const CONFIG = `lake:
  catalog: shop.ducklake
  data_path: shop_files
log:
  path: shop_log
`;

const VIEWS = {
  daily_sales: `SELECT day, region, count(*) AS orders, sum(amount) AS sales
FROM orders JOIN customers USING (customer_id)
GROUP BY day, region`,
  monthly_sales: `SELECT date_trunc('month', day) AS month, region, sum(orders) AS orders, sum(sales) AS sales
FROM daily_sales
GROUP BY ALL`,
  customer_value: `SELECT customer_id, name, count(*) AS orders, sum(amount) AS spent, max(day) AS last_order
FROM orders JOIN customers USING (customer_id)
GROUP BY customer_id, name`,
  product_margin: `SELECT category, count(*) AS orders, sum(amount - cost) AS margin
FROM orders JOIN products USING (product_id)
GROUP BY category`,
  best_customers: `SELECT customer_id, name, spent
FROM customer_value
ORDER BY spent DESC, customer_id
LIMIT 100`,
};

const TABLES = [
  `CREATE TABLE customers AS SELECT range AS customer_id, 'Customer ' || range AS name,
     ['north', 'south', 'east', 'west'][1 + range % 4] AS region FROM range(${CUSTOMERS})`,
  `CREATE TABLE products AS SELECT range AS product_id, 'category ' || range % 40 AS category,
     CAST(1 + range % 60 AS DECIMAL(9, 2)) AS cost FROM range(${PRODUCTS})`,
  `CREATE TABLE orders AS ${orders(0, ORDERS)}`,
];

function orders(first, count) {
  return `SELECT order_id, hash(order_id) % ${CUSTOMERS} AS customer_id, hash(order_id, 1) % ${PRODUCTS} AS product_id,
      DATE '2026-01-01' + CAST(order_id // 20000 AS INTEGER) AS day, CAST(5 + hash(order_id, 2) % 20000 / 100 AS DECIMAL(9, 2)) AS amount
    FROM (SELECT ${first} + range AS order_id FROM range(${count}))`;
}

/** What a shop does between two refreshes: orders come, some of the newest are corrected, few are taken back. */
function changes(round) {
  const first = ORDERS + round * 1000;
  return [
    `INSERT INTO orders ${orders(first, 1000)}`,
    `UPDATE orders SET amount = amount + 1 WHERE order_id BETWEEN ${first - 400} AND ${first - 300}`,
    `DELETE FROM orders WHERE order_id BETWEEN ${first - 200} AND ${first - 180}`,
    ...(round % 4 === 3 ? [`UPDATE products SET cost = cost + 1 WHERE product_id = ${round}`] : []),
  ];
}

async function makeLake(project) {
  const { loadProject } = await import("../dist/project/load.js");
  const { open } = await import("../dist/index.js");
  const { lake: config, views } = await loadProject(project, {});
  const lake = await open(config);
  try {
    const connection = await lake.connect();
    for (const statement of TABLES) await connection.run(statement);
    await lake.define(views);
    for (let round = 0; round <= ROUNDS; round += 1) {
      if (round > 0) for (const statement of changes(round)) await connection.run(statement);
      await lake.refresh();
    }
    await lake.addConsumer("mailing", "best_customers", "end");
    connection.closeSync();
  } finally {
    await lake.close();
  }
}

async function takePictures(page) {
  const { browser, close } = await launchChromium(await findChromium());
  try {
    for (const colorScheme of ["light", "dark"]) {
      const tab = await browser.newPage({ viewport: SIZE, colorScheme });
      await tab.goto(pathToFileURL(page).href);
      await tab.screenshot({ path: join(ROOT, `docs/report-${colorScheme}.png`) });
    }
  } finally {
    await close();
  }
}

await prepare();
const folder = await mkdtemp(join(tmpdir(), "ducklake-ivm-picture-"));
try {
  await mkdir(join(folder, "views"));
  await writeFile(join(folder, "ducklake-ivm.yaml"), CONFIG);
  for (const [name, sql] of Object.entries(VIEWS)) await writeFile(join(folder, "views", `${name}.sql`), `${sql}\n`);
  await makeLake(folder);
  const page = join(folder, "report.html");
  const words = ["report", "--project-dir", folder, "--out", page, "--title", "shop"];
  const code = await run(process.execPath, [join(ROOT, "dist/cli/main.js"), ...words]);
  if (code !== 0) throw new Error(`report ended with ${code}`);
  await takePictures(page);
} finally {
  await rm(folder, { recursive: true, force: true });
}
