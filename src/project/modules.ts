/** View modules: `views.ts` or `views.js`, which export definitions that the builder or anything else has made. */
import { basename } from "node:path";
import { z } from "zod";
import type { ViewDefinition } from "../types.js";
import type { Problems } from "./problems.js";

const MODULE = /^views\.[cm]?[jt]s$/;

/** True for the name of a file that exports definitions. */
export function isViewModule(file: string): boolean {
  return MODULE.test(basename(file));
}

const HINT = "Export them so: export default [view(…), view(…)], with view from ducklake-ivm/builder.";

const definition = z.looseObject({ name: z.string().min(1), sql: z.string().min(1) });
const definitions = z.union([definition.transform((one) => [one]), z.array(definition)]);

/**
 * Runs a module and reads the definitions of its default export. The loader is imported with the first module: it takes
 * TypeScript on every supported Node, and gives modules this package's own builder, wherever they stand.
 */
export async function readViewModule(file: string, problems: Problems): Promise<ViewDefinition[]> {
  const [{ createJiti }, builder] = await Promise.all([import("jiti"), import("../builder/index.js")]);
  const jiti = createJiti(import.meta.url, {
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
    virtualModules: { "ducklake-ivm/builder": builder },
  });
  let exported: unknown;
  try {
    exported = ((await jiti.import(file)) as { readonly default?: unknown }).default;
  } catch (error) {
    const message = `can't be loaded: ${error instanceof Error ? error.message : String(error)}`;
    const hint = error instanceof Error && "hint" in error && typeof error.hint === "string" ? error.hint : undefined;
    problems.add({ code: "view_module", message, hint: hint ?? "Run the file with node to see more.", file });
    return [];
  }
  const parsed = definitions.safeParse(exported);
  if (!parsed.success) {
    problems.add({ code: "view_module", message: "exports no definitions of views by default", hint: HINT, file });
    return [];
  }
  return parsed.data.map((one) => ({ ...(one as unknown as ViewDefinition), file }));
}
