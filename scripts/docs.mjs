/** `npm run docs`: writes what the code says into the documentation and the schemas, and the API reference. */
import { run } from "./prepare.mjs";

process.env.IVM_WRITE_DOCS = "1";
const vitest = [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--project",
  "unit",
  "test/docs/support-matrix.test.ts",
  "test/docs/mutants.test.ts",
  "test/docs/schemas.test.ts",
];
const code = await run(process.execPath, vitest);
process.exitCode =
  code ||
  (await run(process.execPath, [
    "node_modules/@biomejs/biome/bin/biome",
    "format",
    "--write",
    "README.md",
    "docs",
    "schemas",
  ])) ||
  (await run(process.execPath, ["node_modules/typedoc/bin/typedoc"]));
