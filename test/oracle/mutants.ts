/**
 * Breaks a rule on purpose and shows that the random histories notice: a check of the oracle, not of the library.
 * Each mutant is one textual change to a copy of `src/`, listed in `mutants.json`. Started by `npm run mutants`, which takes long.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Operators that views should hold more often, where few histories would meet the rule otherwise. */
  readonly features?: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const mutants: readonly Mutant[] = JSON.parse(await readFile(join(root, "test/oracle/mutants.json"), "utf8"));
const runs = process.env["IVM_MUTANT_RUNS"] ?? "500";
describe("the random histories notice that", () => {
  // One by one: a name that `each` puts into a title is cut after 40 characters, and could not be asked for with -t.
  for (const { name, file, find, replace, features } of mutants) {
    test.concurrent(name, { timeout: 60 * 60_000 }, async () => {
      const started = performance.now();
      const source = await readFile(join(root, file), "utf8");
      expect(source.split(find), `${file} holds the text to change once`).toHaveLength(2);
      const copy = await copyProject();
      try {
        await writeFile(
          join(copy, file),
          source.replace(find, () => replace),
        );
        const output = await fuzz(copy, features);
        // Anything but a difference that the oracle saw, such as code that does not run at all, is no catch.
        const caught = /rows \(\+ too many, - missing\)|physical_table_altered|were found\. Something else/.test(
          output,
        );
        console.log(
          `${caught ? "caught" : "SURVIVED"} after ${Math.round((performance.now() - started) / 1000)} s: ${name}`,
        );
        expect(caught, output.slice(-2_000)).toBe(true);
      } finally {
        await rm(copy, { recursive: true, force: true, maxRetries: 3 });
      }
    });
  }
});

async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "ducklake-ivm-mutant-"));
  for (const name of ["src", "test", "infra", "package.json", "tsconfig.json", "vitest.fuzz.config.ts"]) {
    await cp(join(root, name), join(copy, name), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** Runs histories over the copy up to the first failure. */
async function fuzz(copy: string, features = ""): Promise<string> {
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.fuzz.config.ts", "test/oracle/fuzz.ts"];
  const env = {
    ...process.env,
    IVM_FUZZ_RUNS: runs,
    IVM_FUZZ_SEED: "1",
    IVM_FUZZ_SHRINK_MS: "0",
    IVM_FUZZ_FAILURES: "1",
    IVM_FUZZ_FEATURES: features,
  };
  const child = spawn(process.execPath, vitest, { cwd: copy, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return output;
}
