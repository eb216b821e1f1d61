/** What programs without types hand over is checked here, where the message can still name it. */
import { z } from "zod";
import { ConfigError, DefinitionError, type IvmErrorOptions } from "./errors.js";
import { closest, didYouMean } from "./suggest.js";
import type { EngineConfig, LakeConfig, LogConfig, S3Config, ViewDefinition } from "./types.js";

/** A schema for each field, so that none is forgotten. */
type Fields<T> = Record<keyof T, z.ZodType>;

const text = z.string();
const flag = z.boolean();
const number = z.number();
const names = z.array(z.string());
const either = (...choices: [string, ...string[]]): z.ZodType => z.enum(choices);
const retention = z.union([z.strictObject({ milliseconds: number }), z.strictObject({ snapshots: z.bigint() })]);

const S3: Fields<S3Config> = {
  endpoint: text.optional(),
  region: text.optional(),
  urlStyle: either("path", "vhost").optional(),
  useSsl: flag.optional(),
  accessKeyId: text.optional(),
  secretAccessKey: text.optional(),
  sessionToken: text.optional(),
};

const LOG: Fields<LogConfig> = {
  path: text.optional(),
  keep: retention.optional(),
  maxLag: retention.optional(),
  fanOut: number.optional(),
  graceMs: number.optional(),
  fileBytes: number.optional(),
  sources: flag.optional(),
  compact: either("auto", "manual").optional(),
};

const ENGINE: Fields<EngineConfig> = {
  extensionDirectory: text.optional(),
  threads: number.optional(),
  memoryLimit: text.optional(),
  tempDirectory: text.optional(),
};

const CONFIG: Fields<LakeConfig> = {
  catalog: text.min(1),
  dataPath: text.optional(),
  metadataSchema: text.optional(),
  s3: z.strictObject(S3).optional(),
  schema: text.optional(),
  stateSchema: text.optional(),
  log: z.strictObject(LOG).optional(),
  retryForMs: number.optional(),
  engine: z.strictObject(ENGINE).optional(),
};

const DEFINITION: Fields<ViewDefinition> = {
  name: text,
  sql: text,
  primaryKey: names.optional(),
  refresh: either("auto", "incremental", "full").optional(),
  floatSums: either("reread", "fold").optional(),
  query: z.custom((value) => typeof value === "object" && value !== null).optional(),
  tags: names.optional(),
  targetLagMs: number.optional(),
  file: text.optional(),
  lineOffset: number.optional(),
};

const SECTIONS: Readonly<Record<string, object>> = { "": CONFIG, s3: S3, log: LOG, engine: ENGINE };

type Fail = (code: string, message: string, options: IvmErrorOptions) => Error;

/** @throws ConfigError `key_missing`, `key_unknown`, `value_invalid`. */
export function checkConfig(config: unknown): void {
  const known = (path: string): readonly string[] => Object.keys(SECTIONS[path] ?? {});
  check(CONFIG, config, "The configuration of the lake", known, (code, message, options) => {
    return new ConfigError(code, message, options);
  });
}

/** @throws DefinitionError `key_missing`, `key_unknown`, `value_invalid`. */
export function checkDefinitions(definitions: unknown): void {
  if (!Array.isArray(definitions)) {
    throw new DefinitionError("value_invalid", `define takes a list of definitions, not ${kindOf(definitions)}.`, {
      hint: "Write define([{ name: 'totals', sql: 'SELECT …' }]).",
    });
  }
  for (const [index, definition] of (definitions as readonly unknown[]).entries()) {
    const { name } = { name: undefined, ...(typeof definition === "object" ? definition : {}) } as { name: unknown };
    const named = typeof name === "string" && name !== "";
    const what = named ? `The definition of view ${name}` : `Definition ${index + 1}`;
    check(
      DEFINITION,
      definition,
      what,
      () => Object.keys(DEFINITION),
      (code, message, options) => {
        return new DefinitionError(code, message, { ...options, ...(named ? { subject: { view: name } } : {}) });
      },
    );
  }
}

/** Throws what is wrong first. Fields that nobody knows are let through, as TypeScript does, unless one was misspelt. */
function check(
  fields: Readonly<Record<string, z.ZodType>>,
  value: unknown,
  what: string,
  known: (path: string) => readonly string[],
  fail: Fail,
): void {
  const result = z.strictObject(fields).safeParse(value);
  const misspelt = (issue: z.core.$ZodIssue): string | undefined =>
    issue.code === "unrecognized_keys"
      ? issue.keys.find((key) => closest(key, known(issue.path.join("."))) !== undefined)
      : undefined;
  const issue = result.error?.issues.find((one) => one.code !== "unrecognized_keys" || misspelt(one) !== undefined);
  if (issue === undefined) return;
  const path = issue.path.join(".");
  const name = misspelt(issue);
  if (name !== undefined) {
    const full = path === "" ? name : `${path}.${name}`;
    throw fail("key_unknown", `${what} has an unknown field ${full}.`, {
      hint: didYouMean(name, known(path), "The fields are"),
    });
  }
  const given = issue.path.reduce<unknown>((inside, part) => (inside as Record<PropertyKey, unknown>)?.[part], value);
  if (path === "") {
    const hint = `The fields are: ${known("").join(", ")}.`;
    throw fail("value_invalid", `${what} must be an object, not ${kindOf(value)}.`, { hint });
  }
  if (given === undefined) throw fail("key_missing", `${what} has no ${path}.`, { hint: `Give ${path}.` });
  if (issue.code === "invalid_value" && typeof given === "string") {
    const hint = didYouMean(given, issue.values.map(String), "The values are");
    throw fail("value_invalid", `${what} has "${given}" for ${path}.`, { hint });
  }
  const hint =
    issue.code === "invalid_type" ? `Give a value of the type ${issue.expected}.` : `Give another value for ${path}.`;
  throw fail("value_invalid", `${what} has ${given === "" ? "an empty text" : kindOf(given)} for ${path}.`, { hint });
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
