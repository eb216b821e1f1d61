/** A merge on a PostgreSQL catalog, killed while the commit is under way, while others go on with the lake. */

import { expect, test } from "vitest";
import { World } from "../e2e/world.js";
import { ENGINE, mergeOf, recover, rows, START, VIEW } from "./merge-suite.js";
import { Workers } from "./process.js";

test("killed during the commit", { timeout: 300_000 }, async () => {
  await using world = await World.start({ catalog: "postgres", data: "folder" }, { engine: ENGINE });
  await world.sql(...START);
  await world.define([VIEW]);
  await world.refresh();
  // Makes the table that keeps writers apart, so that each merge below has one commit.
  await world.lake.merge("t", "SELECT 1 AS k, 2 AS v", { key: ["k"] });
  await using workers = new Workers(world.config, true);
  const delays = [0, 2, 4, 6, 9, 13, 30];
  for (const [round, delay] of delays.entries()) {
    const before = await rows(world.writer, "t");
    await workers.run({ ...mergeOf(round + 1), commit: 1, delay });
    await recover(world.lake, world.writer, round + 1, before);
  }
  expect(await world.value("SELECT count(*) = count(DISTINCT k) FROM t")).toBe(true);
  await world.verify();
});
