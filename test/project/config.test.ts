// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration has references of this form.
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadProject } from "../../src/project/load.js";
import { ProjectError } from "../../src/project/problems.js";
import { folder, load, problemsOf } from "./files.js";

const problemsOfConfig = (config: string, env: Readonly<Record<string, string>> = {}): Promise<string[]> =>
  problemsOf(load(config, undefined, env));

describe("a configuration that is right", () => {
  it("needs no more than a catalog", async () => {
    const project = await load("lake:\n  catalog: lake.ducklake\n");
    expect(project.lake).toEqual({
      catalog: join(project.directory, "lake.ducklake"),
      schema: "main",
      stateSchema: "ivm",
    });
    expect(project.views.map((view) => view.name)).toEqual(["v"]);
  });

  it("takes every key", async () => {
    const project = await load(
      `
lake:
  catalog: "postgres:dbname=lake host=db"
  data_path: s3://bucket/lake
  metadata_schema: lake_one
s3:
  endpoint: localhost:9000
  region: eu-central-1
  url_style: path
  use_ssl: false
views: definitions
schema: marts
state_schema: _state
log:
  path: logs
  keep: 90m
  max_lag: 500 snapshots
  fan_out: 4
  grace: 2h
  file_size: 64MB
  sources: true
  compact: manual
engine:
  extension_directory: extensions
  threads: 2
  memory_limit: 1.5 GiB
  temp_directory: /var/tmp/spill
`,
      { "definitions/v.sql": "SELECT 1" },
    );
    expect(project.lake).toEqual({
      catalog: "postgres:dbname=lake host=db",
      dataPath: "s3://bucket/lake",
      metadataSchema: "lake_one",
      s3: { endpoint: "localhost:9000", region: "eu-central-1", urlStyle: "path", useSsl: false },
      schema: "marts",
      stateSchema: "_state",
      log: {
        path: join(project.directory, "logs"),
        keep: { milliseconds: 5_400_000 },
        maxLag: { snapshots: 500n },
        fanOut: 4,
        graceMs: 7_200_000,
        fileBytes: 67_108_864,
        sources: true,
        compact: "manual",
      },
      engine: {
        extensionDirectory: join(project.directory, "extensions"),
        threads: 2,
        memoryLimit: "1.5 GiB",
        tempDirectory: "/var/tmp/spill",
      },
    });
  });

  it("may have sections whose keys are all commented out", async () => {
    const project = await load("lake:\n  catalog: x.db\ns3:\n  # region: here\nlog:\nengine:\n");
    expect(Object.keys(project.lake)).toEqual(["catalog", "schema", "stateSchema"]);
  });

  it("may begin with a byte order mark and use CRLF", async () => {
    const project = await load("\uFEFFlake:\r\n  catalog: x.db\r\nschema: marts\r\n");
    expect(project.lake.schema).toBe("marts");
  });

  it("takes the scheme of an endpoint for use_ssl", async () => {
    const plain = await load("lake: { catalog: x.db }\ns3: { endpoint: 'http://localhost:9000/' }");
    expect(plain.lake.s3).toEqual({ endpoint: "localhost:9000", useSsl: false });
    const secure = await load("lake: { catalog: x.db }\ns3: { endpoint: 'https://store.example', use_ssl: true }");
    expect(secure.lake.s3).toEqual({ endpoint: "store.example", useSsl: true });
  });

  it.each([
    ["lake.ducklake", "%/lake.ducklake"],
    ["ducklake:lake.ducklake", "ducklake:%/lake.ducklake"],
    ["../lake.db", "%/../lake.db"],
    ["/absolute/lake.db", "/absolute/lake.db"],
    ["sqlite:meta.sqlite", "sqlite:%/meta.sqlite"],
    ["ducklake:sqlite:sub/meta.sqlite", "ducklake:sqlite:%/sub/meta.sqlite"],
    ["duckdb:lake.db", "duckdb:%/lake.db"],
    ["postgres:dbname=a host=b", "postgres:dbname=a host=b"],
    ["ducklake:postgres:dbname=a", "ducklake:postgres:dbname=a"],
    ["postgres:postgresql://host/db", "postgres:postgresql://host/db"],
  ])("makes the catalog's file absolute: %s", async (catalog, result) => {
    const project = await load(`lake: { catalog: '${catalog}' }`);
    const wanted = result.replace(/%(.*)/, (_, rest: string) => join(project.directory, rest));
    expect(project.lake.catalog).toBe(wanted);
  });

  it("takes paths as relative to the file and not to the working directory", async () => {
    const project = await load("lake: { catalog: a.db, data_path: ./data/ }");
    expect(project.lake.dataPath).toBe(join(project.directory, "data"));
  });
});

describe("${NAME} in values", () => {
  const env = { HOST: "db.example", THREADS: "3", SSL: "true", EMPTY: "", NASTY: 'a: "b\n- c' };

  it("is replaced wherever a value stands, once, and never read as YAML", async () => {
    const project = await load(
      [
        "lake:",
        `  catalog: "postgres:host=\${HOST} dbname=\${HOST}"`,
        "  data_path: s3://${HOST}/x",
        "  metadata_schema: ${NASTY}",
        "s3:",
        "  use_ssl: ${SSL}",
        "engine:",
        "  threads: ${THREADS}",
        "schema: $${HOST}",
      ].join("\n"),
      undefined,
      env,
    );
    expect(project.lake).toMatchObject({
      catalog: "postgres:host=db.example dbname=db.example",
      dataPath: "s3://db.example/x",
      metadataSchema: env.NASTY,
      s3: { useSsl: true },
      engine: { threads: 3 },
      schema: "${HOST}",
    });
  });

  it("is an error that names the variable where it is not set, each with its place", async () => {
    expect(await problemsOfConfig("lake:\n  catalog: ${CATALOG}\n  data_path: 's3://${BUCKET}/${FOLDER}'\n")).toEqual([
      "ducklake-ivm.yaml:2:12 env_unset: environment variable CATALOG is not set | Set CATALOG, or write $${CATALOG} where the characters themselves are meant.",
      "ducklake-ivm.yaml:3:14 env_unset: environment variable BUCKET is not set | Set BUCKET, or write $${BUCKET} where the characters themselves are meant.",
      "ducklake-ivm.yaml:3:14 env_unset: environment variable FOLDER is not set | Set FOLDER, or write $${FOLDER} where the characters themselves are meant.",
    ]);
  });

  it("must be closed and hold a name", async () => {
    const malformed = await problemsOfConfig("lake:\n  catalog: ${HOST\n  data_path: '${HO ST:-x}'\n", env);
    expect(malformed).toEqual([
      expect.stringMatching(/^ducklake-ivm.yaml:2:12 env_reference: "\$\{HOST" is not a reference/),
      expect.stringMatching(/^ducklake-ivm.yaml:3:14 env_reference: "\$\{HO ST:-x\}" is not a reference/),
    ]);
  });

  it("may not leave a value empty", async () => {
    expect(await problemsOfConfig("lake:\n  catalog: ${EMPTY}\n", env)).toEqual([
      expect.stringMatching(/^ducklake-ivm.yaml:2:12 value_invalid: lake.catalog is empty/),
    ]);
  });

  it("is told together with other problems of the file", async () => {
    expect(await problemsOfConfig("lake:\n  catalog: ${NOPE}\nengine:\n  threads: ${NOPE}\n  cores: 2\n")).toEqual([
      expect.stringMatching(/:2:12 env_unset: .*NOPE/),
      expect.stringMatching(/:4:12 env_unset: .*NOPE/),
      expect.stringMatching(/:5:3 key_unknown: unknown key "cores"/),
    ]);
  });

  it("never shows a variable's value in an error", async () => {
    const secret = { PASSWORD: "tops3cret" };
    const config =
      "lake:\n  catalog: 'mysql:password=${PASSWORD}'\nengine:\n  threads: ${PASSWORD}\n  memory_limit: ${PASSWORD}\n";
    const problems = await problemsOfConfig(config, secret);
    expect(problems).toHaveLength(2);
    expect(problems.join("\n")).not.toContain("tops3cret");
    expect(await problemsOfConfig("lake:\n  catalog: 'mysql:password=${PASSWORD}'", secret)).toEqual([
      expect.stringMatching(/^(?!.*tops3cret).*lake.catalog is of the kind "mysql"/),
    ]);
  });
});

describe("a configuration that is wrong", () => {
  it.each([
    ["", ":1:1 yaml_not_a_mapping: the configuration is empty"],
    ["# nothing yet\n", ":1:1 yaml_not_a_mapping: the configuration is empty"],
    ["null\n", ":1:1 yaml_not_a_mapping: the configuration is empty"],
    ["- lake\n", ":1:1 yaml_not_a_mapping: the configuration must be a mapping"],
    ["\n  hello\n", ":2:3 yaml_not_a_mapping: the configuration must be a mapping"],
    ["lake:\n\tcatalog: x\n", ":2:1 yaml_syntax: a tab is used as indentation | Indent with spaces"],
    ["lake:\n  catalog: x\n  catalog: y\n", ":3:3 yaml_duplicate_key: this key was given before"],
    ["lake: { catalog: x }\nschema: a\nlake: { catalog: y }\n", ":3:1 yaml_duplicate_key"],
    ["lake: {}\n---\nlake: {}\n", ":2:1 yaml_syntax: a second YAML document begins here"],
    ["lake:\n  catalog: 'x\n", ":3:1 yaml_syntax: not valid YAML: Missing closing 'quote"],
    ["lake:\n  catalog: a: b\n", ":2:12 yaml_syntax: not valid YAML: Nested mappings"],
    ["lake: &l\n  catalog: x\nlog: *l\n", ":3:6 yaml_alias: alias *l is not followed here"],
    ["lake:\n  catalog: !secret x\n", ":2:12 yaml_syntax: Unresolved tag: !secret"],
    ["lake: { catalog: x }\n? [a, b]\n: 1\n", ":2:3 yaml_key: a key must be plain text"],
    ["lake: { catalog: x }\n~: 1\n", ":2:1 yaml_key: a key must be plain text"],
  ])("as YAML: %j", async (config, expected) => {
    const problems = await problemsOfConfig(config);
    expect(problems[0]).toContain(`ducklake-ivm.yaml${expected}`);
  });

  it.each([
    ["schema: main\n", ":1:1 key_missing: lake.catalog is missing | Write a DuckDB file"],
    ["schema: main\nlake:\n  data_path: x\n", ":2:1 key_missing: lake.catalog is missing"],
    ["schema: main\nlake:\n", ":2:1 key_missing: lake.catalog is missing"],
    ["lake: my.ducklake\n", ":1:7 value_invalid: lake must be a mapping of keys to values, not text"],
    ["lake:\n  catalog:\n", ":2:11 value_invalid: lake.catalog has no value, but must be text"],
    ["lake:\n  catalog: ''\n", ":2:12 value_invalid: lake.catalog is empty"],
    ["lake:\n  catalog: 5\n", ":2:12 value_invalid: lake.catalog must be text, not a number"],
    ["lake:\n  catalog: [x]\n", ":2:12 value_invalid: lake.catalog must be text, not a list"],
    ["lake:\n  catalog: ':memory:'\n", ":2:12 value_invalid: lake.catalog names no catalog that lasts"],
    ["lake:\n  catalog: 'sqlite:'\n", ":2:12 value_invalid: lake.catalog names no catalog that lasts"],
    ["lake:\n  catalog: 'ducklake:'\n", ":2:12 value_invalid: lake.catalog names no catalog that lasts"],
    ["lake:\n  catalog: mysql:host=x\n", ':2:12 value_invalid: lake.catalog is of the kind "mysql"'],
    ["lake:\n  catalog: s3://b/x.ducklake\n", ':2:12 value_invalid: lake.catalog is of the kind "s3"'],
    ["lake:\n  catalog: postgresql://h/d\n", ':2:12 value_invalid: lake.catalog begins with "postgresql:"'],
    ["lake:\n  catalog: postgres://h/d\n", ':2:12 value_invalid: lake.catalog begins with "postgres:"'],
    ["lake:\n  catalog: ~/x.db\n", ':2:12 value_invalid: lake.catalog begins with "~"'],
    ["lake: { catalog: x }\nviews: 3\n", ":2:8 value_invalid: views must be text, not a number"],
    ["lake: { catalog: x }\nstate_schema: Main\n", ':2:15 value_invalid: state_schema and schema are both "Main"'],
    ["lake: { catalog: x }\ns3: { url_style: dns }\n", ":2:18 value_invalid: s3.url_style must be path or vhost"],
    ["lake: { catalog: x }\ns3: { use_ssl: no }\n", ":2:16 value_invalid: s3.use_ssl must be true or false, not text"],
    ["lake: { catalog: x }\ns3: { endpoint: 'host/path' }\n", ":2:17 value_invalid: s3.endpoint is not an address"],
    [
      "lake: { catalog: x }\ns3:\n  endpoint: http://h\n  use_ssl: true\n",
      ":4:12 value_invalid: s3.use_ssl is true, but s3.endpoint begins with http://",
    ],
    ["lake: { catalog: x }\nengine: { threads: 0 }\n", ":2:20 value_invalid: engine.threads must be at least 1"],
    ["lake: { catalog: x }\nengine: { threads: 1.5 }\n", ":2:20 value_invalid: engine.threads must be a whole number"],
    ["lake: { catalog: x }\nengine: { threads: two }\n", ":2:20 value_invalid: engine.threads must be a whole number"],
    ["lake: { catalog: x }\nengine: { memory_limit: 80% }\n", ":2:25 value_invalid: engine.memory_limit is not an"],
    ["lake: { catalog: x }\nlog: [a]\n", ":2:6 value_invalid: log must be a mapping of keys to values, not a list"],
  ])("in a value: %j", async (config, expected) => {
    const problems = await problemsOfConfig(config);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`ducklake-ivm.yaml${expected}`);
  });

  it.each([
    ["lakes: {}\nlake: { catalog: x }\n", ':1:1 key_unknown: unknown key "lakes" | Did you mean "lake"?'],
    [
      "lake: { catalogue: x, catalog: x }\n",
      ':1:9 key_unknown: unknown key "catalogue" in "lake" | Did you mean "catalog"?',
    ],
    [
      "lake: { catalog: x, dataPath: y }\n",
      ':1:21 key_unknown: unknown key "dataPath" in "lake" | Did you mean "data_path"?',
    ],
    [
      "lake: { catalog: x, endpoint: y }\n",
      ':1:21 key_unknown: unknown key "endpoint" in "lake" | It belongs under "s3".',
    ],
    ["lake: { catalog: x }\nthreads: 4\n", ':2:1 key_unknown: unknown key "threads" | It belongs under "engine".'],
    [
      "lake: { catalog: x, stateschema: y }\n",
      'unknown key "stateschema" in "lake" | Did you mean "state_schema" at the top level?',
    ],
    [
      "lake: { catalog: x }\nlog: { zzz: y }\n",
      ':2:8 key_unknown: unknown key "zzz" in "log" | Known keys in "log": path, keep, max_lag, fan_out, grace, file_size, sources, compact.',
    ],
    [
      "lake: { catalog: x }\ns3: { secret_access_key: y }\n",
      "S3 keys are not written here: they come from the AWS credential chain",
    ],
  ])("in a key: %j", async (config, expected) => {
    const problems = await problemsOfConfig(config);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(expected);
  });

  it("is told whole, not only its first fault", async () => {
    const config = "lake:\n  catalogs: x\nengine:\n  threads: -1\nviwes: v\n";
    const error = await load(config).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ProjectError);
    const { code, message, problems } = error as ProjectError;
    expect(problems.map((problem) => `${problem.line}:${problem.column} ${problem.code}`).sort()).toEqual([
      "1:1 key_missing",
      "2:3 key_unknown",
      "4:12 value_invalid",
      "5:1 key_unknown",
    ]);
    expect(code).toBe("project_invalid");
    expect(message).toMatch(/^4 problems:\n/);
    expect(
      message
        .split("\n")
        .slice(1)
        .every((line) => /ducklake-ivm\.yaml:\d+:\d+: /.test(line)),
    ).toBe(true);
  });

  it("has a code and a hint of its own where there is one fault", async () => {
    const error = (await load("lake:\n  catalog: 5\n").catch((reason: unknown) => reason)) as ProjectError;
    expect(error).toMatchObject({ code: "value_invalid", subject: { line: 2, lineColumn: 12 } });
    expect(error.hint).toContain("Write a DuckDB file");
    expect(error.message).toMatch(/ducklake-ivm\.yaml:2:12: lake\.catalog must be text, not a number$/);
  });
});

describe("a file that can't be read", () => {
  it("is told apart: no folder, no file, another ending", async () => {
    const empty = await folder();
    expect(await problemsOf(loadProject(join(empty, "nowhere")))).toEqual([
      "nowhere config_not_found: the project's folder does not exist | Correct --project-dir.",
    ]);
    expect(await problemsOf(loadProject(empty))).toEqual([
      expect.stringMatching(/^ducklake-ivm.yaml config_not_found: there is no project here.*ducklake-ivm init/),
    ]);
    const misnamed = await folder({ "ducklake-ivm.yml": "lake: { catalog: x }" });
    expect(await problemsOf(loadProject(misnamed))).toEqual([
      "ducklake-ivm.yaml config_not_found: does not exist, but ducklake-ivm.yml does | Rename it to ducklake-ivm.yaml.",
    ]);
  });

  it("is a folder, or not text", async () => {
    const nested = await folder({ "ducklake-ivm.yaml/x": "" });
    expect(await problemsOf(loadProject(nested))).toEqual([
      "ducklake-ivm.yaml file_unreadable: is a folder, not a file | Put a file in its place.",
    ]);
    const binary = await folder({ "ducklake-ivm.yaml": new Uint8Array([0x6c, 0xff, 0xfe]) });
    expect(await problemsOf(loadProject(binary))).toEqual([
      "ducklake-ivm.yaml file_unreadable: is not UTF-8 text | Save it as UTF-8.",
    ]);
  });
});

it("finds the home folder by ${HOME}", async () => {
  const project = await load("lake: { catalog: '${HOME}/x.db' }", undefined, { HOME: homedir() });
  expect(project.lake.catalog).toBe(join(homedir(), "x.db"));
});
