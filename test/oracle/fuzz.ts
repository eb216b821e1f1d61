import { mkdir, writeFile } from "node:fs/promises";
import { test } from "vitest";
import { printFailure } from "./check.js";
import { checkSeeds, printTotals } from "./histories.js";

const runs = Number(process.env["IVM_FUZZ_RUNS"]);
const first = Number(process.env["IVM_FUZZ_SEED"]);
const large = process.env["IVM_FUZZ_LARGE"] === "1";
const shrinkMs = Number(process.env["IVM_FUZZ_SHRINK_MS"] ?? 90_000);
const maxFailures = Number(process.env["IVM_FUZZ_FAILURES"] ?? Number.POSITIVE_INFINITY);
const folder = new URL("./regressions/", import.meta.url);

/** Started by `npm run fuzz`, which checks the numbers. */
test(
  "fuzz",
  async () => {
    let done = 0;
    const started = Date.now();
    const totals = await checkSeeds({
      first,
      runs,
      large,
      shrinkMs,
      maxFailures,
      onProgress: (_, outcome, so) => {
        done++;
        if (outcome.kind === "failed") console.log(`\n${printFailure(outcome.failure)}\n`);
        if (done % 50 !== 0) return;
        const seconds = Math.round((Date.now() - started) / 1000);
        console.log(`${done}/${runs} in ${seconds} s: passed ${so.passed}, failed ${so.failures.length}`);
      },
    });
    console.log(printTotals(totals));
    await mkdir(folder, { recursive: true });
    for (const { seed, history, message } of totals.failures) {
      const file = new URL(`seed-${seed}.json`, folder);
      await writeFile(file, `${JSON.stringify({ seed, message, ...history }, null, 2)}\n`);
      console.log(`written: ${file.pathname}`);
    }
    if (totals.failures.length > 0) throw new Error(`${totals.failures.length} histories failed`);
  },
  24 * 60 * 60_000,
);
