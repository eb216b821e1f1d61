import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** A folder for everything that a run's tests write; removed when the run ends, whatever the tests left. */
    workspace: string;
  }
}

export function setup(project: TestProject): void {
  const workspace = mkdtempSync(join(tmpdir(), "ducklake-ivm-test-"));
  project.provide("workspace", workspace);
  // Not a tear-down: an interrupted run has none.
  process.once("exit", () => rmSync(workspace, { recursive: true, force: true }));
}
