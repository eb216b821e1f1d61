/** Readers that have plain DuckDB and nothing of this project. */

import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { type LakeKind, tempLake } from "../setup/lake.js";
import { PlainReader } from "./plain.js";

export function readerTests(kind: LakeKind): void {
  test("plain DuckDB reads the views under another alias, without helper columns", async () => {
    await using place = await tempLake(kind);
    const lake = await open({ ...place.config, schema: "shown", stateSchema: "kept" });
    const writer = await lake.connect();
    await writer.run("CREATE TABLE t (id INTEGER, v INTEGER)");
    await writer.run("INSERT INTO t SELECT i, i % 3 FROM range(30) r(i)");
    await lake.define([
      { name: "sums", sql: "SELECT v, sum(id) AS s, avg(id) AS a, max(id) AS m FROM t GROUP BY v HAVING count(*) > 9" },
      { name: "over", sql: "SELECT t.id, s.s FROM t LEFT JOIN shown.sums s ON s.v = t.v" },
    ]);
    expect((await lake.refresh()).status).toBe("refreshed");
    await writer.run("INSERT INTO t VALUES (50, 1)");
    expect((await lake.refresh()).status).toBe("refreshed");
    writer.closeSync();
    await lake.close();

    await using reader = await PlainReader.attach(place.config, 'any "alias"');
    await reader.connection.run("USE memory");
    const path = '"any ""alias""".shown';
    const rows = await reader.connection.runAndReadAll(`SELECT * FROM ${path}.sums ORDER BY v`);
    expect(rows.columnNames()).toEqual(["v", "s", "a", "m"]);
    expect(rows.getRowsJS()).toEqual([
      [0, 135n, 13.5, 27],
      [1, 195n, 195 / 11, 50],
      [2, 155n, 15.5, 29],
    ]);
    const joined = await reader.connection.runAndReadAll(`SELECT count(*), sum(s)::BIGINT FROM ${path}.over`);
    expect(joined.getRowsJS()).toEqual([[31n, 135n * 10n + 195n * 11n + 155n * 10n]]);
  });
}
