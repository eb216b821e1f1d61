/** What docs/ingest.md shows is what happens. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import ts from "typescript";
import { expect, it } from "vitest";
import { blocksOf, readPage } from "../docs/page.js";
import { BINARY, processOptions } from "./command.js";
import { project, sql } from "./lake.js";

const INDEX = new URL("../../dist/index.js", import.meta.url).href;

const GUIDE = blocksOf(await readPage("docs/ingest.md"));

/** The blocks of a language, in their order. */
function blocks(language: string): string[] {
  return GUIDE.filter((block) => block.language === language).map(({ text }) => text);
}

const PRODUCTS = [
  "CREATE TABLE products (id INTEGER, title VARCHAR, price DECIMAL(8, 2))",
  "INSERT INTO products SELECT i, 'product ' || i, i * 1.5 FROM range(9) r(i)",
];

/** One row is new, two are others, and one is gone. */
const CSV = `id,title,price
1,product 1,9.99
2,product two,3.00
${[3, 4, 5, 6, 7, 8].map((i) => `${i},product ${i},${i * 1.5}`).join("\n")}
9,new,1.00
`;

async function shop(csv: string): Promise<string> {
  const cwd = await project({}, PRODUCTS);
  await writeFile(join(cwd, "products.csv"), csv);
  await mkdir(join(cwd, "bin"));
  await symlink(BINARY, join(cwd, "bin", "ducklake-ivm"));
  return cwd;
}

async function shell(cwd: string, script: string) {
  const path = `${join(cwd, "bin")}:${process.env["PATH"]}`;
  const { exitCode, stdout, stderr } = await execa("sh", ["-c", script], processOptions({ cwd, env: { PATH: path } }));
  return { exitCode, stdout, stderr };
}

it("the commands", async () => {
  const cwd = await shop(CSV);
  const [merge = "", byQuery = ""] = blocks("sh");
  const [output = "", error = ""] = blocks("");
  const merged = await shell(cwd, merge);
  expect(merged).toMatchObject({ exitCode: 0, stderr: "" });
  expect(merged.stdout.replace(/\d+\)/, "7)")).toBe(output.trim());
  expect((await shell(cwd, byQuery)).stdout).toMatch(/^main\.products: 2 updated \(snapshot \d+\)$/);

  await writeFile(join(cwd, "products.csv"), "id,title,price\n7,a,1\n7,b,2\n");
  const refused = await shell(cwd, merge);
  expect(refused).toMatchObject({ exitCode: 1, stdout: "", stderr: error.trim() });
});

it("the program", { timeout: 120_000 }, async () => {
  const cwd = await shop(CSV);
  await sql(
    cwd,
    "CREATE TABLE events (id INTEGER)",
    "CREATE SCHEMA staging",
    "CREATE TABLE staging.events AS SELECT 1 AS id UNION ALL SELECT 2",
  );
  const [program = ""] = blocks("ts");
  const source = program.replace('"ducklake-ivm"', JSON.stringify(INDEX));
  const options = { module: ts.ModuleKind.ES2022, target: ts.ScriptTarget.ES2022 };
  await writeFile(join(cwd, "program.mjs"), ts.transpile(source, options));
  const { stdout } = await execa(process.execPath, ["program.mjs"], { cwd });
  expect(stdout).toContain("inserted: 1n, updated: 2n, deleted: 1n");
  expect(await sql(cwd, "SELECT count(*)::INTEGER AS n FROM events")).toEqual([{ n: 2 }]);
});
