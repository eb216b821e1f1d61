/** `npm run docs`: writes what the planner says into the documentation, and the API reference from the docstrings. */
import { run } from "./prepare.mjs";

process.env.IVM_WRITE_DOCS = "1";
const vitest = [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--project",
  "unit",
  "test/docs/support-matrix.test.ts",
  "test/docs/mutants.test.ts",
];
const code = await run(process.execPath, vitest);
process.exitCode =
  code ||
  (await run(process.execPath, ["node_modules/@biomejs/biome/bin/biome", "format", "--write", "README.md", "docs"])) ||
  (await run(process.execPath, ["node_modules/typedoc/bin/typedoc"]));
