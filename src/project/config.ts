/** `ducklake-ivm.yaml`: its shape, and what it becomes. */
import { z } from "zod";
import type { EngineConfig, FloatSums, LakeConfig, LogConfig, OpenLineageConfig, S3Config } from "../types.js";
import type { Environment } from "./environment.js";
import { type Resolved, resolveCatalog, resolveLocation, resolvePath } from "./paths.js";
import type { Problems } from "./problems.js";
import { checkShape, expected, REQUIRED, type ShapeHelp } from "./shape.js";
import { FLOAT_SUMS_HELP, floatSums, period, TARGET_LAG_HELP } from "./values.js";
import { type LocatedYaml, readYaml, type YamlPath } from "./yaml.js";

export const CONFIG_FILE = "ducklake-ivm.yaml";

export interface Config {
  readonly lake: LakeConfig;
  /** Absolute path of the folder with the view files. */
  readonly views: string;
  /** For views whose header does not say. */
  readonly floatSums?: FloatSums;
  readonly targetLagMs?: number;
  /** Absolute path of the file that refreshes write metrics to. */
  readonly metrics?: string;
  readonly openLineage?: OpenLineageConfig;
  /** Absolute path of the folder that refreshes leave `run_results.json` in; left out where they leave none. */
  readonly target?: string;
}

const text = z.string({ error: expected("text") }).min(1, "is empty");
// A value that came from the environment is always text.
const flag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean({ error: expected("true or false") }),
);
const wholeNumber = (least: number) =>
  z.preprocess(
    (value) => (typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value),
    z.int({ error: expected("a whole number") }).min(least, `must be at least ${least}`),
  );
const memory = text.regex(/^\d+(\.\d+)?\s*([Bb]|[KMGTkmgt]([Ii]?[Bb])?)$/, "is not an amount of memory");

const webAddress = text
  .refine(
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
    "is not an address that begins with http:// or https://",
  )
  .meta({ pattern: "^[Hh][Tt][Tt][Pp][Ss]?:" });
const retention = z.union(
  [
    period.transform((milliseconds) => ({ milliseconds })),
    z
      .string()
      .regex(/^\d+ snapshots?$/)
      .transform((value) => ({ snapshots: BigInt(value.split(" ")[0] ?? "") })),
  ],
  { error: "is neither a length of time nor a number of snapshots" },
);
const BYTE_UNITS = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 } as const;
const bytes = z
  .string({ error: expected("a size") })
  .regex(/^\d+(B|KB|MB|GB)$/, "is not a size")
  .meta({ pattern: "^0*[1-9]\\d*(B|KB|MB|GB)$" })
  .transform((value) => {
    const [, number, unit] = /^(\d+)(\w+)$/.exec(value) ?? [];
    return Number(number) * BYTE_UNITS[unit as keyof typeof BYTE_UNITS];
  })
  .refine((value) => value > 0, "must be at least 1B");

/** A section all of whose keys are commented out is empty, not wrong. */
function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(
    (value) => value ?? {},
    z.strictObject(shape, { error: expected("a mapping of keys to values") }),
  );
}

/** The shape of the file. `schemas/project.v1.json` is made of it, for editors. */
export const CONFIG_SHAPE = z.strictObject({
  lake: section({ catalog: text, data_path: text.optional(), metadata_schema: text.optional() }),
  s3: section({
    endpoint: text.optional(),
    region: text.optional(),
    url_style: z.enum(["path", "vhost"], { error: expectedOneOf("path", "vhost") }).optional(),
    use_ssl: flag.optional(),
  }),
  views: text.default("views"),
  schema: text.default("main"),
  state_schema: text.default("ivm"),
  float_sums: floatSums.optional(),
  target_lag: period.optional(),
  metrics: text.optional(),
  target_path: text.default("target"),
  write_json: flag.default(true),
  openlineage: section({
    url: webAddress.optional(),
    file: text.optional(),
    namespace: text.optional(),
    timeout: period.optional(),
  }),
  log: section({
    path: text.optional(),
    keep: retention.optional(),
    max_lag: retention.optional(),
    fan_out: wholeNumber(2).optional(),
    grace: period.optional(),
    file_size: bytes.optional(),
    sources: flag.optional(),
    compact: z.enum(["auto", "manual"], { error: expectedOneOf("auto", "manual") }).optional(),
  }),
  retry_for: period.optional(),
  engine: section({
    extension_directory: text.optional(),
    threads: wholeNumber(1).optional(),
    memory_limit: memory.optional(),
    temp_directory: text.optional(),
  }),
});

type Values = z.infer<typeof CONFIG_SHAPE>;

const CREDENTIALS_HINT =
  "S3 keys are not written here: they come from the AWS credential chain, for example AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile.";

const HELP: ShapeHelp = {
  keys: {
    lake: 'A lake has "catalog" and often "data_path".',
    s3: 'It may have "endpoint", "region", "url_style" and "use_ssl".',
    views: "Name the folder with the view files; by default it is views.",
    schema: "Name the schema of the user-facing views; by default it is main.",
    state_schema: "Name the schema of this tool's own tables; by default it is ivm.",
    float_sums: FLOAT_SUMS_HELP,
    target_lag: TARGET_LAG_HELP,
    metrics: "Name a file that ends in .prom, in the folder of node_exporter's textfile collector.",
    target_path: "Name a folder for what runs leave behind; by default it is target.",
    write_json: "Write true or false; with false, refreshes leave no run_results.json.",
    openlineage: 'It may have "url", "file", "namespace" and "timeout".',
    log: 'It may have "path", "keep", "max_lag", "fan_out", "grace", "file_size", "sources" and "compact".',
    engine: 'It may have "extension_directory", "threads", "memory_limit" and "temp_directory".',
    retry_for: "Write how long to wait for other writers (90s, 5m); by default it is 1m.",
    "lake.catalog": 'Write a DuckDB file ("lake.ducklake"), "sqlite:FILE" or "postgres:dbname=… host=…".',
    "lake.data_path": "Write a folder or s3://bucket/prefix, or leave it out for a lake that exists.",
    "lake.metadata_schema":
      "Name the schema of the lake's metadata tables; put quotes around a name that looks like a number.",
    "s3.endpoint": 'Write host:port, for example "localhost:9000".',
    "s3.region": 'Write a region, for example "eu-central-1".',
    "s3.url_style": "Write path for most servers other than AWS, and vhost for AWS.",
    "s3.use_ssl": "Write true or false.",
    "openlineage.url": "Write the address of the server, for example http://localhost:5000.",
    "openlineage.file": "Name a file to which events are appended.",
    "openlineage.namespace": "Write a name that tells this lake from others; by default it is ducklake.",
    "openlineage.timeout": "Write a length of time, for example 5s.",
    "log.path": "Write a folder or s3://bucket/prefix.",
    "log.keep": "Write a length of time (90s, 30m, 12h, 7d) or a number of snapshots (500 snapshots).",
    "log.max_lag": "Write a length of time (90s, 30m, 12h, 7d) or a number of snapshots (500 snapshots).",
    "log.fan_out": "Write how many windows one merge makes one, at least 2; by default it is 8.",
    "log.grace": "Write a length of time, for example 1h.",
    "log.file_size": "Write a size, for example 128MB.",
    "log.sources": "Write true to keep the changes of base tables too.",
    "log.compact": "Write auto or manual; by default it is auto.",
    "engine.extension_directory": "Name a folder with DuckDB extension files.",
    "engine.threads": "Write the number of threads that DuckDB may use.",
    "engine.memory_limit": "Write an amount, for example 4GB.",
    "engine.temp_directory": "Name a folder that DuckDB may write to.",
  },
  unknownKeys: Object.fromEntries(
    ["access_key_id", "access_key", "key_id", "secret_access_key", "secret_key", "secret", "session_token"].map(
      (key) => [key, CREDENTIALS_HINT],
    ),
  ),
};

/** Reads the configuration from its text; undefined where it is wrong, the reasons being added to `problems`. */
export function readConfig(
  source: { readonly file: string; readonly text: string; readonly directory: string },
  env: Environment,
  problems: Problems,
): Config | undefined {
  const before = problems.count;
  const options = {
    env,
    what: "the configuration",
    emptyHint: `It needs at least "lake:" with "catalog:"; "ducklake-ivm init" writes one to start from.`,
  };
  const yaml = readYaml(source, options, problems);
  const values = yaml === undefined ? undefined : checkShape(yaml, CONFIG_SHAPE, HELP, problems);
  if (yaml === undefined || values === undefined) {
    return undefined;
  }
  const config = new ConfigBuilder(yaml, values, source.directory, problems).build();
  return problems.count > before ? undefined : config;
}

/** Turns values of the right shape into the library's configuration; what only the values show is checked here. */
class ConfigBuilder {
  constructor(
    private readonly yaml: LocatedYaml,
    private readonly values: Values,
    private readonly directory: string,
    private readonly problems: Problems,
  ) {}

  build(): Config {
    const { lake, schema: viewSchema, state_schema: stateSchema } = this.values;
    if (viewSchema.toLowerCase() === stateSchema.toLowerCase()) {
      const hint = "This tool's own tables need a schema of their own.";
      this.#problem(["state_schema"], `state_schema and schema are both "${stateSchema}"`, hint);
    }
    return {
      lake: {
        catalog: this.#resolved(["lake", "catalog"], lake.catalog, resolveCatalog) ?? lake.catalog,
        ...defined("dataPath", this.#resolved(["lake", "data_path"], lake.data_path, resolveLocation)),
        ...defined("metadataSchema", lake.metadata_schema),
        ...defined("s3", nonEmpty(this.#s3())),
        schema: viewSchema,
        stateSchema,
        ...defined("log", nonEmpty(this.#log())),
        ...defined("retryForMs", this.values.retry_for),
        ...defined("engine", nonEmpty(this.#engine())),
      },
      views: this.#resolved(["views"], this.values.views, resolvePath) ?? this.values.views,
      ...defined("floatSums", this.values.float_sums),
      ...defined("targetLagMs", this.values.target_lag),
      ...defined("metrics", this.#resolved(["metrics"], this.values.metrics, resolvePath)),
      ...defined("openLineage", nonEmpty(this.#openLineage())),
      ...(this.values.write_json
        ? defined("target", this.#resolved(["target_path"], this.values.target_path, resolvePath))
        : {}),
    };
  }

  #s3(): S3Config {
    const { endpoint, region, url_style: urlStyle, use_ssl: useSsl } = this.values.s3;
    const address = /^(https?):\/\/([^/]+)\/?$/i.exec(endpoint ?? "");
    const sslOfAddress = address === null ? undefined : address[1]?.toLowerCase() === "https";
    if (address === null && endpoint?.includes("/")) {
      this.#problem(["s3", "endpoint"], "s3.endpoint is not an address", HELP.keys["s3.endpoint"] ?? "");
    }
    if (sslOfAddress !== undefined && useSsl !== undefined && sslOfAddress !== useSsl) {
      const hint = "Leave out use_ssl or the scheme.";
      this.#problem(["s3", "use_ssl"], `s3.use_ssl is ${useSsl}, but s3.endpoint begins with ${address?.[1]}://`, hint);
    }
    return {
      ...defined("endpoint", address?.[2] ?? endpoint),
      ...defined("region", region),
      ...defined("urlStyle", urlStyle),
      ...defined("useSsl", useSsl ?? sslOfAddress),
    };
  }

  #log(): LogConfig {
    const {
      path,
      keep,
      max_lag: maxLag,
      fan_out: fanOut,
      grace,
      file_size: fileBytes,
      sources,
      compact,
    } = this.values.log;
    return {
      ...defined("path", this.#resolved(["log", "path"], path, resolveLocation)),
      ...defined("keep", keep),
      ...defined("maxLag", maxLag),
      ...defined("fanOut", fanOut),
      ...defined("graceMs", grace),
      ...defined("fileBytes", fileBytes),
      ...defined("sources", sources),
      ...defined("compact", compact),
    };
  }

  #openLineage(): OpenLineageConfig {
    const { url, file, namespace, timeout: timeoutMs } = this.values.openlineage;
    return {
      ...defined("url", url),
      ...defined("file", this.#resolved(["openlineage", "file"], file, resolvePath)),
      ...defined("namespace", namespace),
      ...defined("timeoutMs", timeoutMs),
    };
  }

  #engine(): EngineConfig {
    const {
      extension_directory: extensions,
      threads,
      memory_limit: memoryLimit,
      temp_directory: temp,
    } = this.values.engine;
    return {
      ...defined("extensionDirectory", this.#resolved(["engine", "extension_directory"], extensions, resolvePath)),
      ...defined("threads", threads),
      ...defined("memoryLimit", memoryLimit),
      ...defined("tempDirectory", this.#resolved(["engine", "temp_directory"], temp, resolvePath)),
    };
  }

  #resolved(
    path: YamlPath,
    value: string | undefined,
    resolver: (value: string, base: string) => Resolved,
  ): string | undefined {
    if (value === undefined) {
      return undefined;
    }
    const resolved = resolver(value, this.directory);
    if ("value" in resolved) {
      return resolved.value;
    }
    this.#problem(path, `${path.join(".")} ${resolved.refusal.message}`, resolved.refusal.hint);
    return undefined;
  }

  #problem(path: YamlPath, message: string, hint: string): void {
    this.problems.add({ code: "value_invalid", message, hint, ...this.yaml.valuePlace(path) });
  }
}

function expectedOneOf(...choices: string[]): (issue: { readonly input?: unknown }) => string {
  return (issue) => (issue.input === undefined ? REQUIRED : `must be ${choices.join(" or ")}`);
}

/** `{ [key]: value }`, or nothing where the value is undefined: optional properties are left out, never undefined. */
function defined<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]?: Value });
}

function nonEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}
