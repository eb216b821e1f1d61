import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";

const PAGE = new URL("../../docs/testing.md", import.meta.url);
const [BEGIN, END] = ["<!-- mutants, written by `npm run docs` -->\n", "<!-- end of mutants -->"];

test("testing.md lists every mutant by its name", async () => {
  const mutants: readonly { name: string; file: string }[] = JSON.parse(
    await readFile(new URL("../oracle/mutants.json", import.meta.url), "utf8"),
  );
  const files = [...new Set(mutants.map(({ file }) => file))].sort();
  const list = files
    .flatMap((file) => [
      `- \`${file}\``,
      ...mutants.filter((mutant) => mutant.file === file).map(({ name }) => `  - ${name}`),
    ])
    .join("\n");
  expect(new Set(mutants.map(({ name }) => name)).size, "names are unique").toBe(mutants.length);

  const page = await readFile(PAGE, "utf8");
  const [start, stop] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  expect(stop, "testing.md has the place for the list").toBeGreaterThanOrEqual(start);
  if (process.env["IVM_WRITE_DOCS"] !== undefined) {
    await writeFile(PAGE, `${page.slice(0, start)}\n${list}\n\n${page.slice(stop)}`);
    return;
  }
  expect(page.slice(start, stop).trim(), "`npm run docs` writes it").toBe(list);
});
