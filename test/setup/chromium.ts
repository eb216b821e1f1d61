import type { TestProject } from "vitest/node";
import { findChromium } from "../../infra/chromium.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** The browser's program; only there in tests of the `browser` project. */
    chromium: string;
  }
}

export async function setup(project: TestProject): Promise<void> {
  project.provide("chromium", await findChromium());
}
