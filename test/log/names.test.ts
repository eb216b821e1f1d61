import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { baseName, isFileOf, isManifest, logFolder, manifestName, segmentName } from "../../src/log/names.js";

const LAKE = "0190f1d2-3c4d-7e8f-9a0b-1c2d3e4f5a6b";
const OTHER = "ffffffff-3c4d-7e8f-9a0b-1c2d3e4f5a6b";
const ID = "7b0c1f7e-9a35-4a61-8a7e-2c5a3d0e9f11";

describe("a view's folder", () => {
  test.each([
    ["Daily_Sales-2", "daily_sales-2/"],
    ["a b/c%20", "a%20b%2Fc%2520/"],
    ["..", "%2E%2E/"],
    ["größe", "gr%C3%B6%C3%9Fe/"],
  ])("of %s is %s", (view, folder) => {
    expect(logFolder(view)).toBe(folder);
  });

  test("is one name that any file system takes, and another one for every other view", () => {
    const names = fc.uniqueArray(fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 }), {
      minLength: 2,
      maxLength: 2,
      selector: (name) => name.toLowerCase(),
    });
    fc.assert(
      fc.property(names, ([one = "", two = ""]) => {
        expect(logFolder(one)).toMatch(/^[a-z0-9_%A-F~-]{1,200}\/$/);
        expect(logFolder(one).toLowerCase()).not.toBe(logFolder(two).toLowerCase());
      }),
      { seed: 5, numRuns: 500 },
    );
  });

  test("of a long name is cut and told apart", () => {
    const [one, two] = ["a", "b"].map((end) => logFolder(`${"long ".repeat(100)}${end}`));
    expect(one).not.toBe(two);
    expect(one).toMatch(/~[0-9a-f]{16}\/$/);
  });
});

describe("what a lake may sweep", () => {
  const folder = logFolder("v");

  test.each([segmentName(folder, LAKE, 1n, 2n, ID), baseName(folder, LAKE, 2n, 0, ID)])(
    "are its own files: %s",
    (name) => {
      expect(isFileOf(LAKE, name)).toBe(true);
      expect(isFileOf(LAKE, name.replace(".parquet", `-${ID}.parquet`)), "and unfinished ones").toBe(true);
      expect(isFileOf(OTHER, name)).toBe(false);
    },
  );

  test.each(["v/data.parquet", "segment-1-2-x.parquet", "v/manifest.json", "v/sub/base-1-0-x.parquet", "v/notes.txt"])(
    "is not %s",
    (name) => {
      expect(isFileOf(LAKE, name)).toBe(false);
    },
  );

  test("is a manifest that was not finished", () => {
    expect(isFileOf(LAKE, `v/manifest.json-${ID}.parquet`)).toBe(true);
    expect(isManifest(manifestName(folder))).toBe(true);
    expect(isManifest("manifest.json")).toBe(false);
  });
});
