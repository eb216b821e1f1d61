import { defineConfig } from "vitest/config";

/**
 * Three projects. `unit` needs nothing but this machine's Node and Python; files named `*.services.test.ts` belong to
 * `services`, whose set-up starts PostgreSQL and MinIO, and `*.browser.test.ts` to `browser`, whose set-up finds or
 * installs Chromium. Only a run that takes one of their files pays for that: `npx vitest run --project unit` never does.
 */
export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.services.test.ts", "test/**/*.browser.test.ts"],
          globalSetup: ["test/setup/workspace.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "services",
          include: ["test/**/*.services.test.ts"],
          globalSetup: ["test/setup/workspace.ts", "test/setup/services.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["test/**/*.browser.test.ts"],
          globalSetup: ["test/setup/workspace.ts", "test/setup/chromium.ts"],
        },
      },
    ],
  },
});
