/** Killed while PostgreSQL has the commit in hand: whether it came through, only the lake knows. */

import { expect, test } from "vitest";
import { World } from "../e2e/world.js";
import { Workers } from "./process.js";
import { change, ENGINE, expectConsistent, expectRerun, TABLES, VIEWS } from "./scene.js";

const DELAYS = [0, 4, 12];

test("killed during a commit", { timeout: 300_000 }, async () => {
  await using world = await World.start({ catalog: "postgres", data: "folder" }, { engine: ENGINE });
  await world.sql(...TABLES);
  await world.define(VIEWS);
  await world.refresh();
  await using workers = new Workers(world.config, true);
  let changes = 0;
  for (const [commit] of VIEWS.entries()) {
    for (const delay of DELAYS) {
      await change(world.writer, changes++);
      await workers.run({ action: "refresh", commit: commit + 1, delay });
      await expectConsistent(world.writer, world.oracle, VIEWS);
      await change(world.writer, changes++);
      await expectRerun(world.lake, world.writer, world.oracle, VIEWS);
    }
  }
  await world.verify();
});

test("the very first apply", { timeout: 300_000 }, async () => {
  const kills = [1, 2].flatMap((commit) => [0, 5].map((delay) => ({ commit, delay })));
  for (const kill of kills) {
    await using world = await World.start({ catalog: "postgres", data: "folder" }, { engine: ENGINE });
    await world.sql(...TABLES);
    await using workers = new Workers(world.config, true);
    await workers.run({ action: "define", definitions: VIEWS, ...kill });
    await world.lake.define(VIEWS);
    await expectRerun(world.lake, world.writer, world.oracle, VIEWS);
    expect((await world.lake.status()).map((view) => view.state)).toEqual(VIEWS.map(() => "fresh"));
  }
});
