import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** For `npm run fuzz` and `npm run mutants`, each of which names its file. */
export default defineConfig({
  test: {
    include: ["test/oracle/fuzz.ts", "test/oracle/mutants.ts"],
    globalSetup: ["test/setup/workspace.ts"],
    reporters: [["default", { summary: false }]],
    disableConsoleIntercept: true,
    // Each mutant has a process of its own.
    maxConcurrency: availableParallelism(),
  },
});
