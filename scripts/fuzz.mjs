/**
 * `npm run fuzz -- --runs N --seed S --features a,b`: N random histories, the seeds from S upwards. Views that hold
 * more than the plain operators hold the named ones, of those that test/oracle/generate/context.ts lists, else any;
 * with `running` each history has a journal with running window functions, and with `graph` a graph with a recursion over it.
 * `--large` takes all tables for large ones, which are read in another way.
 */
import { parseArgs } from "node:util";
import { run } from "./prepare.mjs";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000" },
    features: { type: "string" },
    large: { type: "boolean", default: false },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
  },
});
for (const name of ["runs", "seed"]) {
  const value = values[name];
  if (!/^[0-9]{1,9}$/.test(value)) throw new TypeError(`--${name} must be a whole number below a thousand million`);
}
console.log(`${values.runs} histories from seed ${values.seed}`);
process.env.IVM_FUZZ_RUNS = values.runs;
process.env.IVM_FUZZ_SEED = values.seed;
if (values.large) process.env.IVM_FUZZ_LARGE = "1";
if (values.features !== undefined) process.env.IVM_FUZZ_FEATURES = values.features;
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.fuzz.config.ts", "test/oracle/fuzz.ts"];
process.exitCode = await run(process.execPath, vitest);
