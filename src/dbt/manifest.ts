/** What is read of a dbt project's `target/manifest.json`. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError } from "../errors.js";

const texts = z.union([z.string(), z.array(z.string())]).nullish();

const node = z.object({
  unique_id: z.string(),
  resource_type: z.string(),
  name: z.string(),
  alias: z.string().nullish(),
  schema: z.string().nullish(),
  path: z.string(),
  language: z.string().nullish(),
  description: z.string().nullish(),
  relation_name: z.string().nullish(),
  compiled_code: z.string().nullish(),
  tags: z.array(z.string()).nullish(),
  config: z.object({ materialized: z.string().nullish(), enabled: z.boolean().nullish(), unique_key: texts }),
  depends_on: z.object({ macros: z.array(z.string()).nullish(), nodes: z.array(z.string()).nullish() }).nullish(),
});

const source = z.object({
  unique_id: z.string(),
  schema: z.string(),
  identifier: z.string(),
  relation_name: z.string().nullish(),
});

const manifest = z.object({
  metadata: z.object({ dbt_schema_version: z.string(), adapter_type: z.string().nullish() }),
  nodes: z.record(z.string(), node),
  sources: z.record(z.string(), source),
});

export type Manifest = z.infer<typeof manifest>;
export type ManifestNode = z.infer<typeof node>;

/** The versions of the manifest's schema that this code knows: dbt 1.6 and later. */
const VERSIONS = [10, 11, 12];

/**
 * @param path the manifest, or the folder of the dbt project.
 * @throws ConfigError `manifest_unreadable`, `manifest_invalid` or `manifest_version`.
 */
export async function readManifest(path: string): Promise<Manifest> {
  const file = (await isFolder(path)) ? join(path, "target", "manifest.json") : path;
  const hint = "Run `dbt compile` in the dbt project, and name its folder or its target/manifest.json.";
  const options = { subject: { file }, hint };
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError("manifest_unreadable", `Can't read ${file}: ${reason}`, { ...options, cause: error });
  }
  const metadata = z.object({ metadata: z.object({ dbt_schema_version: z.string() }) }).safeParse(content);
  const name = metadata.success ? metadata.data.metadata.dbt_schema_version : undefined;
  if (name !== undefined && !VERSIONS.some((version) => name.endsWith(`/manifest/v${version}.json`))) {
    throw new ConfigError("manifest_version", `${file} has the schema ${name}, which is not known.`, {
      ...options,
      hint: `Known are the versions ${VERSIONS.join(", ")}: dbt 1.6 and later.`,
    });
  }
  const checked = manifest.safeParse(content);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const place = issue?.path.map(String).join(".") ?? "";
  throw new ConfigError("manifest_invalid", `${file} is no manifest of dbt: ${place}: ${issue?.message}`, options);
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
