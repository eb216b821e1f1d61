/** One lake through a long history: after every refresh, every view holds exactly what its query gives. */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { LakeKind } from "../setup/lake.js";
import { HISTORY, TABLES, VIEWS } from "./shop.js";
import { viewOf, World } from "./world.js";

export function shopTests(kind: LakeKind): void {
  let world: World;
  beforeAll(async () => {
    world = await World.start(kind);
    await world.sql(...TABLES);
    await world.define(VIEWS);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  test("the first refresh builds every view", async () => {
    const result = await world.refresh();
    expect(result.views.map((view) => view.strategy)).toEqual(VIEWS.map(() => "initial"));
  });

  test.each(HISTORY)("$what", async ({ transactions, expected }) => {
    for (const statements of transactions) {
      const named = statements.map((sql) => sql.replace("(LAKE", `('${world.alias}'`));
      await (named.length === 1 ? world.sql(...named) : world.transaction(...named));
    }
    const before = await world.snapshot();
    const result = await world.refresh();
    expect(result.horizon).toBe(before);
    for (const [view, strategy] of Object.entries(expected)) {
      expect(viewOf(result, view).strategy, view).toBe(strategy);
    }
    if (result.status === "unchanged") expect(await world.snapshot()).toBe(before);
  });

  test("the project's own proof agrees", () => world.verify());
}
