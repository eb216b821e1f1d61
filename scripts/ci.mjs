/**
 * `.ci/run`: all tests and all checks. Its last line is `N passed, N failed` (and `, N skipped`); the checks count
 * as one test. Ends with an error where anything failed or nothing ran.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./prepare.mjs";

// Logs are read as plain text.
process.env.NO_COLOR ??= "1";

const folder = await mkdtemp(join(tmpdir(), "ducklake-ivm-ci-"));
const reportFile = join(folder, "vitest.json");
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
const testCode = await run("npm", ["test", "--", ...reporters]);
const report = await readFile(reportFile, "utf8").then(JSON.parse, () => undefined);
await rm(folder, { recursive: true, force: true });

const totals = { passed: 0, failed: 0, skipped: 0 };
for (const file of report?.testResults ?? []) {
  for (const { status } of file.assertionResults) {
    if (status === "passed" || status === "failed") totals[status] += 1;
    else totals.skipped += 1;
  }
  // A file that could not even be loaded has no tests to count.
  if (file.status === "failed" && !file.assertionResults.some(({ status }) => status === "failed")) totals.failed += 1;
}
const ran = totals.passed + totals.failed > 0;
if (testCode !== 0 && totals.failed === 0) {
  console.log(`npm test ended with code ${testCode} although no test failed.`);
  totals.failed += 1;
}

if (report !== undefined) {
  console.log("\nnpm run check");
  const checkCode = await run("npm", ["run", "--silent", "check"]);
  totals[checkCode === 0 ? "passed" : "failed"] += 1;
  if (checkCode !== 0) console.log("npm run check failed.");
}

const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
process.exitCode = ran && totals.failed === 0 ? 0 : 1;
