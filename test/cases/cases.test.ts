import { readdir, readFile } from "node:fs/promises";
import type { DuckDBConnection } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { type Lake, open, type ViewDefinition } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";

type Row = readonly (string | null)[];

/** One trap: tables, a view, and the rows that it must have at first and after each step, all as text. */
interface Case {
  readonly title: string;
  readonly setup: string;
  readonly view: string;
  readonly initial: readonly Row[];
  readonly steps: readonly { readonly sql: string; readonly rows: readonly Row[] }[];
}

const folder = new URL("./", import.meta.url);
const names = (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();
const cases = await Promise.all(
  names.map(async (name): Promise<Case> => JSON.parse(await readFile(new URL(name, folder), "utf8"))),
);

describe.each(cases)("$title", ({ setup, view, initial, steps }) => {
  const definitions = [{ name: "answer", sql: view }];

  test("a refresh after each step", async () => {
    await withLake(setup, definitions, async (lake, writer) => {
      await refreshTo(lake, writer, initial);
      for (const step of steps) {
        await inOneTransaction(writer, step.sql);
        await refreshTo(lake, writer, step.rows);
      }
    });
  });

  test("one refresh after all steps", async () => {
    await withLake(setup, definitions, async (lake, writer) => {
      await refreshTo(lake, writer, initial);
      for (const step of steps) await inOneTransaction(writer, step.sql);
      await refreshTo(lake, writer, steps.at(-1)?.rows ?? initial);
    });
  });

  test("every statement in a snapshot of its own", async () => {
    await withLake(setup, definitions, async (lake, writer) => {
      await refreshTo(lake, writer, initial);
      for (const step of steps) {
        await oneByOne(writer, step.sql);
        await refreshTo(lake, writer, step.rows);
      }
    });
  });
});

test("Chain: an existing group changes, the next view counts groups, as two views", async () => {
  const chain = cases.find((each) => each.title.startsWith("Chain:"));
  if (chain === undefined) throw new Error("the chain case is missing");
  const definitions = [
    { name: "totals", sql: "SELECT r, SUM(a) AS t FROM s1 GROUP BY r" },
    { name: "answer", sql: "SELECT t>=150 AS big, COUNT(*) AS n, SUM(t) AS tt FROM totals GROUP BY ALL" },
  ];
  await withLake(chain.setup, definitions, async (lake, writer) => {
    await refreshTo(lake, writer, chain.initial);
    for (const step of chain.steps) {
      await inOneTransaction(writer, step.sql);
      await refreshTo(lake, writer, step.rows);
    }
  });
});

async function withLake(
  setup: string,
  definitions: readonly ViewDefinition[],
  use: (lake: Lake, writer: DuckDBConnection) => Promise<void>,
): Promise<void> {
  await using place = await tempLake();
  await using lake = await open(place.config);
  const writer = await lake.connect();
  await oneByOne(writer, setup);
  await lake.define(definitions);
  await use(lake, writer);
  writer.closeSync();
}

async function refreshTo(lake: Lake, writer: DuckDBConnection, rows: readonly Row[]): Promise<void> {
  const result = await lake.refresh();
  expect(result.views.map((view) => view.error)).toEqual(result.views.map(() => null));
  const reader = await writer.runAndReadAll("SELECT columns(*)::VARCHAR FROM answer");
  expect(sorted(reader.getRowsJS() as Row[])).toEqual(sorted(rows));
  expect((await lake.refresh()).status).toBe("unchanged");
}

async function inOneTransaction(writer: DuckDBConnection, sql: string): Promise<void> {
  await writer.run("BEGIN");
  await oneByOne(writer, sql);
  await writer.run("COMMIT");
}

async function oneByOne(writer: DuckDBConnection, sql: string): Promise<void> {
  const statements = await writer.extractStatements(sql);
  for (let index = 0; index < statements.count; index++) await (await statements.prepare(index)).run();
}

function sorted(rows: readonly Row[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}
