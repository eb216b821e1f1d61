/** `npm run tpc`: every query of TPC-H and TPC-DS as a view, ten rounds of changes each. `--write` writes docs/tpc.md. */
import { parseArgs } from "node:util";
import { run } from "./prepare.mjs";

const { values } = parseArgs({ options: { write: { type: "boolean", default: false } } });
process.env.IVM_TPC = "full";
if (values.write) process.env.IVM_WRITE_DOCS = "1";
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--project", "unit", "--no-file-parallelism", "test/tpc"];
const code = await run(process.execPath, vitest);
const format = ["node_modules/@biomejs/biome/bin/biome", "format", "--write", "docs/tpc.md"];
process.exitCode = code || (values.write ? await run(process.execPath, format) : 0);
