import { expect, test } from "vitest";
import { aggregateClasses } from "../../src/plan/aggregate-classes.js";
import { loadFunctions } from "../../src/sql/functions.js";
import { memorySession } from "../sql/engine.js";

test("every aggregate that the engine has is in the table, and nothing else is", async () => {
  const { aggregates } = await loadFunctions(await memorySession());
  expect(aggregateClasses().map((entry) => entry.name)).toEqual([...aggregates].sort());
});

test("an aggregate has one class", () => {
  const names = aggregateClasses().map((entry) => entry.name);
  expect(new Set(names).size).toBe(names.length);
});
