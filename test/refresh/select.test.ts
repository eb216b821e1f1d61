import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OpenLake } from "../setup/open-lake.js";

let opened: OpenLake;

beforeAll(async () => {
  opened = await OpenLake.start();
  await opened.connection.run("CREATE TABLE orders (g INTEGER, v INTEGER)");
  await opened.connection.run("CREATE TABLE people (g INTEGER, name VARCHAR)");
  await opened.lake.define([
    { name: "base", sql: "SELECT g, sum(v) AS s FROM orders GROUP BY g", tags: ["daily"] },
    { name: "left_view", sql: "SELECT g FROM base WHERE s > 1", tags: ["finance", "left.side"] },
    { name: "right_view", sql: "SELECT s FROM base JOIN people USING (g)" },
    { name: "Top", sql: "SELECT g FROM left_view JOIN right_view ON g = s", tags: ["daily"] },
    { name: "other", sql: "SELECT name FROM people" },
  ]);
});
afterAll(() => opened[Symbol.asyncDispose]());

const select = async (...selectors: string[]): Promise<string> =>
  (await opened.lake.select({ select: selectors })).join(" ");

describe("a selector", () => {
  test.each([
    [["base"], "base"],
    [["TOP"], "Top"],
    [["+left_view"], "base left_view"],
    [["left_view+"], "left_view Top"],
    [["+left_view+"], "base left_view Top"],
    [["base+"], "base left_view right_view Top"],
    [["+top"], "base left_view right_view Top"],
    [["tag:daily"], "base Top"],
    [["tag:finance+"], "left_view Top"],
    [["+tag:left.*"], "base left_view"],
    [["*_view"], "left_view right_view"],
    [["?ther", "base"], "base other"],
    [["people+"], "right_view Top other"],
    [["main.ord*+"], "base left_view right_view Top"],
    [["*"], "base left_view right_view Top other"],
    [[], "base left_view right_view Top other"],
  ])("%j names %s", async (selectors, names) => {
    expect(await select(...selectors)).toBe(names);
  });

  test("can be taken away from others", async () => {
    expect(await opened.lake.select({ select: ["base+"], exclude: ["tag:daily"] })).toEqual([
      "left_view",
      "right_view",
    ]);
    expect(await opened.lake.select({ exclude: ["+left_view"] })).toEqual(["right_view", "Top", "other"]);
  });

  test.each([
    ["bas", 'Did you mean "base"? Known: base, left_view, right_view, Top, other.'],
    ["tag:dayly", 'Did you mean "tag:daily"? Known: tag:daily, tag:finance, tag:left.side.'],
    ["nothing*", "Known: base,"],
    ["orders", "Write main.orders+ for the views that read it."],
    ["ord*+", "Known: base,"],
    ["", "Known: base,"],
    ["+", "Known: base,"],
  ])("that names no view is an error: %s", async (selector, hint) => {
    const error = await opened.lake.select({ select: [selector] }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "selector_unknown", hint: expect.stringContaining(hint) });
    await expect(opened.lake.select({ exclude: [selector] })).rejects.toMatchObject({ code: "selector_unknown" });
  });
});
