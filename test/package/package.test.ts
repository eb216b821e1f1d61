import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { publint } from "publint";
import ts from "typescript";
import { expect, test } from "vitest";
import { folder } from "../project/files.js";
import { installPackage, ROOT } from "./install.js";

test("npm packs what is needed and nothing else", async () => {
  const { stdout } = await execa("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT });
  const [packed] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const files = packed.files.map(({ path }) => path);
  for (const needed of [
    "package.json",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "dist/index.js",
    "dist/index.d.ts",
    "dist/builder/index.js",
    "dist/builder/index.d.ts",
    "dist/cli/main.js",
    "docs/README.md",
    "docs/change-log.md",
    "schemas/project.v1.json",
    "schemas/run-results.v1.json",
  ]) {
    expect(files).toContain(needed);
  }
  const allowed =
    /^(dist\/.+\.(js|js\.map|d\.ts)|dist\/.+\.(json|html|css|svg)|docs\/.+\.(md|png)|examples\/.+|schemas\/.+\.json|[A-Z]+(\.md)?|package\.json)$/;
  expect(files.filter((file) => !allowed.test(file))).toEqual([]);
  expect(files.filter((file) => /test|vitest|\.env|fixtures/i.test(file) && !file.startsWith("docs/"))).toEqual([]);
});

test("publint finds nothing wrong", async () => {
  const { messages } = await publint({ pkgDir: ROOT, strict: true });
  expect(messages.map(({ code }) => code)).toEqual([]);
});

const CONSUMER = `
import { IvmError, type Lake, type LakeConfig, open, type RefreshEvent, type ViewResult } from "ducklake-ivm";
import { count, source, sum, view } from "ducklake-ivm/builder";
const config: LakeConfig = { catalog: "lake.ducklake" };
export async function main(): Promise<readonly ViewResult[]> {
  await using lake: Lake = await open(config, { signal: AbortSignal.timeout(1) });
  const totals = source<{ id: number; amount: number }>("orders").aggregate({ by: "id", n: count(), total: sum("amount") });
  await lake.define([view("totals", totals.primaryKey("id"))]);
  const tell = (event: RefreshEvent): void => console.log(event.kind);
  try {
    return (await lake.refresh({ onProgress: tell })).views;
  } catch (error) {
    if (error instanceof IvmError) console.log(error.code satisfies string);
    throw error;
  }
}
`;

test.each([
  ["NodeNext", ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext],
  ["a bundler's resolution", ts.ModuleKind.ESNext, ts.ModuleResolutionKind.Bundler],
] as const)("a program that uses the package is type-checked with %s", async (_, module, moduleResolution) => {
  const directory = await folder({ "package.json": '{ "type": "module" }', "program.ts": CONSUMER });
  await installPackage(directory);
  await writeFile(join(directory, "wrong.ts"), CONSUMER.replace('sum("amount")', 'sum("amuont")'));
  const options: ts.CompilerOptions = {
    module,
    moduleResolution,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
  };
  const check = (file: string): string[] =>
    ts
      .getPreEmitDiagnostics(ts.createProgram([join(directory, file)], options))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
  expect(check("program.ts")).toEqual([]);
  expect(check("wrong.ts").join()).toContain("amuont");
});
