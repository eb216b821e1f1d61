import { expect, test } from "vitest";
import { Narration } from "../../src/demo/narration.js";
import type { DemoResult, Step } from "../../src/demo/result.js";
import { totalsOf } from "../../src/demo/result.js";
import { tableLines, wrapList } from "../../src/demo/text.js";

const plain = (text: string) => text;
const narration = new Narration({ bold: plain, dim: plain, green: plain, red: plain });

function month(number: number, refreshMs: number, recomputeMs: number): Step {
  return {
    name: `month ${number}`,
    month: number,
    note: null,
    changes: [],
    horizon: 1n,
    status: "refreshed",
    refreshMs,
    recomputeMs,
    views: [],
  };
}

function result(steps: readonly Step[], ok = true): DemoResult {
  return { ok, steps, verified: [], totals: totalsOf(steps), kept: null, elapsedMs: 4_200 };
}

test("the closing says which way was faster, whichever it was", () => {
  const faster = narration.closing(result([month(1, 100, 1), month(2, 100, 250), month(3, 100, 350)]));
  expect(faster).toContain("After the first month, refreshing was 3.0 times faster than recomputing.");
  const slower = narration.closing(result([month(1, 1, 100), month(2, 300, 100)]));
  expect(slower).toContain("After the first month, refreshing was 3.0 times slower than recomputing.");
});

test("the first month and the extra steps are no part of the comparison", () => {
  const steps = [month(1, 1_000, 1), month(2, 30, 60), { ...month(3, 5, 500), month: null }];
  expect(totalsOf(steps)).toEqual({ months: 1, refreshMs: 30, recomputeMs: 60, views: [] });
  expect(narration.closing(result([month(1, 10, 20)])).join("\n")).not.toContain("times");
});

test("failed refreshes and wrong views are told in the verdict", () => {
  const failed: Step = { ...month(2, 1, 1), status: "failed" };
  expect(narration.closing(result([month(1, 1, 1), failed], false))).toContain("1 of 2 refreshes failed.");
});

test("columns are as wide as their widest cell and numbers stand to the right", () => {
  const lines = tableLines(
    [{ title: "a" }, { title: "n", align: "right", width: 3 }],
    [["long", "1"], "rule", ["b", "1,000"]],
  );
  expect(lines).toEqual(["a         n", "----  -----", "long      1", "----  -----", "b     1,000"]);
});

test("long lists go on under their first part", () => {
  const part = "x".repeat(40);
  expect(wrapList("> ", [part, part, part])).toEqual([`> ${part}, ${part},`, `  ${part}`]);
});
