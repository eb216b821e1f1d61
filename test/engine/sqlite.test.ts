/** SQLite catalogs that several processes, or several instances of one, read and write at once. */
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";

/** The version that writers of the file must know, as SQLite's file format has it: 2 where there is a write-ahead log. */
async function writeVersion(file: string): Promise<number | undefined> {
  const handle = await openFile(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, 18);
    return buffer[0];
  } finally {
    await handle.close();
  }
}

test("two instances refresh at once, again and again, and none locks the other out", { timeout: 180_000 }, async () => {
  await using place = await tempLake({ catalog: "sqlite", data: "folder" });
  const config = { ...place.config, retryForMs: 20_000 };
  await using one = await open(config);
  await using other = await open(config);
  const writer = await one.connect();
  await writer.run("CREATE TABLE t AS SELECT 1 AS v");
  await one.define([{ name: "sums", sql: "SELECT sum(v) AS s FROM t" }]);
  await one.refresh();
  for (let round = 1; round <= 6; round += 1) {
    await writer.run(`INSERT INTO t VALUES (${round})`);
    const results = await Promise.all([one.refresh(), other.refresh()]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["refreshed", "unchanged"]);
  }
  const sums = await writer.runAndReadAll("SELECT s::INTEGER FROM sums");
  expect(sums.getRowsJS()).toEqual([[22]]);
  writer.closeSync();
});

test("a catalog that is written to has a write-ahead log; one that is only read stays as it was", async () => {
  await using place = await tempLake({ catalog: "sqlite", data: "folder" });
  const file = join(place.folder, "catalog.sqlite");
  await (await open(place.config)).close();
  expect(await writeVersion(file)).toBe(2);
  const handle = await openFile(file, "r+");
  // As a program that knows nothing of it would have left it.
  await handle.write(Buffer.from([1, 1]), 0, 2, 18);
  await handle.close();
  await (await open(place.config, { readOnly: true })).close();
  expect(await writeVersion(file)).toBe(1);
  await (await open(place.config)).close();
  expect(await writeVersion(file)).toBe(2);
});
