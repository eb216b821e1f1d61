import { defineConfig } from "vitest/config";

/** For `npm run fuzz` only. */
export default defineConfig({
  test: {
    include: ["test/oracle/fuzz.ts"],
    globalSetup: ["test/setup/workspace.ts"],
    reporters: [["default", { summary: false }]],
    disableConsoleIntercept: true,
  },
});
