// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration has references of this form.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, inject, it, vi } from "vitest";
import { open } from "../../src/index.js";
import { folder } from "../project/files.js";
import { tempLake } from "../setup/lake.js";
import { BINARY, command, type JsonError, json, processOptions } from "./command.js";
import { VIEWS } from "./lake.js";
import { silentServer } from "./silent-server.js";

// Each command is a process that starts DuckDB.
vi.setConfig({ testTimeout: 180_000 });

// More rows than are kept in the catalog, so that there are files to read.
const ROWS = [
  "CREATE TABLE customers AS SELECT range AS id, 'name ' || range AS name FROM range(100)",
  "CREATE TABLE orders AS SELECT range AS id, range % 100 AS customer_id, 1.50::DECIMAL(10, 2) AS amount FROM range(1000)",
];

/** A project on PostgreSQL and S3, all of whose secrets come from the environment. */
async function remoteProject() {
  await using lake = await tempLake({ catalog: "postgres", data: "s3" });
  const { config } = lake;
  const writer = await open(config);
  const connection = await writer.connect();
  for (const statement of ROWS) {
    await connection.run(statement);
  }
  connection.closeSync();
  await writer.close();

  const { postgres, s3 } = inject("services");
  const cwd = await folder({ ...VIEWS, "ducklake-ivm.yaml": configText(config.metadataSchema ?? "", s3.endpoint) });
  const env = {
    LAKE_HOST: postgres.host,
    LAKE_PORT: String(postgres.port),
    LAKE_DATABASE: postgres.database,
    LAKE_USER: postgres.user,
    PGPASSWORD: postgres.password,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    AWS_REGION: s3.region,
    AWS_EC2_METADATA_DISABLED: "true",
  };
  return { cwd, env, schema: config.metadataSchema ?? "" };
}

function configText(schema: string, endpoint: string): string {
  return `
lake:
  catalog: "postgres:dbname=\${LAKE_DATABASE} host=\${LAKE_HOST} port=\${LAKE_PORT} user=\${LAKE_USER}"
  metadata_schema: ${schema}
s3:
  endpoint: http://${endpoint}
  url_style: path
`;
}

describe("a lake on PostgreSQL and S3", () => {
  it("is kept with keys and password from the environment, and no data path", async () => {
    const options = await remoteProject();
    for (const words of [["apply"], ["refresh"], ["status"], ["explain", "spent"], ["verify"]]) {
      const result = await command([...words, "--debug"], options);
      expect(result.exitCode, result.stderr).toBe(0);
      const printed = result.stdout + result.stderr;
      expect(printed).not.toContain(options.env.AWS_SECRET_ACCESS_KEY);
      expect(printed).not.toContain(options.env.PGPASSWORD);
    }
  });

  it("refuses wrong S3 keys: exit code 1, a hint, and no key in what is printed", async () => {
    const { cwd, env } = await remoteProject();
    expect((await command(["apply"], { cwd, env })).exitCode).toBe(0);
    const wrong = { ...env, AWS_SECRET_ACCESS_KEY: "wrong-secret-key-0123" };
    const result = await json<JsonError>(["refresh", "--debug"], { cwd, env: wrong });
    expect(result.value.error, result.stderr).toMatchObject({ code: "storage_denied", retryable: false });
    expect(result.exitCode).toBe(1);
    expect(result.value.error.hint).toMatch(/S3 keys/);
    expect(result.stdout + result.stderr).not.toContain(wrong.AWS_SECRET_ACCESS_KEY);
    expect((await command(["refresh"], { cwd, env })).exitCode).toBe(0);
  });

  it("says where no S3 keys are found at all", async () => {
    const { cwd, env } = await remoteProject();
    const { AWS_ACCESS_KEY_ID: _id, AWS_SECRET_ACCESS_KEY: _secret, ...withoutKeys } = env;
    const none = { ...withoutKeys, HOME: cwd, AWS_PROFILE: "default" };
    const result = await json<JsonError>(["status"], { cwd, env: none });
    expect(result, result.stderr).toMatchObject({ exitCode: 1, value: { error: { code: "storage_credentials" } } });
  });

  it("says where the password is wrong, and does not print it", async () => {
    const { cwd, env } = await remoteProject();
    const result = await json<JsonError>(["status", "--debug"], { cwd, env: { ...env, PGPASSWORD: "wr0ng-password" } });
    expect(result, result.stderr).toMatchObject({ exitCode: 1, value: { error: { code: "catalog_unreachable" } } });
    expect(result.stdout + result.stderr).not.toContain("wr0ng-password");
  });

  it("can be left by a second signal while the storage does not answer", async () => {
    const { cwd, env, schema } = await remoteProject();
    await using server = await silentServer();
    expect((await command(["apply"], { cwd, env })).exitCode).toBe(0);
    await writeFile(join(cwd, "ducklake-ivm.yaml"), configText(schema, `127.0.0.1:${server.port}`));
    const running = execa(BINARY, ["refresh"], { ...processOptions({ cwd, env }), forceKillAfterDelay: false });
    await server.connected;
    const start = performance.now();
    running.kill("SIGTERM");
    while (!(await firstLine(running.stderr)).includes("Stopping in order"));
    running.kill("SIGTERM");
    const { signal, exitCode, stderr } = await running;
    // Which shells tell as 130.
    expect(signal ?? exitCode, stderr).toBe("SIGINT");
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(stderr).toMatch(/^error: Stopped by a signal\.$/m);
  });
});

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  const [chunk] = (await once(stream, "data")) as [Buffer | string];
  return chunk.toString();
}
