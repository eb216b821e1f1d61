/** A refresh on a PostgreSQL catalog, killed before its statements in turn. */

import { expect, test } from "vitest";
import { World } from "../e2e/world.js";
import { Workers } from "./process.js";
import { change, type Density, ENGINE, expectConsistent, expectRerun, ONE_VIEW, stepsOf, TABLES } from "./scene.js";

/** With more deaths, a lake grows so many small files that it becomes slow. */
const DEATHS_A_LAKE = 15;

export interface KilledRefreshes {
  readonly density: Density;
  /** Whether the sources change once more between the death and the rerun. */
  readonly changeAgain: boolean;
}

export function killedRefreshes(title: string, options: KilledRefreshes): void {
  test(title, { timeout: 600_000 }, async () => {
    let steps = stepsOf(await undisturbed(), options.density);
    const all = steps.length;
    expect(all).toBeGreaterThan(10);
    let deaths = 0;
    while (steps.length > 0) {
      deaths += await killAt(steps.slice(0, DEATHS_A_LAKE), options);
      steps = steps.slice(DEATHS_A_LAKE);
    }
    // How many statements a refresh takes depends on where its change lies, so the last steps may be beyond its end.
    expect(deaths).toBeGreaterThan(all * 0.8);
  });
}

async function lakeWithViews(): Promise<World> {
  const world = await World.start({ catalog: "postgres", data: "folder" }, { engine: ENGINE });
  await world.sql(...TABLES);
  await world.define(ONE_VIEW);
  await world.refresh();
  return world;
}

async function undisturbed(): Promise<readonly string[]> {
  await using world = await lakeWithViews();
  await using workers = new Workers(world.config, true);
  await change(world.writer, 0);
  const outcome = await workers.run({ action: "refresh" });
  if (outcome.killed) throw new Error("nobody was to be killed");
  return outcome.statements;
}

/** Gives the number of runs that were killed: a run may end before it comes to the step. */
async function killAt(steps: readonly number[], options: KilledRefreshes): Promise<number> {
  await using world = await lakeWithViews();
  await using workers = new Workers(world.config, true);
  let changes = 0;
  let deaths = 0;
  for (const step of steps) {
    await change(world.writer, changes++);
    if ((await workers.run({ action: "refresh", before: step })).killed) deaths += 1;
    await expectConsistent(world.writer, world.oracle, ONE_VIEW);
    if (options.changeAgain) await change(world.writer, changes++);
    await expectRerun(world.lake, world.writer, world.oracle, ONE_VIEW);
  }
  return deaths;
}
