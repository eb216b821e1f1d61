import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installPackage } from "../package/install.js";
import { folder } from "../project/files.js";
import { blocksOf, PageFolder, readPage } from "./page.js";

/** Guides whose blocks are all run, in their order. */
const GUIDES = ["first-project", "builder", "library", "operating"];

test.each(GUIDES)("docs/%s.md does what it says", { timeout: 300_000 }, async (guide) => {
  const page = `docs/${guide}.md`;
  const directory = await folder();
  await installPackage(directory);
  const blocks = blocksOf(await readPage(page));
  expect(blocks.filter(({ words }) => words !== "shown").length).toBeGreaterThan(1);
  await new PageFolder(directory, join(directory, "node_modules/.bin")).run(page, blocks);
});

test("the index of the documentation links every page, and only pages that are there", async () => {
  const index = await readPage("docs/README.md");
  const links = [...index.matchAll(/\]\(([\w/-]+\.md)\)/g)].map(([, name]) => name ?? "");
  const docs = new URL("../../docs/", import.meta.url);
  const names = [
    ...(await readdir(docs)),
    ...(await readdir(new URL("guides/", docs))).map((name) => `guides/${name}`),
  ];
  const pages = names.filter((name) => name.endsWith(".md") && name !== "README.md");
  expect(links.filter((name) => !pages.includes(name))).toEqual([]);
  expect(pages.filter((name) => !links.includes(name))).toEqual([]);
});
