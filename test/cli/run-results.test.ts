/** What `refresh` leaves behind, by the schema that the package publishes. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { expect, test, vi } from "vitest";
import { folder } from "../project/files.js";
import { type CommandOptions, command, json } from "./command.js";
import { ORDERS, project, sql, VIEWS } from "./lake.js";

vi.setConfig({ testTimeout: 180_000 });

interface Results {
  readonly metadata: {
    readonly versions: Readonly<Record<string, string>>;
    readonly command: readonly string[];
    readonly started_at: string;
    readonly finished_at: string;
    readonly exit_code: number;
  };
  readonly run_id?: string;
  readonly status?: string;
  readonly views?: readonly { readonly view: string; readonly status: string }[];
  readonly error?: { readonly code: string; readonly message: string };
}

const published = JSON.parse(
  await readFile(new URL("../../schemas/run-results.v1.json", import.meta.url), "utf8"),
) as object;

function validator(schema: object) {
  const ajv = new Ajv({ allErrors: true, strict: false });
  addFormats.default(ajv);
  return ajv.compile(schema);
}

/** The same schema, by which nothing may be there that it does not name: what it leaves open is for later versions. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return "properties" in inner ? { ...inner, additionalProperties: false } : inner;
}

const asPublished = validator(published);
const asWritten = validator(closed(published) as object);

/** The file's content, which is by the schema and names nothing else. */
async function resultsOf(directory: string, folder = "target"): Promise<Results> {
  const results = JSON.parse(await readFile(join(directory, folder, "run_results.json"), "utf8")) as Results;
  for (const validate of [asPublished, asWritten]) {
    validate(results);
    expect(validate.errors, JSON.stringify(results)).toBeNull();
  }
  expect(await readdir(join(directory, folder))).toEqual(["run_results.json"]);
  return results;
}

const withoutMetadata = ({ metadata: _, ...result }: Results): object => result;

test("each run leaves what it printed, with versions, command and times", async () => {
  const cwd = await project(
    {
      ...VIEWS,
      "views/running.sql": "SELECT id, sum(amount) OVER (PARTITION BY customer_id ORDER BY id) AS s FROM orders",
    },
    ORDERS,
  );
  await command(["apply"], { cwd });
  expect(await readdir(cwd)).not.toContain("target");
  const before = Date.now();
  const built = await json(["refresh", "--jobs", "2"], { cwd });
  const first = await resultsOf(cwd);
  expect(withoutMetadata(first)).toEqual(built.value);
  const { versions, started_at, finished_at, ...rest } = first.metadata;
  expect(rest).toMatchObject({ command: ["refresh", "--jobs", "2", "--output", "json"], exit_code: 0 });
  expect(Object.keys(versions)).toEqual(["ducklake_ivm", "duckdb", "node"]);
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  expect(versions).toMatchObject({
    ducklake_ivm: version,
    duckdb: expect.stringMatching(/^v\d/),
    node: process.version,
  });
  expect(Date.parse(started_at)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(finished_at)).toBeGreaterThanOrEqual(Date.parse(started_at));

  await command(["refresh", "--no-change-exit-code", "99"], { cwd });
  const unchanged = await resultsOf(cwd);
  expect(unchanged).toMatchObject({ status: "unchanged", metadata: { exit_code: 99 } });
  expect(unchanged.run_id).not.toBe(first.run_id);

  await sql(cwd, "INSERT INTO orders VALUES (4, 2, 9.00)");
  await command(["refresh", "--dry-run"], { cwd });
  expect(await resultsOf(cwd)).toEqual(unchanged);
  const refreshed = await json(["refresh"], { cwd });
  const second = await resultsOf(cwd);
  expect(withoutMetadata(second)).toEqual(refreshed.value);
  expect(second.status).toBe("refreshed");
});

test("a failing view, a lake that is not there and a wrong word are left with their errors", async () => {
  const cwd = await project(
    {
      "ducklake-ivm.yaml": "lake:\n  catalog: lake.ducklake\n  data_path: lake_files\nlog:\n  path: logs\n",
      ...VIEWS,
      "views/keyed.sql": "/* ---\nprimary_key: customer_id\n--- */\nSELECT customer_id FROM orders",
      "views/over_keyed.sql": "SELECT count(*) AS n FROM keyed",
    },
    ORDERS,
  );
  await command(["apply"], { cwd });
  const failing = await json(["refresh"], { cwd });
  const failed = await resultsOf(cwd);
  expect(failed).toMatchObject({ status: "failed", metadata: { exit_code: 1 } });
  expect(withoutMetadata(failed)).toEqual(failing.value);
  const states = Object.fromEntries((failed.views ?? []).map(({ view, status }) => [view, status]));
  expect(states).toEqual({ spent: "refreshed", big_spenders: "refreshed", keyed: "failed", over_keyed: "failed" });

  const unknown = await json(["refresh", "nothing_like_it"], { cwd });
  expect(unknown.exitCode).toBeGreaterThan(0);
  const wrong = await resultsOf(cwd);
  expect(wrong).toMatchObject({
    metadata: { exit_code: unknown.exitCode, command: ["refresh", "nothing_like_it", "--output", "json"] },
  });
  expect(withoutMetadata(wrong)).toEqual(unknown.value);

  const address = "postgres:host=127.0.0.1 port=1 dbname=none";
  const away = await folder({
    "ducklake-ivm.yaml": `lake:\n  catalog: "${address} password=tops3cret-too"\n`,
    "views/v.sql": "SELECT 1 AS one",
  });
  const env = { LAKE_PASSWORD: "tops3cret-word" };
  const unreachable = await json(["refresh", "--select", "tops3cret-word"], { cwd: away, env });
  const stopped = await resultsOf(away);
  expect(stopped.error?.code).toBe((unreachable.value as Results).error?.code);
  expect(stopped.metadata.command).toEqual(["refresh", "--select", "***", "--output", "json"]);
  expect(JSON.stringify(stopped)).not.toContain("tops3cret");
});

test("the folder can be named, and the file left out", async () => {
  const config = (more: string) =>
    ({ "ducklake-ivm.yaml": `lake:\n  catalog: lake.ducklake\n  data_path: lake_files\n${more}`, ...VIEWS }) as const;
  const cwd = await project(config("target_path: out/runs\n"), ORDERS);
  const run = async (words: readonly string[], options: CommandOptions): Promise<void> => {
    expect((await command(words, options)).exitCode).toBe(0);
  };
  await run(["apply"], { cwd });
  await run(["refresh", "--project-dir", cwd], { cwd: join(cwd, "views") });
  const first = await resultsOf(cwd, "out/runs");
  await run(["refresh", "--no-write-json"], { cwd });
  expect(await resultsOf(cwd, "out/runs")).toEqual(first);
  await run(["refresh", "--target-path", "elsewhere"], { cwd });
  expect((await resultsOf(cwd, "elsewhere")).status).toBe("unchanged");
  expect(await resultsOf(cwd, "out/runs")).toEqual(first);

  const quiet = await project(config("write_json: false\n"), ORDERS);
  await run(["apply"], { cwd: quiet });
  await run(["refresh"], { cwd: quiet });
  expect(await readdir(quiet)).not.toContain("target");
});

test("a file that can't be written is a warning: the views are right all the same", async () => {
  const cwd = await project({ ...VIEWS, target: "in the way" }, ORDERS);
  await command(["apply"], { cwd });
  const result = await json<{ status: string }>(["refresh"], { cwd });
  expect(result).toMatchObject({ exitCode: 0, value: { status: "refreshed" } });
  expect(result.stderr).toContain("run_results.json could not be written");
});
