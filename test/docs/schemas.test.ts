// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration has references of this form.
/** The published schema of the configuration says what the loader says. */
import { readFile, writeFile } from "node:fs/promises";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { ProjectError } from "../../src/index.js";
import { load } from "../project/files.js";
import { configSchema, documentedKeys } from "./config-schema.js";
import { readPage } from "./page.js";

const FILE = new URL("../../schemas/project.v1.json", import.meta.url);
const documented = documentedKeys(await readPage("docs/configuration.md"));

interface Section {
  readonly properties?: Readonly<Record<string, Section & { readonly description?: string }>>;
}

/** `key` and `section.key` of everything that may be set. */
function keysOf(schema: Section): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, { properties }]) =>
    properties === undefined ? [key] : Object.keys(properties).map((name) => `${key}.${name}`),
  );
}

test("the published schema is made of the loader's shape, and documented like it", async () => {
  const schema = configSchema(documented);
  if (process.env["IVM_WRITE_DOCS"] !== undefined) {
    await writeFile(FILE, JSON.stringify(schema));
    return;
  }
  expect(JSON.parse(await readFile(FILE, "utf8")), "`npm run docs` writes it").toEqual(schema);
  const keys = keysOf(schema as Section);
  expect(keys.length).toBeGreaterThan(25);
  expect([...documented.keys()].sort()).toEqual([...keys].sort());
  expect([...documented.values()].filter((text) => text.length < 5)).toEqual([]);
});

/** For each key values that are right, and some that are wrong. */
const VALUES: Readonly<Record<string, { readonly right: readonly string[]; readonly wrong: readonly string[] }>> = {
  "lake.catalog": { right: ["x.ducklake", '"postgres:dbname=x"', "${CATALOG}"], wrong: ["", "7", "[x]", '""'] },
  "lake.data_path": { right: ["files", "s3://b/p"], wrong: ["true", "{}", '""'] },
  "lake.metadata_schema": { right: ["m"], wrong: ["2024", '""'] },
  "s3.endpoint": { right: ["localhost:9000"], wrong: ["9000"] },
  "s3.region": { right: ["eu-central-1"], wrong: ["[eu]"] },
  "s3.url_style": { right: ["path", "vhost", "${STYLE}"], wrong: ["paths", "true"] },
  "s3.use_ssl": { right: ["true", "false", "${FLAG}"], wrong: ["1", "maybe", "yes"] },
  views: { right: ["views"], wrong: ["7", '""'] },
  schema: { right: ["marts"], wrong: ["7"] },
  state_schema: { right: ["state"], wrong: ["7"] },
  float_sums: { right: ["reread", "fold"], wrong: ["folded", "1"] },
  target_lag: { right: ["90s", "15m", "12h", "7d", "${TIME}"], wrong: ["15", '"15"', "15 m", "1w", "1234567890s"] },
  metrics: { right: ["m.prom"], wrong: ["1"] },
  target_path: { right: ["target", "../out"], wrong: ["7", '""'] },
  write_json: { right: ["false", "true"], wrong: ["0", "off"] },
  "openlineage.url": { right: ["http://host:5000", "HTTPS://host/x"], wrong: ["ftp://host", "host", "5000"] },
  "openlineage.file": { right: ["x.jsonl"], wrong: ["1"] },
  "openlineage.namespace": { right: ["shop"], wrong: ["1"] },
  "openlineage.timeout": { right: ["5s"], wrong: ["5", "soon"] },
  "log.path": { right: ["logs", "s3://b/logs"], wrong: ["1"] },
  "log.keep": { right: ["7d", "1 snapshot", "500 snapshots", "${KEEP}"], wrong: ["7", "7 d", "snapshots", "5 days"] },
  "log.max_lag": { right: ["30d", "500 snapshots"], wrong: ["30"] },
  "log.fan_out": { right: ["2", "8"], wrong: ["0", "-1", "1.5", "many", "1"] },
  "log.grace": { right: ["1h"], wrong: ["1"] },
  "log.file_size": { right: ["128MB", "1GB", "5B"], wrong: ["128", "128 MB", "1TB", "0MB"] },
  "log.sources": { right: ["true"], wrong: ["all"] },
  "log.compact": { right: ["auto", "manual"], wrong: ["never", "true"] },
  retry_for: { right: ["90s", "0s"], wrong: ["90"] },
  "engine.extension_directory": { right: ["ext"], wrong: ["1"] },
  "engine.threads": { right: ["4", "${THREADS}"], wrong: ["0", "-2", "two", "1.5"] },
  "engine.memory_limit": { right: ["4GB", "1.5 GiB", "512mb", "100B"], wrong: ["4", "lots", "4XB"] },
  "engine.temp_directory": { right: ["/tmp/x"], wrong: ["1"] },
};

const ENVIRONMENT = {
  CATALOG: "x.ducklake",
  STYLE: "path",
  FLAG: "true",
  TIME: "5m",
  KEEP: "500 snapshots",
  THREADS: "3",
};

function document(key: string, value: string): string {
  const [section = "", name] = key.split(".");
  const lake = "lake:\n  catalog: lake.ducklake\n";
  if (name === undefined) return `${lake}${key}: ${value}\n`;
  if (key === "lake.catalog") return `lake:\n  catalog: ${value}\n`;
  return section === "lake" ? `${lake}  ${name}: ${value}\n` : `${lake}${section}:\n  ${name}: ${value}\n`;
}

async function loads(text: string): Promise<boolean> {
  try {
    await load(text, { "views/v.sql": "SELECT 1", "marts/v.sql": "SELECT 1" }, ENVIRONMENT);
    return true;
  } catch (error) {
    if (error instanceof ProjectError) return false;
    throw error;
  }
}

test("editors are told what the loader tells, for every key", async () => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(await readFile(FILE, "utf8")) as object);
  const agree = async (text: string, right: boolean): Promise<void> => {
    expect(await loads(text), `the loader on:\n${text}`).toBe(right);
    expect(validate(parse(text)), `the schema on:\n${text}`).toBe(right);
  };
  expect(Object.keys(VALUES).sort()).toEqual([...documented.keys()].sort());
  for (const [key, { right, wrong }] of Object.entries(VALUES)) {
    for (const value of right) await agree(document(key, value), true);
    for (const value of wrong) await agree(document(key, value), false);
    await agree(document(`${key}x`, "1"), false);
  }
  await agree("views: views\n", false);
  await agree("lake:\n", false);
  await agree("lake: { catalog: x }\nlog:\ns3:\nengine:\nopenlineage:\n", true);
  await agree("lake: { catalog: x }\nlog: [1]\n", false);
});
