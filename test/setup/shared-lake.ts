import { afterAll, beforeAll } from "vitest";
import type { Lake, LakeConfig } from "../../src/index.js";
import { OpenLake } from "./open-lake.js";

/** One lake for all tests of a file: opened before the first, closed and removed after the last. */
export class SharedLake {
  private opened: OpenLake | undefined;

  /** @param statements are run before the first test. */
  constructor(config: Partial<LakeConfig>, ...statements: readonly string[]) {
    beforeAll(async () => {
      this.opened = await OpenLake.start(config);
      for (const statement of statements) await this.rows(statement);
    });
    afterAll(() => this.opened?.[Symbol.asyncDispose]());
  }

  get lake(): Lake {
    return this.present.lake;
  }

  /** Runs one statement and gives its rows. */
  rows(sql: string): Promise<unknown[][]> {
    return this.present.rows(sql);
  }

  private get present(): OpenLake {
    if (this.opened === undefined) throw new TypeError("the lake is there while tests run");
    return this.opened;
  }
}
