/** Links between the pages, and their pictures, lead somewhere. */
import { access, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readPage } from "./page.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

async function pages(): Promise<string[]> {
  const docs = await readdir(join(ROOT, "docs"), { recursive: true });
  // The reference of the API is written from the docstrings, with its own links.
  const own = docs.filter((name) => name.endsWith(".md") && !name.startsWith("api"));
  return [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "examples/shop/README.md",
    ...own.map((name) => `docs/${name}`),
  ];
}

/** What a page's text leads to, its code left out. */
function linksOf(page: string): string[] {
  const text = page.replaceAll(/^```[\s\S]*?^```|^ {4}.*$|`[^`\n]*`/gm, "");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g), ...text.matchAll(/(?:src|srcset|href)="([^"]+)"/g)];
  return links.map(([, link]) => link ?? "").filter((link) => !/^https?:/.test(link));
}

/** The names of a page's headings, as GitHub makes anchors of them. */
function anchorsOf(page: string): string[] {
  const headings = page.replaceAll(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-"),
  );
}

test("every link and picture leads to a file, and to a heading where it names one", async () => {
  const lost: string[] = [];
  let links = 0;
  for (const name of await pages()) {
    for (const link of linksOf(await readPage(name))) {
      links += 1;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? name : join(dirname(name), path);
      const isThere = await access(join(ROOT, target)).then(
        () => true,
        () => false,
      );
      const isHeading = anchor === undefined || (isThere && anchorsOf(await readPage(target)).includes(anchor));
      if (!isThere || !isHeading) lost.push(`${name}: ${link}`);
    }
  }
  expect(lost).toEqual([]);
  expect(links).toBeGreaterThan(150);
});

test("the README shows the report, by day and by night", async () => {
  expect(linksOf(await readPage("README.md")).filter((link) => link.endsWith(".png"))).toEqual([
    "docs/report-dark.png",
    "docs/report-light.png",
  ]);
});
