import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CompactionPolicy, type CompactionStep, nextStep } from "../../src/log/policy.js";
import type { LogEntry, LogState } from "../../src/log/registry.js";
import { base, log, segment } from "./build.js";

const POLICY: CompactionPolicy = {
  fanOut: 3,
  keep: { snapshots: 1_000n },
  held: [],
  now: new Date(0),
  thorough: true,
};

/** `count` windows of one snapshot each from `first` on. */
function windows(first: number, count: number, level = 0): LogEntry[] {
  return Array.from({ length: count }, (_, index) => segment(first + index, first + index + 1, { level }));
}

const bounds = (step: CompactionStep | undefined) =>
  step?.kind === "merge" ? [step.entries[0]?.from, step.entries.at(-1)?.to, step.level] : step?.at;

describe("merging", () => {
  test("begins with the oldest windows, when a level holds twice the fan-out", () => {
    expect(nextStep(log(base(0), ...windows(0, 5)), POLICY)).toBeUndefined();
    expect(bounds(nextStep(log(base(0), ...windows(0, 6)), POLICY))).toEqual([0n, 3n, 1]);
  });

  test("goes on with the next level", () => {
    const state = log(base(0), ...windows(0, 6, 1), ...windows(6, 4));
    expect(bounds(nextStep(state, POLICY))).toEqual([0n, 3n, 2]);
  });

  test("leaves a consumer's position between windows", () => {
    const state = log(base(0), ...windows(0, 6));
    expect(bounds(nextStep(state, { ...POLICY, held: [2n] }))).toEqual([0n, 2n, 1]);
    expect(bounds(nextStep(state, { ...POLICY, held: [1n] }))).toEqual([1n, 4n, 1]);
    expect(nextStep(state, { ...POLICY, held: [1n, 2n, 3n, 4n, 5n] })).toBeUndefined();
  });

  test("is not stopped by windows of gaps between those of refreshes", () => {
    const mixed = windows(0, 12).map((entry, index) => ({ ...entry, level: index % 2 }));
    expect(nextStep(log(base(0), ...mixed), POLICY)).toMatchObject({ kind: "merge" });
  });
});

describe("folding", () => {
  test("takes all windows that are old enough, by snapshots", () => {
    const state = log(base(0), ...windows(0, 5));
    const step = nextStep(state, { ...POLICY, keep: { snapshots: 2n } });
    expect(step).toMatchObject({ kind: "fold", at: 3n });
    expect(step?.entries.map((entry) => entry.to)).toEqual([0n, 1n, 2n, 3n]);
    expect(nextStep(state, { ...POLICY, keep: { snapshots: 5n } })).toBeUndefined();
  });

  test("takes all windows that are old enough, by time", () => {
    const state = log(base(0), ...windows(0, 5));
    const keep = { milliseconds: 2_000 };
    expect(nextStep(state, { ...POLICY, keep, now: new Date(5_000) })).toMatchObject({ kind: "fold", at: 3n });
    expect(nextStep(state, { ...POLICY, keep, now: new Date(2_999) })).toBeUndefined();
  });

  test("stops at a consumer's position", () => {
    const state = log(base(0), ...windows(0, 5));
    const keep = { snapshots: 0n };
    expect(nextStep(state, { ...POLICY, keep, held: [4n, 2n] })).toMatchObject({ kind: "fold", at: 2n });
    expect(nextStep(state, { ...POLICY, keep, held: [0n] })).toBeUndefined();
  });

  test("is put off after a refresh while the base is large against what changed", () => {
    const state = log(base(0, { rows: 1_000n }), ...windows(0, 2));
    const policy = { ...POLICY, keep: { snapshots: 0n } };
    expect(nextStep(state, { ...policy, thorough: false })).toBeUndefined();
    expect(nextStep(state, policy)).toMatchObject({ kind: "fold" });
  });
});

test("any log comes to rest, with few windows, no gap, and every held position", () => {
  const arbitrary = fc.record({
    count: fc.nat(120),
    keep: fc.nat(150),
    fanOut: fc.integer({ min: 2, max: 9 }),
    held: fc.array(fc.nat(120), { maxLength: 4 }),
    gaps: fc.array(fc.boolean(), { minLength: 120, maxLength: 120 }),
  });
  fc.assert(
    fc.property(arbitrary, ({ count, keep, fanOut, held, gaps }) => {
      const entries = windows(0, count).map((entry, index) => ({ ...entry, level: gaps[index] === true ? 1 : 0 }));
      const positions = held.filter((position) => position <= count).map(BigInt);
      const policy = { ...POLICY, fanOut, keep: { snapshots: BigInt(keep) }, held: positions };
      let state = log(base(0), ...entries);
      for (let steps = 0; ; steps += 1) {
        expect(steps).toBeLessThan(500);
        const step = nextStep(state, policy);
        if (step === undefined) break;
        state = carriedOut(state, step);
      }
      const segments = state.entries.filter((entry) => entry.kind === "segment");
      let position = state.entries[0]?.to;
      for (const entry of segments) {
        expect(entry.from).toBe(position);
        position = entry.to;
      }
      expect(position).toBe(BigInt(count));
      const known = new Set([state.entries[0]?.to, ...segments.map((entry) => entry.to)]);
      for (const one of positions) expect(known).toContain(one);
      const levels = 1 + Math.ceil(Math.log2(count + 1));
      expect(segments.length).toBeLessThanOrEqual(2 * fanOut * levels + 2 * fanOut * positions.length);
    }),
    { numRuns: 300, seed: 3 },
  );
});

function carriedOut(state: LogState, step: CompactionStep): LogState {
  const rest = state.entries.filter((entry) => !step.entries.includes(entry));
  if (step.kind === "fold") return log(base(Number(step.at)), ...rest.filter((entry) => entry.kind === "segment"));
  const [first, last] = [step.entries[0], step.entries.at(-1)];
  const merged = segment(Number(first?.from), Number(last?.to), { level: step.level });
  const [bases, segments] = [rest.filter(({ kind }) => kind === "base"), rest.filter(({ kind }) => kind === "segment")];
  return log(...bases, ...[...segments, merged].sort((a, b) => Number(a.to - b.to)));
}
