/** Random tables and inputs: the result is the one that rows compared one by one would give. */

import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { quoteLiteral } from "../../src/sql/quote.js";
import type { IngestSource } from "../../src/types.js";
import { Scene } from "../hazards/scene.js";
import { KEY_TYPES, TYPES, type ValueType } from "./values.js";

/** A row: for each column the place of its value among those of the type; -1 for NULL. */
type Row = readonly number[];

interface Case {
  readonly key: readonly ValueType[];
  readonly columns: readonly ValueType[];
  readonly table: readonly Row[];
  readonly input: readonly Row[];
  readonly deleteMissing: boolean;
  readonly source: "query" | "parquet" | "csv" | "json";
  /** Rows of more than so few go into files instead of the catalog. */
  readonly inlining: number;
}

const rowsOf = (key: readonly ValueType[], columns: readonly ValueType[]): fc.Arbitrary<Row[]> =>
  fc.uniqueArray(
    fc.tuple(
      ...key.map(({ values }) => fc.nat(values.length - 1)),
      ...columns.map(({ values }) => fc.integer({ min: -1, max: values.length - 1 })),
    ) as fc.Arbitrary<Row>,
    { maxLength: 12, selector: (row) => row.slice(0, key.length).join() },
  );

const SOURCES = ["query", "parquet", "csv", "json"] as const;

const cases: fc.Arbitrary<Case> = fc
  .constantFrom(...SOURCES)
  .chain((source) => {
    const holds = ({ notIn }: ValueType): boolean =>
      (source !== "csv" && source !== "json") || !notIn?.includes(source);
    return fc.record({
      source: fc.constant(source),
      key: fc.array(fc.constantFrom(...KEY_TYPES.filter(holds)), { minLength: 1, maxLength: 2 }),
      columns: fc.array(fc.constantFrom(...TYPES.filter(holds)), { minLength: 1, maxLength: 5 }),
    });
  })
  .chain(({ source, key, columns }) =>
    fc.record({
      key: fc.constant(key),
      columns: fc.constant(columns),
      source: fc.constant(source),
      table: rowsOf(key, columns),
      input: rowsOf(key, columns),
      // Rows that the table has as well, so that some are equal.
      copied: fc.array(fc.nat(11), { maxLength: 6 }),
      deleteMissing: fc.boolean(),
      inlining: fc.constantFrom(0, 5, 100),
    }),
  )
  .map(({ copied, ...rest }) => {
    const same = copied.map((index) => rest.table[index]).filter((row) => row !== undefined);
    const keyOf = (row: Row): string => row.slice(0, rest.key.length).join();
    const input = [...new Map([...rest.input, ...same].map((row) => [keyOf(row), row])).values()];
    // A JSON file without objects has no columns, and is refused.
    return { ...rest, input, source: input.length === 0 && rest.source === "json" ? "query" : rest.source };
  });

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.start();
});
afterAll(() => scene?.[Symbol.asyncDispose]());

test("the result, the counts, the change feed and a second run", { timeout: 300_000 }, async () => {
  let number = 0;
  await fc.assert(
    fc.asyncProperty(cases, async (sample) => {
      await run(sample, `t${number++}`);
    }),
    { numRuns: 18, seed: 20_241, endOnFailure: true },
  );
});

async function run(sample: Case, table: string): Promise<void> {
  const types = [...sample.key, ...sample.columns];
  const key = sample.key.map((_, index) => `c${index}`);
  const relation = (rows: readonly Row[]): string => {
    const list = types.map(({ type }, index) => `CAST(c${index} AS ${type}) AS c${index}`).join(", ");
    // One branch a row: in VALUES all values of a column would have to be of one type.
    const branches = rows.map(
      (row) =>
        `SELECT ${types.map(({ type, values }, index) => `CAST(${values[row[index] ?? -1] ?? "NULL"} AS ${type}) AS c${index}`).join(", ")}`,
    );
    const none = `SELECT ${types.map(({ type }, index) => `CAST(NULL AS ${type}) AS c${index}`).join(", ")} WHERE false`;
    return `SELECT ${list} FROM (${[...branches, none].join(" UNION ALL ")})`;
  };
  await scene.sql(
    `CREATE TABLE ${table} (${types.map(({ type }, index) => `c${index} ${type}`).join(", ")})`,
    `CALL lake.set_option('data_inlining_row_limit', ${sample.inlining}, table_name => '${table}')`,
    `INSERT INTO ${table} ${relation(sample.table)}`,
  );
  const source = await sourceOf(sample, relation(sample.input), table);

  const keyOf = (row: Row): string => row.slice(0, sample.key.length).join();
  const before = new Map(sample.table.map((row) => [keyOf(row), row]));
  const after = new Map(sample.deleteMissing ? [] : before);
  for (const row of sample.input) after.set(keyOf(row), row);
  const inserted = sample.input.filter((row) => !before.has(keyOf(row))).length;
  const updated = sample.input.filter((row) => before.has(keyOf(row)) && before.get(keyOf(row))?.join() !== row.join());
  const deleted = before.size + inserted - after.size;

  const from = await scene.snapshot();
  const result = await scene.lake.merge(table, source, { key, deleteMissing: sample.deleteMissing });
  expect(result.rows).toEqual({
    input: BigInt(sample.input.length),
    inserted: BigInt(inserted),
    updated: BigInt(updated.length),
    deleted: BigInt(deleted),
    unchanged: BigInt(sample.input.length - inserted - updated.length),
  });
  const expected = await scene.rows(`(${relation([...after.values()])})`);
  expect(await scene.rows(table)).toEqual(expected);
  if (result.snapshot === null) {
    expect(await scene.snapshot()).toBe(from);
  } else {
    const { snapshot } = result;
    const feed = (name: string) =>
      scene.value(`SELECT count(*) FROM ${name}('lake', 'main', '${table}', ${snapshot}, ${snapshot})`);
    expect(await feed("ducklake_table_insertions")).toBe(String(inserted + updated.length));
    expect(await feed("ducklake_table_deletions")).toBe(String(deleted + updated.length));
  }
  await repeat(sample, table, source, key);
  await scene.sql(`CALL ducklake_flush_inlined_data('lake', table_name => '${table}')`);
  await repeat(sample, table, source, key);
  expect(await scene.rows(table)).toEqual(expected);
  await scene.sql(`DROP TABLE ${table}`);
}

/** The same input again finds nothing to do, as a merge and as an append. */
async function repeat(sample: Case, table: string, source: IngestSource, key: readonly string[]): Promise<void> {
  const before = await scene.snapshot();
  const merged = await scene.lake.merge(table, source, { key, deleteMissing: sample.deleteMissing });
  expect(merged).toMatchObject({ status: "unchanged", snapshot: null });
  expect(await scene.lake.append(table, source, { key })).toMatchObject({ status: "unchanged", snapshot: null });
  expect(await scene.snapshot()).toBe(before);
}

async function sourceOf(sample: Case, query: string, name: string): Promise<IngestSource> {
  if (sample.source === "query") return { query };
  const file = join(scene.place.folder, `${name}.${sample.source}`);
  const options = { parquet: "FORMAT parquet", csv: "FORMAT csv, HEADER", json: "FORMAT json" }[sample.source];
  await scene.sql(`COPY (${query}) TO ${quoteLiteral(file)} (${options})`);
  return { file };
}
