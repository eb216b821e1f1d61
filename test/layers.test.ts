import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

/** The direction of imports in src/: what each part may import besides itself and `COMMON`. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  engine: ["quote"],
  sql: ["engine", "quote"],
  plan: ["ast", "quote"],
  catalog: ["engine", "ast", "parse", "quote", "plan"],
  delta: ["ast", "quote", "plan"],
  render: ["ast", "quote", "plan", "delta"],
  view: ["engine", "ast", "parse", "quote", "plan", "catalog", "delta", "render", "builder"],
  log: ["engine", "ast", "parse", "quote", "plan", "catalog", "delta", "render", "view"],
  replay: ["engine", "ast", "parse", "quote", "plan", "catalog", "delta", "render", "view", "log"],
  refresh: ["engine", "ast", "parse", "quote", "plan", "catalog", "delta", "render", "view", "log"],
  dbt: ["engine", "ast", "parse", "quote"],
  builder: ["quote"],
  ingest: ["engine", "ast", "parse", "quote", "plan", "catalog", "delta", "render", "view"],
  project: ["builder"],
  demo: ["project", "index", "quote"],
  report: [],
  cli: ["project", "index", "demo", "report", "quote"],
};

const COMMON = ["errors", "types", "logger", "suggest", "json", "version"];

/** What a file of `src/<part>/` writes to import each thing. `sql` has three members, because pure parts may use two. */
const SPECIFIERS: Readonly<Record<string, string>> = {
  errors: "../errors.js",
  types: "../types.js",
  logger: "../logger.js",
  suggest: "../suggest.js",
  json: "../json.js",
  version: "../version.js",
  lake: "../lake.js",
  index: "../index.js",
  ast: "../sql/ast.js",
  parse: "../sql/parse.js",
  quote: "../sql/quote.js",
  ...Object.fromEntries(
    Object.keys(MAY_IMPORT)
      .filter((part) => part !== "sql")
      .map((part) => [part, `../${part}/something.js`]),
  ),
};

const IMPURE = ["@duckdb/node-api", "node:fs", "node:fs/promises", "node:child_process", "@aws-sdk/client-s3"];

const ROOT = join(import.meta.dirname, "..");
const folder = await mkdtemp(join(tmpdir(), "ducklake-ivm-test-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes the files beside a copy of biome.json and answers those with a forbidden import. */
async function forbidden(files: Readonly<Record<string, string>>): Promise<string[]> {
  await rm(join(folder, "src"), { recursive: true, force: true });
  for (const name of ["biome.json", "package.json", ".gitignore"]) await copyFile(join(ROOT, name), join(folder, name));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  const args = ["lint", "--only=style/noRestrictedImports", "--reporter=json", "--max-diagnostics=none", "."];
  const biome = join(ROOT, "node_modules", ".bin", "biome");
  const run = promisify(execFile)(biome, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  const { stdout } = await run.catch((error) => error as { stdout: string });
  const { diagnostics, summary } = JSON.parse(stdout) as {
    diagnostics: { category: string; location: { path: string } }[];
    summary: { unchanged: number };
  };
  expect(summary.unchanged).toBeGreaterThanOrEqual(Object.keys(files).length);
  return diagnostics
    .filter(({ category }) => category === "lint/style/noRestrictedImports")
    .map(({ location }) => location.path)
    .sort();
}

test("the linter's rules are exactly these directions", async () => {
  const files: Record<string, string> = {};
  const wrong: string[] = [];
  for (const [part, allowed] of Object.entries(MAY_IMPORT)) {
    for (const [target, specifier] of Object.entries(SPECIFIERS)) {
      const own = target === part || (part === "sql" && ["ast", "parse"].includes(target));
      const right = own || COMMON.includes(target) || allowed.includes(target);
      const statements = {
        value: `import "${specifier}";`,
        type: `import type { T } from "${specifier}";\nexport type U = T;`,
      };
      for (const [kind, statement] of Object.entries(statements)) {
        const path = `src/${part}/imports-${target}-${kind}.ts`;
        files[path] = `${statement}\n`;
        if (!right) wrong.push(path);
      }
      // The same rule holds in a folder below.
      const nested = `src/${part}/inner/imports-${target}.ts`;
      files[nested] = `import "../${specifier}";\n`;
      if (!right) wrong.push(nested);
    }
  }
  expect(wrong.length).toBeGreaterThan(200);
  expect(await forbidden(files)).toEqual(wrong.sort());
});

test("plan, delta, render and builder are pure; the foundation and the surface keep their places", async () => {
  const files: Record<string, string> = {
    "src/errors.ts": 'import "./engine/session.js";\n',
    "src/lake.ts": 'import "./cli/main.js";\n',
    "src/index.ts": 'export * from "./demo/run.js";\n',
    "src/logger.ts": 'import "./errors.js";\n',
    "src/types.ts": 'export type * from "./types/any.js";\n',
    "src/types/any.ts": 'import "./other.js";\n',
    "src/types/wrong.ts": 'import "../engine/session.js";\n',
  };
  for (const part of ["plan", "delta", "render", "builder"]) {
    for (const [index, specifier] of IMPURE.entries()) {
      files[`src/${part}/impure-${index}.ts`] = `import "${specifier}";\n`;
    }
  }
  const right = ["src/logger.ts", "src/types.ts", "src/types/any.ts"];
  const wrong = Object.keys(files).filter((path) => !right.includes(path));
  files["test/any.ts"] = 'import "../src/engine/session.js";\n';
  expect(await forbidden(files)).toEqual(wrong.sort());
});
