/** What must hold on every kind of lake. */

import { afterAll, afterEach, beforeAll, describe } from "vitest";
import type { LakeKind } from "../setup/lake.js";
import { contentTests } from "./content-tests.js";
import { definitionTests } from "./definition-tests.js";
import { ingestTests } from "./ingest-tests.js";
import { promiseTests } from "./promise-tests.js";
import { readerTests } from "./reader-tests.js";
import { shopTests } from "./shop-tests.js";
import { World } from "./world.js";

export function endToEnd(catalog: LakeKind["catalog"], data: LakeKind["data"]): void {
  const kind = { catalog, data };
  describe(`catalog in ${catalog}, data in ${data}`, { timeout: 180_000 }, () => {
    describe("a shop", () => shopTests(kind));
    describe("one lake, many views", () => {
      let world: World;
      beforeAll(async () => {
        // With one thread: so little data is worked on more slowly by two. The shop has as many as the machine.
        world = await World.start(kind, { engine: { threads: 1 } });
      });
      afterEach(() => world?.clear());
      afterAll(() => world?.[Symbol.asyncDispose]());
      promiseTests(() => world);
      contentTests(() => world);
      definitionTests(() => world);
      ingestTests(() => world);
    });
    readerTests(kind);
  });
}
