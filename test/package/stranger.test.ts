/** A stranger follows the README from an empty folder, word for word, with the package as it is published. */
import { expect, test } from "vitest";
import { blocksOf, PageFolder, readPage } from "../docs/page.js";
import { folder } from "../project/files.js";
import { npmWithPackage } from "./install.js";

test("the README's way from an empty folder to a view", { timeout: 300_000 }, async () => {
  const blocks = blocksOf(await readPage("README.md"), "On your own lake");
  expect(blocks.map(({ language }) => language)).toContain("yaml");
  const commands = blocks.filter(({ language }) => language === "sh").map(({ text }) => text);
  for (const command of ["install", "init", "apply", "refresh", "verify", "explain"]) {
    expect(commands.join("\n")).toContain(`ducklake-ivm ${command}`.replace("ducklake-ivm install", "npm install"));
  }
  await new PageFolder(await folder(), await npmWithPackage()).run("README.md", blocks);
});
