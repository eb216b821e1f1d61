import type { TestProject } from "vitest/node";
import { type Endpoints, startServices } from "../../infra/services.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** Only there in tests of the `services` project. */
    services: Endpoints;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const services = await startServices();
  project.provide("services", services.endpoints);
  return services.stop;
}
