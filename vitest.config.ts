import { defineConfig } from "vitest/config";

/**
 * Two projects. `unit` needs nothing but this machine's Node and Python; files named `*.services.test.ts` belong to
 * `services`, whose set-up starts PostgreSQL and MinIO. Only a run that takes one of its files pays for that:
 * `npx vitest run --project unit` never does.
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
          exclude: ["test/**/*.services.test.ts"],
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
    ],
  },
});
