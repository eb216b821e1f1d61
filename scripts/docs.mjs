/** `npm run docs`: writes the parts of the documentation that are made from what the planner says. */
import { run } from "./prepare.mjs";

process.env.IVM_WRITE_DOCS = "1";
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--project", "unit", "test/docs"];
const code = await run(process.execPath, vitest);
process.exitCode =
  code ||
  (await run(process.execPath, ["node_modules/@biomejs/biome/bin/biome", "format", "--write", "README.md", "docs"]));
