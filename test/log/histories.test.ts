import fc from "fast-check";
import { expect, test } from "vitest";
import { histories, runHistory, Tally } from "./history.js";

/** `IVM_LOG_RUNS` and `IVM_LOG_SEED` take more of them, and others. */
const RUNS = Number(process.env["IVM_LOG_RUNS"] ?? 4);
const SEED = Number(process.env["IVM_LOG_SEED"] ?? 7);

test(
  "logs, bases and views agree at every kept position of random histories",
  async () => {
    const tally = new Tally();
    await fc.assert(
      fc.asyncProperty(histories({ least: 10, most: 20 }), (history) =>
        runHistory({ catalog: "duckdb", data: "folder" }, history, tally),
      ),
      { numRuns: RUNS, seed: SEED, endOnFailure: process.env["IVM_LOG_SHRINK"] === undefined },
    );
    for (const what of ["merged", "folded", "consumed", "reset", "gap"]) {
      expect(tally.of(what), what).toBeGreaterThan(0);
    }
  },
  20 * 60_000,
);
