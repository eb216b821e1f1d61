import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** A folder for everything that a run's tests write; removed when the run ends, whatever the tests left. */
    workspace: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const workspace = await mkdtemp(join(tmpdir(), "ducklake-ivm-test-"));
  project.provide("workspace", workspace);
  return () => rm(workspace, { recursive: true, force: true, maxRetries: 3 });
}
