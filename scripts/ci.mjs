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
  console.log("\nnpm audit");
  await audit();
}

const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
process.exitCode = ran && totals.failed === 0 ? 0 : 1;

/** Known weaknesses of what users get. Not every registry answers; where none does, the pinned hashes are what is checked. */
async function audit() {
  // Installed by now.
  const { execa } = await import("execa");
  const { stdout, stderr, exitCode } = await execa("npm", ["audit", "--omit=dev", "--audit-level=high"], {
    reject: false,
  });
  if (/audit endpoint returned an error|ENOTFOUND|ECONNREFUSED|ETIMEDOUT/.test(stdout + stderr)) {
    console.log("The registry does not answer audits here.");
    return;
  }
  console.log(stdout);
  totals[exitCode === 0 ? "passed" : "failed"] += 1;
}
