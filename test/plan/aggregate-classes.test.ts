import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { aggregateClasses } from "../../src/plan/aggregate-classes.js";
import { loadFunctions } from "../../src/sql/functions.js";
import { memorySession } from "../sql/engine.js";
import { aggregateTable } from "./aggregate-table.js";

test("every aggregate that the engine has is in the table, and nothing else is", async () => {
  const { aggregates } = await loadFunctions(await memorySession());
  expect(aggregateClasses().map((entry) => entry.name)).toEqual([...aggregates].sort());
});

test("an aggregate has one class", () => {
  const names = aggregateClasses().map((entry) => entry.name);
  expect(new Set(names).size).toBe(names.length);
});

test("the documentation has the table as it is", async () => {
  const page = await readFile(new URL("../../docs/operators/aggregates.md", import.meta.url), "utf8");
  const rows = page
    .split("\n")
    .filter((line) => /^\| (folded|extended|reread|window) /.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim())
        .join(" | "),
    );
  expect(rows).toEqual(aggregateTable());
});
