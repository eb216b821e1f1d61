// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration has references of this form.
import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { folder } from "../project/files.js";
import { BINARY, command, type JsonError, json, processOptions } from "./command.js";

const COMMANDS = [
  "init",
  "plan",
  "apply",
  "refresh",
  "status",
  "list",
  "explain",
  "why",
  "verify",
  "append",
  "merge",
  "demo",
];

describe("help and version", () => {
  it("is printed on stdout, with exit code 0", async () => {
    const help = await command(["--help"]);
    expect(help).toMatchObject({ exitCode: 0, stderr: "" });
    for (const name of COMMANDS) {
      expect(help.stdout).toMatch(new RegExp(`^ {2}${name}\\b`, "m"));
    }
    const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await command(["--version"])).toEqual({ exitCode: 0, stdout: version, stderr: "" });
  });

  it.each(COMMANDS)("is there for %s, with the options of every command", async (name) => {
    const help = await command(["help", name]);
    expect(help.exitCode).toBe(0);
    expect(help.stdout).toContain(`Usage: ducklake-ivm ${name}`);
    expect(help.stdout).toContain("--project-dir <folder>");
    if (name === "refresh") {
      expect((await command([name, "--help"])).stdout).toBe(help.stdout);
    }
  });

  it("loads nothing that only a command needs", async () => {
    const tracer = new URL("./trace-imports.mjs", import.meta.url).href;
    const { stderr } = await execa(process.execPath, ["--import", tracer, BINARY, "--help"], processOptions({}));
    const loaded = stderr.split("\n");
    expect(loaded).toContain("commander");
    const heavy = loaded.filter((name) => /duckdb|^@aws-sdk|^zod|^yaml|^cli-table3|^cli-progress/.test(name));
    expect(heavy).toEqual([]);
  });
});

describe("wrong usage", () => {
  it.each([
    [["refres"], "unknown command 'refres'", "Did you mean refresh?"],
    [["refresh", "--dryrun"], "unknown option '--dryrun'", "Did you mean --dry-run?"],
    [["refresh", "--to-snapshot", "-1"], "option '--to-snapshot <n>' argument '-1' is invalid", "ducklake-ivm --help"],
    [["refresh", "--to-snapshot", "1.5"], "A snapshot is a whole number.", "ducklake-ivm --help"],
    [["refresh", "--to-snapshot"], "option '--to-snapshot <n>' argument missing", "ducklake-ivm --help"],
    [
      ["status", "--output", "xml"],
      "Allowed choices are text, json, jsonl, csv, parquet, arrow.",
      "ducklake-ivm --help",
    ],
    [["status", "--output", "jsn"], "argument 'jsn' is invalid", "Did you mean json?"],
    [["completion", "bsh"], "'bsh' is invalid", "Did you mean bash?"],
    [["help", "refrsh"], "unknown command 'refrsh'", 'Did you mean "refresh"?'],
    [["consumer", "lst"], "unknown command 'lst'", "Did you mean list?"],
    [["graph", "too", "many"], "too many arguments for 'graph'", "ducklake-ivm --help"],
    [["explain"], "missing required argument 'view'", "ducklake-ivm --help"],
    [["merge", "t", "from", "x.csv"], "required option '--key <columns>' not specified", "ducklake-ivm --help"],
    [["merge", "t", "x.csv", "--key", "k"], "missing required argument 'query|file'", "ducklake-ivm --help"],
    [["append", "t", "form", "x.csv"], 'Write the word "from" between the table and', "ducklake-ivm --help"],
    [["append", "t"], "missing required argument 'from'", "ducklake-ivm --help"],
    [["append", "t", "from", "x", "--key", "a,,b"], "Write column names with commas between.", "ducklake-ivm --help"],
    [["append", "t", "from", "x", "--delete-missing"], "unknown option '--delete-missing'", "ducklake-ivm --help"],
    [[], "No command was given.", "ducklake-ivm --help"],
  ])("has exit code 2 and says what: %j", async (words, message, hint) => {
    const result = await command(words);
    expect(result).toMatchObject({ exitCode: 2, stdout: "" });
    expect(result.stderr).toContain(message);
    expect(result.stderr).toMatch(new RegExp(`^hint: .*${hint.replace("?", "\\?")}`, "m"));
    expect(result.stderr.match(/^error:/gm)).toHaveLength(1);
  });

  it.each([[["--output", "json", "refres"]], [["refresh", "--dryrun", "--output=json"]], [["--output", "json"]]])(
    "is JSON where that was asked for: %j",
    async (words) => {
      const result = await command(words);
      expect(result.exitCode).toBe(2);
      const last = result.stdout.split("\n").at(-1) ?? "";
      expect((JSON.parse(last) as JsonError).error).toMatchObject({ code: "usage", retryable: false });
    },
  );
});

describe("errors of the project's files", () => {
  it("have exit code 2, their place and a hint", async () => {
    const cwd = await folder({ "ducklake-ivm.yaml": "lake:\n  catalog: x\n  datapath: y\n" });
    const result = await command(["status"], { cwd });
    expect(result).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: [
        'error: unknown key "datapath" in "lake"',
        "  at ducklake-ivm.yaml:3:3",
        'hint: Did you mean "data_path"?',
      ].join("\n"),
    });
  });

  it("are listed, each with its place", async () => {
    const cwd = await folder({
      "ducklake-ivm.yaml": "lake: { catalog: x }",
      "views/a/Sales.sql": "SELECT 1",
      "views/b/sales.sql": "/* --- key: id --- */ SELECT 1",
      "views/c.sql": "",
    });
    const { exitCode, stderr } = await command(["plan"], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr.split("\n")).toEqual([
      "error: 3 problems in the project's files",
      '  views/b/sales.sql: view "sales" is also defined by views/a/Sales.sql',
      "    hint: A view is named after its file, and names that differ only in case are the same: rename one.",
      '  views/b/sales.sql:1:8: unknown key "key"',
      "    hint: Known keys: primary_key, refresh, float_sums, tags, target_lag.",
      "  views/c.sql: the file is empty",
      "    hint: Write one SELECT statement.",
    ]);
  });

  it("are JSON on the last line of stdout, and text on stderr", async () => {
    const cwd = await folder({ "ducklake-ivm.yaml": "lakes: {}\n" });
    const { exitCode, stdout, stderr, value } = await json<JsonError>(["list"], { cwd });
    expect(exitCode).toBe(2);
    expect(stdout.split("\n")).toHaveLength(1);
    expect(stderr).toMatch(/^error: 2 problems/);
    expect(value.error).toMatchObject({ code: "project_invalid", hint: null, retryable: false });
    expect(value.error.problems).toMatchObject([
      { code: "key_missing", line: 1, column: 1 },
      { code: "key_unknown", line: 1, column: 1 },
    ]);
  });

  it("tell of a missing project, whichever folder is meant", async () => {
    const cwd = await folder();
    const here = await command(["refresh"], { cwd });
    expect(here.exitCode).toBe(2);
    expect(here.stderr).toContain('Run "ducklake-ivm init"');
    const there = await command(["refresh", "--project-dir", "nowhere"], { cwd });
    expect(there.exitCode).toBe(2);
    expect(there.stderr).toContain("the project's folder does not exist");
    expect((await command(["--project-dir", "nowhere", "refresh"], { cwd })).stderr).toBe(there.stderr);
  });

  it("show a stack trace with --debug only", async () => {
    const cwd = await folder();
    expect((await command(["status"], { cwd })).stderr).not.toMatch(/^\s+at .*\.js:/m);
    expect((await command(["status", "--debug"], { cwd })).stderr).toMatch(/ProjectError.*\n\s+at .*\.js:/);
  });

  it("name an environment variable that is not set, and never print one that is secret", async () => {
    const cwd = await folder({
      "ducklake-ivm.yaml": "lake: { catalog: 'mysql:password=${LAKE_PASSWORD}', data_path: '${NOT_SET}' }",
    });
    const { exitCode, stderr } = await command(["status", "--debug"], { cwd, env: { LAKE_PASSWORD: "tops3cret" } });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("environment variable NOT_SET is not set");
    expect(stderr).not.toContain("tops3cret");
  });
});

describe("init", () => {
  it("writes a project, and never overwrites a file", async () => {
    const cwd = await folder({ "sub/views/example.sql": "SELECT 'mine' AS mine" });
    const first = await json<{ files: unknown[] }>(["init", "--project-dir", "sub"], { cwd });
    expect(first).toMatchObject({ exitCode: 0, stderr: "" });
    expect(first.value.files).toEqual([
      { file: "sub/ducklake-ivm.yaml", created: true },
      { file: "sub/views/example.sql", created: false },
      { file: "sub/.gitignore", created: true },
    ]);
    expect(await readFile(join(cwd, "sub/views/example.sql"), "utf8")).toBe("SELECT 'mine' AS mine");
    const again = await command(["init"], { cwd: join(cwd, "sub") });
    expect(again.exitCode).toBe(0);
    expect(again.stdout).toMatch(/^kept +ducklake-ivm.yaml\nkept +views\/example.sql\nkept +.gitignore\n/);
    expect(await readFile(join(cwd, "sub/.gitignore"), "utf8")).toMatch(/^target\/$/m);
  });

  it("tells editors where the schema of the configuration is", async () => {
    const schema = "node_modules/ducklake-ivm/schemas/project.v1.json";
    const cwd = await folder({ [schema]: "{}" });
    const lineOf = async (directory: string): Promise<string | undefined> => {
      expect((await command(["init", "--project-dir", directory], { cwd })).exitCode).toBe(0);
      return (await readFile(resolve(cwd, directory, "ducklake-ivm.yaml"), "utf8")).split("\n")[0];
    };
    expect(await lineOf(".")).toBe(`# yaml-language-server: $schema=./${schema}`);
    expect(await lineOf("a/b")).toBe(`# yaml-language-server: $schema=../../${schema}`);
    const apart = await folder();
    expect(await lineOf(apart)).toBe(`# yaml-language-server: $schema=./${schema}`);
  });

  it("makes the folder where there is none", async () => {
    const cwd = await folder();
    expect((await command(["init", "--project-dir", "a/b"], { cwd })).exitCode).toBe(0);
    expect((await stat(join(cwd, "a/b/views/example.sql"))).isFile()).toBe(true);
  });

  it("says where it can't write", async () => {
    const cwd = await folder({ occupied: "a file" });
    const { exitCode, stderr } = await command(["init", "--project-dir", "occupied"], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^error: Can't write occupied\/ducklake-ivm.yaml/);
  });
});
