/**
 * `npm run nightly`: what takes too long for every change. 2,000 histories with new seeds, and some of what is rare in them;
 * TPC-H and TPC-DS in full; all mutants.
 */
import { ROOT, run } from "./prepare.mjs";

const vitest = "node_modules/vitest/vitest.mjs";
const steps = [
  ["2,000 random histories", [`${ROOT}/scripts/fuzz.mjs`, "--runs", "2000"]],
  ["500 histories whose tables are taken for large ones", [`${ROOT}/scripts/fuzz.mjs`, "--runs", "500", "--large"]],
  [
    "400 histories with rare operators",
    [
      `${ROOT}/scripts/fuzz.mjs`,
      "--runs",
      "400",
      "--features",
      "distinctAggregate,momentAggregate,bitAggregate,subqueryValue",
    ],
  ],
  ["200 histories with graphs", [`${ROOT}/scripts/fuzz.mjs`, "--runs", "200", "--features", "graph,recursive"]],
  ["200 histories with journals", [`${ROOT}/scripts/fuzz.mjs`, "--runs", "200", "--features", "running,window"]],
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
