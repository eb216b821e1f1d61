import { describe, expect, test } from "vitest";
import { changesBetween, positionAt, positionsOf, stateAt } from "../../src/log/window.js";
import { base, log, segment } from "./build.js";

const LOG = log(base(10), segment(10, 20, { level: 1 }), segment(20, 25), segment(25, 30));

test("positions are where the base stands and where windows end", () => {
  expect(positionsOf(LOG)).toEqual([10n, 20n, 25n, 30n]);
});

describe("a snapshot between two positions", () => {
  test("means the earlier one, at which the view stood then", () => {
    expect(positionAt(LOG, 24n)).toBe(20n);
    expect(positionAt(LOG, 99n)).toBe(30n);
  });

  test.each([9n, 11n, 19n])("is lost before the base and inside a merged window: %d", (snapshot) => {
    expect(() => positionAt(LOG, snapshot)).toThrow(expect.objectContaining({ code: "log_position_lost" }));
  });
});

describe("changes", () => {
  test("take the windows between the two positions", () => {
    const read = changesBetween(LOG, 20n, 25n);
    expect(read).toMatchObject({ from: 20n, to: 25n, entries: [{ from: 20n, to: 25n }] });
    expect(changesBetween(LOG, 10n, undefined).entries).toHaveLength(3);
    expect(changesBetween(LOG, 30n, undefined)).toMatchObject({ from: 30n, to: 30n, entries: [] });
  });

  test("have a beginning before their end", () => {
    expect(() => changesBetween(LOG, 25n, 20n)).toThrow(expect.objectContaining({ code: "log_window_empty" }));
  });
});

test("a state takes the base and the windows up to it", () => {
  expect(stateAt(LOG, undefined).entries).toHaveLength(4);
  expect(stateAt(LOG, 20n)).toMatchObject({ from: null, to: 20n, entries: [{ kind: "base" }, { to: 20n }] });
  expect(() => stateAt(LOG, 3n)).toThrow(expect.objectContaining({ code: "log_position_lost" }));
});
