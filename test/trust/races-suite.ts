/** Several processes that refresh and compact one lake while others write to it. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect } from "vitest";
import { quotePath } from "../../src/sql/quote.js";
import { ENGINE, expectRerun, TABLES, VIEWS } from "../crash/scene.js";
import { Oracle } from "../e2e/oracle.js";
import { LogScene } from "../log/scene.js";
import type { LakeKind } from "../setup/lake.js";

const LOOP = fileURLToPath(new URL("loop.mjs", import.meta.url));

interface Told {
  readonly refreshed: number;
  readonly unchanged: number;
  readonly conflicts: number;
  readonly errors: readonly string[];
}

const LOOPS = [
  { action: "refresh", rounds: 6 },
  { action: "refresh", rounds: 6 },
  { action: "refresh", rounds: 6 },
  { action: "compact", rounds: 4 },
  { action: "write", rounds: 24 },
  { action: "write", rounds: 24 },
] as const;

/** Each view is moved by one run at a time: the windows of its runs follow each other, and none is done twice. */
export async function expectRaces(kind: LakeKind): Promise<void> {
  await using scene = await LogScene.start(kind, { keep: { snapshots: 8n }, fanOut: 2, compact: "manual" });
  await scene.sql(...TABLES);
  await scene.define(VIEWS);
  await scene.refresh();
  const config = { ...scene.config, engine: ENGINE };
  const told = await Promise.all(
    LOOPS.map(async (loop, seed): Promise<Told> => {
      const task = JSON.stringify({ config, seed, ...loop }, (_, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      );
      const { stdout } = await execa(process.execPath, [LOOP], { env: { LOOP_TASK: task } });
      return JSON.parse(stdout.split("\n").at(-1) ?? "") as Told;
    }),
  );
  expect(told.flatMap(({ errors }) => errors)).toEqual([]);
  // With a minute of patience nobody gives up.
  expect(told.map(({ conflicts }) => conflicts)).toEqual(LOOPS.map(() => 0));
  const refreshed = told.reduce((sum, { refreshed }) => sum + refreshed, 0);

  const connection = await scene.lake.connect();
  const oracle = await Oracle.create(await scene.lake.connect(), scene.lake.name, {
    schema: "main",
    stateSchema: "ivm",
  });
  await expectRerun(scene.lake, connection, oracle, VIEWS);
  let moves = 0;
  for (const { name } of VIEWS) {
    const reader = await connection.runAndReadAll(
      `SELECT from_horizon, horizon, error FROM ivm.runs WHERE view = '${name}' ORDER BY horizon, from_horizon NULLS FIRST`,
    );
    const runs = reader.getRowsJS();
    expect(runs.map(([, , error]) => error)).toEqual(runs.map(() => null));
    const horizons = runs.map(([, horizon]) => horizon);
    // A view that is moved where no change reaches it keeps a record as well.
    expect(new Set(horizons).size, `${name}: ${horizons.join(", ")}`).toBe(horizons.length);
    expect(runs.map(([from]) => from)).toEqual([null, ...horizons.slice(0, -1)]);
    moves += runs.length;
  }
  // DuckLake lets two deletes of one file pass that both leave rows behind: of ours no two ever meet.
  const metadata = [
    "__ducklake_metadata_lake",
    ...(config.metadataSchema === undefined ? [] : [config.metadataSchema]),
  ];
  const deletes = quotePath([...metadata, "ducklake_delete_file"]);
  const overlaps = await connection.runAndReadAll(`
    SELECT a.table_id FROM ${deletes} a JOIN ${deletes} b
    ON a.data_file_id = b.data_file_id AND a.delete_file_id < b.delete_file_id
      AND a.begin_snapshot < coalesce(b.end_snapshot, 9e18) AND b.begin_snapshot < coalesce(a.end_snapshot, 9e18)
    JOIN ${quotePath([...metadata, "ducklake_table"])} t ON t.table_id = a.table_id
    JOIN ${quotePath([...metadata, "ducklake_schema"])} s ON s.schema_id = t.schema_id WHERE s.schema_name = 'ivm'`);
  expect(overlaps.getRowsJS()).toEqual([]);
  // More than one of the processes had something to do, and none of it was done by two of them.
  expect(told.filter((one) => one.refreshed > 0).length).toBeGreaterThan(1);
  expect(refreshed).toBeLessThanOrEqual(moves);
  for (const { name } of VIEWS) {
    const logged: string[] = [];
    for await (const { row } of await scene.lake.state(name)) logged.push(Object.values(row).join());
    const held = (await connection.runAndReadAll(`FROM ${name}`)).getRows().map((row) => row.join());
    expect(logged.sort()).toEqual(held.sort());
  }
  connection.closeSync();
}
