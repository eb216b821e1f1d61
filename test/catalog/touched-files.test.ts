import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChangeHistory } from "../../src/catalog/change-history.js";
import { WEIGHT } from "../../src/catalog/consolidate.js";
import { loadSourceDelta, type SourceDelta } from "../../src/catalog/source-delta.js";
import { tableAt } from "../../src/catalog/tables.js";
import { inspectWindow } from "../../src/catalog/window.js";
import { quoteIdentifier } from "../../src/sql/quote.js";
import { CatalogLake } from "./lake.js";

let lake: CatalogLake;
beforeAll(async () => {
  lake = await CatalogLake.open();
});
afterAll(() => lake[Symbol.asyncDispose]());

type Method = "files" | "feed" | "difference";
const COLUMNS = ["id", "value"];

interface Loaded {
  /** The way that the metadata leaves open. */
  readonly open: Method;
  readonly delta: SourceDelta;
  readonly rows: readonly string[];
}

/** The delta of a window as it would be read, or by one method; null where there is nothing to read. */
async function load(table: string, from: bigint, to: bigint, method?: Method): Promise<Loaded | null> {
  const name = { schema: "main", table };
  const form = await tableAt(lake.session, lake.engine, name, to);
  if (form === undefined) throw new Error(`no table ${table}`);
  const window = { table: name, tableId: form.id, from, to, columns: COLUMNS };
  const history = await ChangeHistory.read(lake.session, from, to);
  const state = await inspectWindow(lake.session, lake.engine, history, { ...window, tableUuid: form.uuid });
  if (state.kind !== "changed") return null;
  const { reason, inlined } = state;
  const request = { ...window, method: method ?? state.method, reason, inlined, target: "delta_of_test" };
  const delta = await loadSourceDelta(lake.session, lake.engine, request);
  const list = [...COLUMNS, WEIGHT].map(quoteIdentifier).join(", ");
  const rows = await lake.session.rows<{ row: string }>(
    `SELECT concat_ws(' ', ${list}) AS row FROM temp.delta_of_test ORDER BY row`,
  );
  return { open: state.method, delta, rows: rows.map(({ row }) => row) };
}

/** A generator of numbers, the same for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** One statement of a history; rows come few, so that the catalog keeps them, or many, so that files do. */
function statement(table: string, pick: (below: number) => number): string {
  const few = pick(2) === 0;
  const [low, size] = [pick(400), few ? 1 + pick(4) : 20 + pick(150)];
  const range = `id BETWEEN ${low} AND ${low + size}`;
  const kinds = [
    `INSERT INTO ${table} (id, value) SELECT ${low} + i, i % 5 FROM range(${size}) r(i)`,
    `INSERT INTO ${table} (id, value) VALUES (${low}, NULL), (NULL, ${size})`,
    `DELETE FROM ${table} WHERE ${range}`,
    `DELETE FROM ${table} WHERE value = ${pick(5)} AND id % 7 = ${pick(7)}`,
    `UPDATE ${table} SET value = value + 1 WHERE ${range}`,
    `UPDATE ${table} SET id = id + 1 WHERE value = ${pick(5)} AND id < ${low}`,
    `DELETE FROM ${table} WHERE id >= ${low} AND id % 2 = 0`,
  ];
  return kinds[pick(kinds.length)] ?? "";
}

/** What keeps the rows and moves them elsewhere. */
function maintenance(table: string, pick: (below: number) => number): string {
  const kinds = [
    `CALL ducklake_flush_inlined_data('lake', table_name => '${table}')`,
    `CALL ducklake_merge_adjacent_files('lake', '${table}')`,
    `CALL ducklake_rewrite_data_files('lake', '${table}', delete_threshold => 0.1)`,
    `ALTER TABLE ${table} ADD COLUMN extra${pick(1_000_000)} INTEGER DEFAULT 7`,
  ];
  return kinds[pick(kinds.length)] ?? "";
}

describe("the rows at the places that a window touched", () => {
  const found = { files: 0, other: 0 };

  test.each(Array.from({ length: 12 }, (_, seed) => seed + 1))(
    "are its change, whatever happened before, in and after it (history %i)",
    { timeout: 120_000 },
    async (seed) => {
      const pick = random(seed);
      const table = `random${seed}`;
      await lake.run(`CREATE TABLE ${table} AS SELECT i AS id, i % 5 AS value FROM range(${pick(3) * 150}) r(i)`);
      const ends = [await lake.now()];
      for (let step = 0; step < 14; step += 1) {
        const statements = Array.from({ length: 1 + pick(4) }, () => statement(table, pick));
        const apart = pick(2) === 0;
        await lake.run(...(apart ? statements : ["BEGIN", ...statements, "COMMIT"]));
        ends.push(await lake.now());
        if (pick(5) === 0) await lake.run(maintenance(table, pick));
        if (pick(3) === 0) ends.push(await lake.now());
      }
      const windows = ends.flatMap((from, index) => ends.slice(index + 1).map((to) => ({ from, to })));
      for (const { from, to } of windows.filter((_, index) => (index + seed) % 3 === 0)) {
        const loaded = await load(table, from, to);
        if (loaded === null) continue;
        found[loaded.delta.method === "files" ? "files" : "other"] += 1;
        // Each part must add up by itself, so that no other way has to make up for it.
        if (loaded.open === "files") expect(loaded.delta.method).toBe("files");
        const difference = await load(table, from, to, "difference");
        expect(loaded.rows, `${table}, window (${from}, ${to}]`).toEqual(difference?.rows);
      }
    },
  );

  test("are enough for most windows of such histories", () => {
    expect(found.files).toBeGreaterThan(150);
    expect(found.files).toBeGreaterThan(found.other);
  });
});

test("a delete file of several snapshots that does not hold as many deletes as the catalog says is not believed", async () => {
  await lake.run("CREATE TABLE short AS SELECT i AS id, i % 5 AS value FROM range(1000) r(i)");
  await lake.run("DELETE FROM short WHERE id < 100");
  const from = await lake.now();
  await lake.run("DELETE FROM short WHERE id BETWEEN 100 AND 299");
  const to = await lake.now();
  const count = "ducklake_delete_file SET delete_count = delete_count";
  const where = "WHERE end_snapshot IS NULL AND partial_max IS NOT NULL AND delete_count IN (300, 301)";
  expect((await load("short", from, to))?.delta.method).toBe("files");
  await lake.run(`UPDATE __ducklake_metadata_lake.${count} + 1 ${where}`);
  const doubted = await load("short", from, to);
  expect(doubted?.open).toBe("files");
  expect(doubted?.delta.method).not.toBe("files");
  await lake.run(`UPDATE __ducklake_metadata_lake.${count} - 1 ${where}`);
  expect((await load("short", from, to))?.delta).toMatchObject({ method: "files", rows: 200n });
});
