import { readdir, readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";
import { operatorPage, PAGES, supportMatrix, TABLES } from "./support-matrix.js";
import { unpadded } from "./tables.js";

const README = new URL("../../README.md", import.meta.url);
const [BEGIN, END] = ["<!-- written by `npm run docs` -->\n", "<!-- end -->"];

test(
  "README's table of what is incremental is what the planner says",
  async () => {
    await using place = await tempLake();
    await using lake = await open(place.config);
    const connection = await lake.connect();
    for (const sql of TABLES) await connection.run(sql);
    connection.closeSync();
    const table = await supportMatrix(lake);

    const readme = await readFile(README, "utf8");
    const [start, stop] = [readme.indexOf(BEGIN) + BEGIN.length, readme.indexOf(END)];
    expect(stop, "README.md has the place for the table").toBeGreaterThan(start);
    if (process.env["IVM_WRITE_DOCS"] !== undefined) {
      await writeFile(README, `${readme.slice(0, start)}\n${table}\n\n${readme.slice(stop)}`);
      return;
    }
    expect(unpadded(readme.slice(start, stop)), "`npm run docs` writes it").toBe(unpadded(table));
  },
  10 * 60_000,
);

test("every page of an operator tells what it is, its rule, a worked example and its cost", async () => {
  const folder = await readdir(new URL("../../docs/operators/", import.meta.url));
  const index = await readFile(new URL("../../docs/operators/README.md", import.meta.url), "utf8");
  for (const page of [...PAGES, ...folder.filter((name) => name !== "README.md")]) {
    const { title, parts } = await operatorPage(page);
    expect(title, page).not.toBe("");
    for (const part of ["what it is", "The rule", "Example", "Cost"]) {
      expect(parts.get(part)?.length ?? 0, `${page}: ${part}`).toBeGreaterThan(20);
    }
    // A worked one: a query, and what a change means for it.
    expect(parts.get("Example"), page).toMatch(/^```sql[\s\S]*```\n\n\S|PIVOT above/);
    expect(index, `the list of operators has ${page}`).toContain(`](${page})`);
  }
});
