/** A catalog in a DuckDB file whose only process dies in a merge: the first one of a lake, and a later one. */

import { cp, rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { type TempLake, tempLake } from "../setup/lake.js";
import { ENGINE, mergeOf, recover, rows, START, state, VIEW } from "./merge-suite.js";
import { Worker, Workers } from "./process.js";
import { stepsOf } from "./scene.js";

test("the first merge of a lake", { timeout: 600_000 }, () => killEverywhere(false));
test("a merge of a table that was merged into before", { timeout: 600_000 }, () => killEverywhere(true));

async function killEverywhere(merged: boolean): Promise<void> {
  const place = await lakeAt(merged);
  const backup = `${place.folder}.backup`;
  await cp(place.folder, backup, { recursive: true });
  const worker = await Worker.start(place.config, false);
  const undisturbed = await worker.run(mergeOf(1));
  if (undisturbed.killed) throw new Error("nobody was to be killed");
  const steps = stepsOf(undisturbed.statements, { inside: 5, outside: 8 });
  expect(steps.length).toBeGreaterThan(5);
  const found = new Set<string>();
  const initial = merged ? state(0) : "SELECT i::INTEGER AS k, (i % 3)::INTEGER AS v FROM range(50) r(i)";
  {
    await using workers = new Workers(place.config, false);
    for (const step of steps) {
      await rm(place.folder, { recursive: true });
      await cp(backup, place.folder, { recursive: true });
      expect(await workers.run({ ...mergeOf(1), before: step }), `step ${step}`).toEqual({ killed: true });
      await using lake = await open(place.config);
      const connection = await lake.connect();
      found.add(await recover(lake, connection, 1, await rows(connection, `(${initial})`)));
      connection.closeSync();
    }
  }
  // Deaths on both sides of the commit were among them.
  expect([...found].sort()).toEqual(["new", "old"]);
  await rm(backup, { recursive: true });
  await place.cleanup();
}

async function lakeAt(merged: boolean): Promise<TempLake> {
  const temporary = await tempLake();
  const place = { ...temporary, config: { ...temporary.config, engine: ENGINE } };
  await using lake = await open(place.config);
  const connection = await lake.connect();
  for (const sql of START) await connection.run(sql);
  if (merged) await lake.merge("t", state(0), { key: ["k"], deleteMissing: true });
  await lake.define([VIEW]);
  if (merged) await lake.refresh();
  connection.closeSync();
  return place;
}
