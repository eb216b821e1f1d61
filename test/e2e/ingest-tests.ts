/** Appends and merges on every kind of lake. */

import { join } from "node:path";
import { expect, test } from "vitest";
import { quoteLiteral } from "../../src/sql/quote.js";
import { TYPES } from "../ingest/values.js";
import { viewOf, type World } from "./world.js";

export function ingestTests(world: () => World): void {
  test("merges, appends and other writers' changes reach the views as they are", async () => {
    const w = world();
    await w.sql(
      "CREATE TABLE stock (shop INTEGER, product VARCHAR, pieces INTEGER)",
      "CREATE TABLE sales (id INTEGER, product VARCHAR, pieces INTEGER)",
    );
    const stock = (day: number) =>
      `SELECT i % 4 AS shop, 'p' || i // 4 AS product, (i * 7 + CASE WHEN i % 13 = ${day} THEN ${day} ELSE 0 END) % 50 AS pieces
       FROM range(${day * 3}, ${200 + day * 5}) r(i)`;
    const sales = (day: number) =>
      `SELECT i AS id, 'p' || i % 60 AS product, i % 5 + 1 AS pieces FROM range(${day * 20}) r(i)`;
    const merge = (day: number) => w.lake.merge("stock", stock(day), { key: ["shop", "product"], deleteMissing: true });
    await merge(0);
    await w.build({
      by_product: "SELECT product, sum(pieces) AS pieces, count(*) AS shops FROM stock GROUP BY product",
      sold: "SELECT stock.shop, sales.id, sales.pieces FROM sales JOIN stock ON sales.product = stock.product AND stock.pieces > 10",
      unsold:
        "SELECT shop, product FROM stock WHERE NOT EXISTS (SELECT 1 FROM sales WHERE sales.product = stock.product)",
    });
    for (let day = 1; day <= 3; day++) {
      const merged = await merge(day);
      expect(merged.rows.inserted).toBe(5n);
      expect(merged.rows.deleted).toBe(3n);
      const file = await fileOf(w, sales(day), `sales-${day}`);
      expect((await w.lake.append("sales", file, { key: ["id"] })).rows).toMatchObject({ inserted: 20n });
      await w.sql(`UPDATE stock SET pieces = pieces + 1 WHERE product = 'p${day + 20}'`);
      const result = await w.refresh();
      for (const view of result.views) {
        expect(view).toMatchObject({ strategy: "incremental", reason: null });
        for (const source of view.sources.filter(({ changed }) => changed)) expect(source.delta).toBe("files");
      }
      // What the other writer did is undone where the state says otherwise, and nothing else is written.
      expect((await merge(day)).rows).toMatchObject({ inserted: 0n, deleted: 0n, updated: 4n });
      expect(viewOf(await w.refresh(), "by_product").rows).toEqual({ inserted: 1n, deleted: 1n });
      const before = await w.snapshot();
      expect((await merge(day)).status).toBe("unchanged");
      expect((await w.lake.append("sales", file, { key: ["id"] })).status).toBe("unchanged");
      expect(await w.snapshot()).toBe(before);
    }
    await w.verify();
  });

  test("values of every type are found again, in the catalog and in files", async () => {
    const w = world();
    const columns = TYPES.map(({ type }, index) => `c${index} ${type}`).join(", ");
    const longest = Math.max(...TYPES.map(({ values }) => values.length));
    const rows = Array.from({ length: longest + 1 }, (_, row) => {
      const values = TYPES.map(({ type, values }, index) => `CAST(${values[row] ?? "NULL"} AS ${type}) AS c${index}`);
      return `SELECT ${row} AS k, ${values.join(", ")}`;
    });
    const input = rows.join(" UNION ALL ");
    for (const inlining of [1000, 0]) {
      await w.sql(
        "DROP TABLE IF EXISTS every_type",
        `CREATE TABLE every_type (k INTEGER, ${columns})`,
        `CALL ducklake_set_option(${quoteLiteral(w.alias)}, 'data_inlining_row_limit', ${inlining}, table_name => 'every_type')`,
      );
      const first = await w.lake.merge("every_type", input, { key: ["k"] });
      expect(first.rows.inserted).toBe(BigInt(rows.length));
      expect(await w.lake.merge("every_type", input, { key: ["k"], deleteMissing: true })).toMatchObject({
        status: "unchanged",
      });
      await w.sql(`CALL ducklake_flush_inlined_data(${quoteLiteral(w.alias)}, table_name => 'every_type')`);
      expect(await w.lake.append("every_type", input, { key: ["k"] })).toMatchObject({ status: "unchanged" });
    }
  });
}

/** A Parquet file beside the lake's own data. */
async function fileOf(world: World, query: string, name: string): Promise<string> {
  const root = world.kind.data === "s3" ? (world.config.dataPath ?? "").replace(/\/$/, "") : world.place.folder;
  const file = world.kind.data === "s3" ? `${root}-${name}.parquet` : join(root, `${name}.parquet`);
  await world.sql(`COPY (${query}) TO ${quoteLiteral(file)} (FORMAT parquet)`);
  return file;
}
