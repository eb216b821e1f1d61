/** How long commands wait for others. */
import { setTimeout } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { command, json } from "../cli/command.js";
import { expectNoLock } from "./dead-suite.js";
import { SharedProject } from "./shared-project.js";

vi.setConfig({ testTimeout: 180_000 });

test("a command waits for a locked catalog as long as it may, and then ends with exit code 75", async () => {
  await using project = await SharedProject.start(
    { catalog: "sqlite", data: "folder" },
    ["CREATE TABLE t AS SELECT 1 AS k"],
    { flat: "SELECT k FROM t" },
    "retry_for: 4s",
  );
  expect((await command(["apply"], project.options)).exitCode).toBe(0);
  const file = project.config.catalog.replace("sqlite:", "");
  await project.sql(`ATTACH '${file}' AS raw (TYPE sqlite)`);
  const lock = () => project.sql("BEGIN", "UPDATE raw.ducklake_metadata SET value = value");

  await lock();
  const start = performance.now();
  const late = await json<{ views?: unknown; error?: { code: string } }>(["refresh"], project.options);
  const took = performance.now() - start;
  expect(late.exitCode, late.stderr + late.stdout).toBe(75);
  expect(took).toBeGreaterThan(4_000);
  const hasty = performance.now();
  expect((await command(["refresh", "--retry-for", "0s"], project.options)).exitCode).toBe(75);
  expect(performance.now() - hasty).toBeLessThan(took);

  const running = command(["refresh", "--retry-for", "2m"], project.options);
  await setTimeout(4_000);
  await project.sql("ROLLBACK");
  const patient = await running;
  expect(patient.exitCode, patient.stderr).toBe(0);
  expect(await project.sql("SELECT k FROM lake.main.flat")).toEqual([[1]]);
});

test("nothing waits for a process that was killed, on SQLite", () =>
  expectNoLock({ catalog: "sqlite", data: "folder" }));
