import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { blocksOf, PageFolder, readPage } from "../docs/page.js";
import { folder } from "../project/files.js";
import { installPackage, npmWithPackage, ROOT } from "./install.js";

const EXAMPLES = await readdir(join(ROOT, "examples"));

test.each(EXAMPLES)("examples/%s does what its page says", { timeout: 300_000 }, async (name) => {
  const page = `examples/${name}/README.md`;
  const directory = await folder({ "package.json": "{}" });
  await cp(join(ROOT, "examples", name), directory, { recursive: true });
  const blocks = blocksOf(await readPage(page));
  for (const { words, text } of blocks.filter(({ words }) => words.includes("."))) {
    expect(await readFile(join(directory, words), "utf8"), words).toBe(text);
  }
  const [lake] = blocks.filter(({ words }) => words === "lake.sql");
  const run = new PageFolder(directory, await npmWithPackage());
  if (lake !== undefined) await run.run(page, [{ ...lake, words: "" }]);
  await run.run(page, blocks);
});

test.each(EXAMPLES)("the views of examples/%s are right by their types", async (name) => {
  const directory = await folder({ "package.json": '{ "type": "module" }' });
  await cp(join(ROOT, "examples", name), directory, { recursive: true });
  await installPackage(directory);
  const program = ts.createProgram([join(directory, "views/views.ts")], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  });
  const found = ts.getPreEmitDiagnostics(program);
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "))).toEqual([]);
});
