import { describe, expect, test } from "vitest";
import {
  type CostHistory,
  type CostStrategy,
  chooseByCost,
  type Measurement,
  NO_HISTORY,
  remember,
  SMALL_ROWS,
  type Work,
} from "../../src/plan/cost.js";

const MILLION: Work = { rows: 1_000_000, changed: 100, terms: 1 };

/** What a refresh of this kind takes on a machine of the tests' own. */
type Machine = (strategy: CostStrategy, work: Work) => number;

const measured = (strategy: CostStrategy, ms: number, work: Work = MILLION): Omit<Measurement, "refresh"> => ({
  ...work,
  strategy,
  ms,
});

function history(...measurements: readonly Omit<Measurement, "refresh">[]): CostHistory {
  return measurements.reduce(remember, NO_HISTORY);
}

/** What a row of refreshes takes when each does what the choice says. */
function play(machine: Machine, works: readonly Work[], start: CostHistory = NO_HISTORY) {
  let past = start;
  return works.map((work) => {
    const choice = chooseByCost(work, past);
    const ms = machine(choice.strategy, work);
    past = remember(past, { ...work, strategy: choice.strategy, ms });
    return { ...choice, took: ms };
  });
}

describe("without history", () => {
  test.each<[string, Work, CostStrategy]>([
    ["few changed rows of many go by the rules", MILLION, "incremental"],
    ["a table that changed as a whole is recomputed", { rows: 1_000_000, changed: 2_000_000, terms: 1 }, "recompute"],
    ["twenty terms over a small table are a recompute", { rows: 60_000, changed: 10, terms: 20 }, "recompute"],
    [
      "twenty terms over a large table with few changes too, where each reads it",
      { rows: 9_000_000, changed: 10, terms: 20 },
      "recompute",
    ],
  ])("%s", (_, work, strategy) => {
    const choice = chooseByCost(work, NO_HISTORY);
    expect(choice).toMatchObject({
      strategy,
      trial: false,
      incremental: { basis: "rows" },
      recompute: { basis: "rows" },
    });
  });

  test("small tables go by the rules, however much changed", () => {
    expect(chooseByCost({ rows: SMALL_ROWS - 1, changed: 90_000, terms: 9 }, NO_HISTORY).strategy).toBe("incremental");
    expect(chooseByCost({ rows: SMALL_ROWS, changed: 90_000, terms: 9 }, NO_HISTORY).strategy).toBe("recompute");
  });
});

describe("with history", () => {
  test("estimates of a size that was measured are what was measured", () => {
    const past = history(measured("incremental", 700), measured("recompute", 500));
    const { incremental, recompute, strategy } = chooseByCost(MILLION, past);
    expect(incremental).toEqual({ ms: expect.closeTo(700), basis: "measured" });
    expect(recompute).toEqual({ ms: expect.closeTo(500), basis: "measured" });
    expect(strategy).toBe("recompute");
  });

  test("one slow refresh among several does not count", () => {
    const past = history(measured("incremental", 100), measured("incremental", 9000), measured("incremental", 110));
    expect(chooseByCost(MILLION, past).incremental.ms).toBeCloseTo(110);
  });

  test("a first build that took long makes both estimates larger", () => {
    const past = history({ ...measured("recompute", 26_000), changed: 0, initial: true });
    const slow = chooseByCost(MILLION, past);
    const plain = chooseByCost(MILLION, NO_HISTORY);
    expect(slow.recompute.ms / plain.recompute.ms).toBeCloseTo(100, 0);
    expect(slow.incremental.ms / plain.incremental.ms).toBeCloseTo(100, 0);
    expect(slow.recompute.basis).toBe("rows");
  });

  test("between two measured sizes the estimate is between them", () => {
    const large = { ...MILLION, changed: 1_000_000 };
    const past = history(measured("incremental", 100), measured("incremental", 8000, large));
    const { ms, basis } = chooseByCost({ ...MILLION, changed: 10_000 }, past).incremental;
    expect(ms).toBeGreaterThan(100);
    expect(ms).toBeLessThan(8000);
    expect(basis).toBe("rows");
  });

  test("large changes that were recomputed do not keep small ones from the rules", () => {
    const large = { ...MILLION, changed: 1_000_000 };
    const past = history(measured("incremental", 9000, large), measured("recompute", 900, large));
    expect(chooseByCost(large, past).strategy).toBe("recompute");
    expect(chooseByCost(MILLION, past).strategy).toBe("incremental");
  });

  test("the newest measurements of each size are kept, and no more", () => {
    let past = NO_HISTORY;
    for (let index = 0; index < 100; index += 1) past = remember(past, measured("incremental", index));
    past = remember(past, measured("incremental", 5, { ...MILLION, changed: 50_000 }));
    expect(past.refreshes).toBe(101);
    expect(past.measurements.map((one) => one.ms)).toEqual([97, 98, 99, 5]);
  });
});

describe("a row of refreshes", () => {
  const works = Array.from({ length: 200 }, () => MILLION);

  test.each<[string, number, number]>([
    ["the rules are much cheaper", 50, 2000],
    ["the rules are a little cheaper", 500, 700],
    ["a recompute is a little cheaper", 700, 500],
    ["a recompute is much cheaper", 9000, 400],
  ])("ends with the cheaper way where %s", (_, incremental, recompute) => {
    const machine: Machine = (strategy) => (strategy === "incremental" ? incremental : recompute);
    const played = play(machine, works);
    const best = Math.min(incremental, recompute);
    const settled = played.slice(4);
    expect(settled.filter((choice) => choice.took > 1.2 * best).length).toBeLessThan(settled.length / 10);
    expect(settled.reduce((total, choice) => total + choice.took, 0)).toBeLessThan(1.2 * best * settled.length);
  });

  test("finds out that the dearer way has become the cheaper one", () => {
    const before: Machine = (strategy) => (strategy === "incremental" ? 300 : 500);
    const after: Machine = (strategy) => (strategy === "incremental" ? 300 : 100);
    let past = NO_HISTORY;
    for (const machine of [before, after]) {
      for (const work of works) {
        const { strategy } = chooseByCost(work, past);
        past = remember(past, { ...work, strategy, ms: machine(strategy, work) });
      }
    }
    expect(chooseByCost(MILLION, past).strategy).toBe("recompute");
  });
});
