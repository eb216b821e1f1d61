/** Rights that are really missing, on real servers. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fromTemporaryCredentials } from "@aws-sdk/credential-providers";
import { expect, inject, test, vi } from "vitest";
import { type DoctorResult, diagnose, type LakeConfig, open } from "../../src/index.js";
import { command, type JsonError, json } from "../cli/command.js";
import { tempLake } from "../setup/lake.js";
import { SharedProject } from "./shared-project.js";

vi.setConfig({ testTimeout: 180_000 });

const statusesOf = ({ checks }: DoctorResult): Record<string, string> =>
  Object.fromEntries(checks.map(({ name, status }) => [name, status]));

/** Keys that may do only this in the bucket. */
async function keysFor(...actions: readonly string[]): Promise<Partial<LakeConfig["s3"] & object>> {
  const { s3 } = inject("services");
  const statement = {
    Effect: "Allow",
    Action: actions,
    Resource: [`arn:aws:s3:::${s3.bucket}`, `arn:aws:s3:::${s3.bucket}/*`],
  };
  return fromTemporaryCredentials({
    masterCredentials: { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey },
    params: {
      RoleArn: "arn:xxx:xxx:xxx:xxxx",
      RoleSessionName: "doctor",
      Policy: JSON.stringify({ Version: "2012-10-17", Statement: [statement] }),
    },
    clientConfig: { endpoint: `http://${s3.endpoint}`, region: s3.region },
  })();
}

async function lakeOnS3(): Promise<LakeConfig> {
  const { config } = await tempLake({ catalog: "postgres", data: "s3" });
  const logged = { ...config, log: { path: `${config.dataPath?.replace(/\/$/, "")}-logs` } };
  await using lake = await open(logged);
  const connection = await lake.connect();
  await connection.run("CREATE TABLE t AS SELECT range AS k FROM range(100)");
  connection.closeSync();
  await lake.define([{ name: "flat", sql: "SELECT k FROM t" }]);
  await lake.refresh();
  return logged;
}

test("a lake in order has nothing but ok, and nothing of the examination stays", async () => {
  const config = await lakeOnS3();
  const result = await diagnose(config);
  expect(result.checks.filter(({ status }) => status !== "ok")).toEqual([]);
  expect(result.checks.map(({ name }) => name)).toEqual([
    "node",
    "catalog",
    "data_put",
    "data_get",
    "data_clock",
    "data_list",
    "data_delete",
    "log_put",
    "log_conditional_put",
    "log_get",
    "log_clock",
    "log_list",
    "log_delete",
    "engine",
    "extensions",
    "catalog_rights",
    "catalog_clock",
    "server_clock",
    "log_place",
    "state",
    "stray_files",
    "stray_data",
    "retention",
  ]);
  await using lake = await open(config);
  const connection = await lake.connect();
  const left = await connection.runAndReadAll(
    `SELECT file FROM glob('s3://${inject("services").s3.bucket}/**') WHERE file LIKE '%doctor%'`,
  );
  expect(left.getRowsJS()).toEqual([]);
  connection.closeSync();
});

test.each([
  [
    "delete",
    ["s3:PutObject", "s3:GetObject", "s3:ListBucket"],
    { data_delete: "error", log_delete: "error", data_put: "ok", log_list: "ok" },
  ],
  [
    "put",
    ["s3:GetObject", "s3:ListBucket", "s3:DeleteObject"],
    { data_put: "error", log_conditional_put: "error", log_list: "ok" },
  ],
  [
    "list",
    ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"],
    { data_list: "error", log_list: "error", log_put: "ok", log_delete: "ok" },
  ],
  [
    "get",
    ["s3:PutObject", "s3:ListBucket", "s3:DeleteObject"],
    { data_get: "error", log_conditional_put: "error", log_put: "ok", log_list: "ok", log_delete: "ok" },
  ],
] as const)("without the right to %s in S3", async (right, actions, expected) => {
  const config = await lakeOnS3();
  const result = await diagnose({ ...config, s3: { ...config.s3, ...(await keysFor(...actions)) } });
  expect(result.ok).toBe(false);
  expect(statusesOf(result)).toMatchObject(expected);
  const refused = result.checks.find(({ name }) => name === `log_${right}`);
  expect(refused?.remedy).toMatch(/s3:\w+/);
});

test("keys that are wrong, a bucket that is not there, and a server that DuckDB looks for elsewhere", async () => {
  const config = await lakeOnS3();
  const remedies = async (changed: Partial<LakeConfig>) => {
    const { checks } = await diagnose({ ...config, ...changed });
    return Object.fromEntries(
      checks.filter(({ status }) => status === "error").map(({ name, remedy }) => [name, remedy]),
    );
  };
  const keys = await remedies({ s3: { ...config.s3, secretAccessKey: "n0t-the-secret" } });
  expect(keys).toMatchObject({
    log_put: expect.stringMatching(/S3 keys/),
    data_list: expect.stringMatching(/S3 keys/),
  });
  const bucket = await remedies({ log: { path: "s3://no-such-bucket/logs" } });
  expect(bucket).toMatchObject({
    log_put: expect.stringMatching(/Make the bucket/),
    log_conditional_put: expect.stringMatching(/Make the bucket/),
  });
  const { urlStyle: _, ...s3 } = config.s3 ?? {};
  expect(await remedies({ s3 })).toMatchObject({ data_get: expect.stringMatching(/url_style/) });
});

test("with a role of PostgreSQL that may only read", async () => {
  await using project = await SharedProject.start(
    { catalog: "postgres", data: "folder" },
    ["CREATE TABLE t AS SELECT 1 AS k"],
    { flat: "SELECT k FROM t" },
  );
  expect((await command(["apply"], project.options)).exitCode).toBe(0);
  const fine = await json<DoctorResult>(["doctor"], project.options);
  expect(fine.exitCode, fine.stdout).toBe(0);

  const schema = project.config.metadataSchema ?? "";
  const role = `reader_${schema.slice(-8)}`;
  for (const sql of [
    `CREATE ROLE ${role} LOGIN PASSWORD ''r3ad-only''`,
    `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
    `GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
  ]) {
    await project.sql(`CALL postgres_execute('__ducklake_metadata_lake', '${sql}')`);
  }
  const text = `lake: { catalog: "${project.config.catalog.replace(/ password=\S+/, "").replace(/user=\S+/, `user=${role}`)}", metadata_schema: ${schema} }\n`;
  await writeFile(join(project.cwd, "ducklake-ivm.yaml"), text);
  const result = await json<DoctorResult>(["doctor"], { ...project.options, env: { PGPASSWORD: "r3ad-only" } });
  expect(result.exitCode, result.stderr).toBe(1);
  expect(statusesOf(result.value)).toMatchObject({ catalog: "ok", catalog_rights: "error" });
  expect(result.value.checks.find(({ name }) => name === "catalog_rights")?.remedy).toMatch(/INSERT, UPDATE/);
  expect(result.stdout + result.stderr).not.toContain("r3ad-only");

  // The right to UPDATE is what the examination itself needs, and not all that a commit does.
  await project.sql(
    `CALL postgres_execute('__ducklake_metadata_lake', 'GRANT UPDATE ON ALL TABLES IN SCHEMA ${schema} TO ${role}')`,
  );
  const options = { ...project.options, env: { PGPASSWORD: "r3ad-only" } };
  const updating = await json<DoctorResult>(["doctor"], options);
  expect(updating.value.checks.find(({ name }) => name === "catalog_rights")).toMatchObject({
    status: "error",
    message: expect.stringMatching(/CREATE \(its schema\), DELETE \(\d+ of its tables\), INSERT \(\d+ of its tables\)/),
  });
  const started = performance.now();
  const refused = await json<JsonError>(["append", "t", "from", "SELECT 2 AS k"], options);
  expect(refused.value.error).toMatchObject({ code: "database_denied", retryable: false });
  expect(refused.exitCode).toBe(1);
  expect(performance.now() - started).toBeLessThan(30_000);

  const unreachable = await json<DoctorResult>(["doctor"], { ...project.options, env: { PGPASSWORD: "wr0ng" } });
  expect(unreachable.exitCode).toBe(1);
  expect(statusesOf(unreachable.value)).toMatchObject({ catalog: "error" });
  expect(unreachable.value.checks.find(({ name }) => name === "catalog")?.remedy).not.toBeNull();
});

test("with a log root that can't be written, a state schema of the future, and needed snapshots gone", async () => {
  await using place = await tempLake();
  const file = join(place.folder, "a file");
  await writeFile(file, "");
  const config = { ...place.config, log: { path: join(file, "logs") } };
  {
    await using lake = await open(place.config);
    const connection = await lake.connect();
    await connection.run("CREATE TABLE t AS SELECT range AS k FROM range(100)");
    await lake.define([{ name: "flat", sql: "SELECT k FROM t" }]);
    await lake.refresh();
    await connection.run("INSERT INTO t VALUES (1)");
    await connection.run("CALL ducklake_expire_snapshots('lake', older_than => now())");
    connection.closeSync();
  }
  const lost = await diagnose(config);
  expect(statusesOf(lost)).toMatchObject({
    log_put: "error",
    data_put: "ok",
    retention: "warning",
    catalog_rights: "ok",
  });
  expect((await readdir(join(place.folder, "data"))).filter((name) => name.includes("doctor"))).toEqual([]);
  {
    await using lake = await open(place.config);
    const connection = await lake.connect();
    await connection.run("UPDATE ivm.layout SET version = 9999");
    connection.closeSync();
  }
  const future = await diagnose(place.config);
  expect(future.ok).toBe(false);
  expect(future.checks.find(({ name }) => name === "state")).toMatchObject({ status: "error" });
  expect(future.checks.find(({ name }) => name === "state")?.remedy).toMatch(/newer version/);
});
