import { expect, test } from "vitest";
import { printFailure } from "./check.js";
import { checkSeeds, printTotals } from "./histories.js";

const RUNS = 500;

/** Fixed seeds, so that a run says something about the code and not about its luck; `npm run fuzz` takes others. */
test(
  `views equal their queries in ${RUNS} random histories`,
  async () => {
    const totals = await checkSeeds({ first: 1, runs: RUNS, shrinkMs: 60_000, maxFailures: 3 });
    console.log(printTotals(totals));
    expect(totals.failures.map(printFailure).join("\n\n")).toBe("");
    expect(totals.passed).toBeGreaterThanOrEqual(0.93 * RUNS);
    // Tests that test nothing pass as well: most refreshes must have had something to do, and have done it by rule.
    expect(totals.changes).toBeGreaterThan(RUNS);
    expect(totals.strategies.get("incremental") ?? 0).toBeGreaterThan(RUNS);
    expect(totals.resumed).toBeGreaterThan(RUNS / 10);
    expect(totals.reread).toBeGreaterThan(RUNS / 10);
  },
  60 * 60_000,
);

test(
  "views equal their queries in random histories whose tables are taken for large ones",
  async () => {
    const totals = await checkSeeds({ first: 2001, runs: 60, large: true, shrinkMs: 60_000, maxFailures: 3 });
    expect(totals.failures.map(printFailure).join("\n\n")).toBe("");
    expect(totals.changes).toBeGreaterThan(60);
  },
  60 * 60_000,
);
