/** `npm run nightly`: what takes too long for every change. 2,000 histories with new seeds, TPC-H and TPC-DS in full, all mutants. */
import { ROOT, run } from "./prepare.mjs";

const vitest = "node_modules/vitest/vitest.mjs";
const steps = [
  ["2,000 random histories", [`${ROOT}/scripts/fuzz.mjs`, "--runs", "2000"]],
  ["TPC-H and TPC-DS", [`${ROOT}/scripts/tpc.mjs`]],
  ["mutants", [vitest, "run", "--config", "vitest.fuzz.config.ts", "test/oracle/mutants.ts"]],
];
const failed = [];
for (const [name, args] of steps) {
  console.log(`\n${name}`);
  if ((await run(process.execPath, args)) !== 0) failed.push(name);
}
console.log(failed.length === 0 ? "\nall passed" : `\nfailed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
