import fc from "fast-check";
import { expect, test } from "vitest";
import { histories, runHistory, Tally } from "./history.js";

test(
  "logs, bases and views agree in random histories on PostgreSQL and in object storage",
  async () => {
    const tally = new Tally();
    const runs = Number(process.env["IVM_LOG_RUNS"] ?? 2);
    await fc.assert(
      fc.asyncProperty(histories({ least: 8, most: 12 }), (history) =>
        runHistory({ catalog: "postgres", data: "s3" }, history, tally),
      ),
      { numRuns: runs, seed: Number(process.env["IVM_LOG_SEED"] ?? 23), endOnFailure: true },
    );
    expect(tally.of("positions")).toBeGreaterThan(10);
  },
  20 * 60_000,
);
