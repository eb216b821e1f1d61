/** The DAG factory's own tests and checks, on the Airflow that it is made for. */
import { join } from "node:path";
import { execa } from "execa";
import { expect, test, vi } from "vitest";
import { folder } from "../project/files.js";
import { airflowEnvironment, FACTORY } from "./airflow.js";

// The first run on a machine installs Airflow.
vi.setConfig({ testTimeout: 600_000 });

test("the factory passes its pytest tests", async () => {
  const python = join(await airflowEnvironment(), "python");
  const env = { AIRFLOW_HOME: await folder(), PYTHONDONTWRITEBYTECODE: "1" };
  const words = ["-m", "pytest", "-q", "-p", "no:cacheprovider"];
  const { exitCode, all } = await execa(python, words, { cwd: FACTORY, env, all: true, reject: false });
  expect(exitCode, all).toBe(0);
  expect(all).toMatch(/\d+ passed/);
});

test("the factory is clean for ruff, which lints and formats it", async () => {
  const ruff = join(await airflowEnvironment(), "ruff");
  for (const words of [["check"], ["format", "--check"]]) {
    const { exitCode, all } = await execa(ruff, [...words, "--no-cache", "."], {
      cwd: FACTORY,
      all: true,
      reject: false,
    });
    expect(exitCode, all).toBe(0);
  }
});
