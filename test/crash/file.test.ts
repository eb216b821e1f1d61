/** A catalog in a DuckDB file, whose only process dies: at the first apply, at the first refresh, at a later one. */

import { cp, rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { open, type ViewDefinition } from "../../src/index.js";
import { Oracle } from "../e2e/oracle.js";
import { type TempLake, tempLake } from "../setup/lake.js";
import { type Task, Worker, Workers } from "./process.js";
import { change, type Density, ENGINE, expectConsistent, expectRerun, stepsOf, TABLES, VIEWS } from "./scene.js";

/** Other columns of one view, other rows of the other, and one more. */
const CHANGED: readonly ViewDefinition[] = [
  { name: "pairs", sql: "SELECT a.v, b.w FROM a JOIN b ON a.id = b.id WHERE a.id > 4" },
  { name: "sums", sql: "SELECT v, count(*) AS n, min(w) AS least FROM pairs GROUP BY v" },
  { name: "whole", sql: "SELECT sum(n) AS n FROM sums" },
];

test("the very first apply", { timeout: 600_000 }, async () => {
  await using place = await lakeAt("tables");
  await killAll(place, { action: "define", definitions: VIEWS }, VIEWS, { inside: 2, outside: 2 });
});

test("the first refresh", { timeout: 600_000 }, async () => {
  await using place = await lakeAt("defined");
  await killAll(place, { action: "refresh" }, VIEWS, { inside: 3, outside: 20 });
});

test("a refresh after changes", { timeout: 600_000 }, async () => {
  await using place = await lakeAt("changed");
  await killAll(place, { action: "refresh" }, VIEWS, { inside: 4, outside: 20 });
});

test("an apply that creates, changes and drops", { timeout: 600_000 }, async () => {
  await using place = await lakeAt("changed");
  const definitions = CHANGED.filter((view) => view.name !== "pairs");
  const standing = { name: "sums", sql: "SELECT v, count(*) AS n, min(v) AS least FROM a GROUP BY v" };
  const wanted = [standing, ...definitions.filter((view) => view.name !== "sums")];
  await killAll(place, { action: "define", definitions: wanted, options: { drop: true } }, wanted, {
    inside: 3,
    outside: 10,
  });
});

test("a refresh that rebuilds changed definitions", { timeout: 600_000 }, async () => {
  await using place = await lakeAt("redefined");
  await killAll(place, { action: "refresh" }, CHANGED, { inside: 4, outside: 20 });
});

type Stage = "tables" | "defined" | "changed" | "redefined";

/** A lake that stands at a stage of its life, with nobody at work on it. */
async function lakeAt(stage: Stage): Promise<TempLake> {
  const temporary = await tempLake();
  const place = { ...temporary, config: { ...temporary.config, engine: ENGINE } };
  await using lake = await open(place.config);
  const connection = await lake.connect();
  for (const sql of TABLES) await connection.run(sql);
  if (stage !== "tables") await lake.define(VIEWS);
  if (stage === "changed" || stage === "redefined") {
    await lake.refresh();
    await change(connection, 3);
  }
  if (stage === "redefined") await lake.define(CHANGED);
  connection.closeSync();
  return place;
}

/** Has the work die at one step after the other, each time from the same lake, and then done by another process. */
async function killAll(
  place: TempLake,
  task: Task,
  definitions: readonly ViewDefinition[],
  density: Density,
): Promise<void> {
  const backup = `${place.folder}.backup`;
  await cp(place.folder, backup, { recursive: true });
  const worker = await Worker.start(place.config, false);
  const undisturbed = await worker.run(task);
  if (undisturbed.killed) throw new Error("nobody was to be killed");
  const steps = stepsOf(undisturbed.statements, density);
  expect(steps.length).toBeGreaterThan(5);
  await using workers = new Workers(place.config, false);
  for (const [index, step] of steps.entries()) {
    await rm(place.folder, { recursive: true });
    await cp(backup, place.folder, { recursive: true });
    expect(await workers.run({ ...task, before: step }), `step ${step}`).toEqual({ killed: true });
    await recover(place, task, definitions, index);
  }
  await rm(backup, { recursive: true });
}

async function recover(
  place: TempLake,
  task: Task,
  definitions: readonly ViewDefinition[],
  number: number,
): Promise<void> {
  await using lake = await open(place.config);
  const connection = await lake.connect();
  const oracle = await Oracle.create(await lake.connect(), lake.name, { schema: "main", stateSchema: "ivm" });
  if (task.action === "refresh") await expectConsistent(connection, oracle, VIEWS, definitions);
  if (number % 2 === 1) await change(connection, number);
  if (task.action === "define") await lake.define(definitions, task.options);
  await expectRerun(lake, connection, oracle, definitions);
  connection.closeSync();
}
