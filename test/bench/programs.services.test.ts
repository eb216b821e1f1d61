/** The programs that show what the reliability page says, each in a small form: they find nothing, and end by themselves. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test.each([
  [
    "crashes",
    "--kills 4 --strikes 1 --cuts 2 --fills 1 --freezes 0 --kinds postgres:s3,sqlite:folder",
    /\b4 processes were killed/,
  ],
  [
    "load",
    "--seconds 4 --tables 3 --views 12 --writers 2 --checkpoint 2 --growth 4",
    /equal to its query at the end\s+yes/,
  ],
  ["long-life", "--refreshes 4 --in-process 2 --views 6 --checkpoint-every 2 --growth 8", /2 refreshes in one process/],
])("bench/%s.mjs", { timeout: 600_000 }, async (name, options, says) => {
  const program = fileURLToPath(new URL(`../../bench/${name}.mjs`, import.meta.url));
  const { stdout } = await run(process.execPath, [program, ...options.split(" ")], { maxBuffer: 16 * 1024 * 1024 });
  expect(stdout).toMatch(says);
});
