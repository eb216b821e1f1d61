import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { execa } from "execa";
import { describe, expect, it, vi } from "vitest";
import { open } from "../../src/index.js";
import { folder } from "../project/files.js";
import { BINARY, command, type JsonError, json, processOptions } from "./command.js";
import { ORDERS, project, VIEWS } from "./lake.js";
import { silentServer } from "./silent-server.js";

// Each command is a process that starts DuckDB.
vi.setConfig({ testTimeout: 180_000 });

/** Takes minutes, whatever the machine. */
const ENDLESS = {
  "views/endless.sql": "SELECT count(*) AS n FROM numbers a, numbers b, numbers c WHERE (a.n * b.n + c.n) % 7 = 3",
};
const NUMBERS = ["CREATE TABLE numbers AS SELECT range AS n FROM range(100000)"];

describe("another process that has the catalog's file", () => {
  it("is a reason to run again: exit code 75", async () => {
    const cwd = await project(VIEWS, ORDERS);
    await command(["apply"], { cwd });
    const lake = await open({ catalog: join(cwd, "lake.ducklake"), dataPath: join(cwd, "lake_files") });
    try {
      const result = await json<JsonError>(["refresh"], { cwd });
      expect(result, result.stderr).toMatchObject({ exitCode: 75, value: { error: { retryable: true } } });
      expect(result.value.error.hint).not.toBeNull();
    } finally {
      await lake.close();
    }
    expect((await command(["refresh"], { cwd })).exitCode).toBe(0);
  });
});

describe.each(["SIGINT", "SIGTERM"] as const)("%s", (signal) => {
  it("stops a refresh in order: exit code 130, and nothing is half done", async () => {
    const cwd = await project(ENDLESS, NUMBERS);
    await command(["apply"], { cwd });
    const opening = performance.now();
    await command(["status"], { cwd });
    const untilOpen = performance.now() - opening;
    const running = execa(BINARY, ["refresh", "--output", "json"], processOptions({ cwd }));
    await setTimeout(2 * untilOpen + 1_000);
    running.kill(signal);
    const start = performance.now();
    const { exitCode, stdout, stderr } = await running;
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(exitCode, stderr).toBe(130);
    expect(stderr).toContain("Stopping in order");
    expect(JSON.parse(stdout.split("\n").at(-1) ?? "")).toMatchObject({ error: { code: "interrupted" } });
    const left = { metadata: { exit_code: 130 }, error: { code: "interrupted" } };
    expect(JSON.parse(await readFile(join(cwd, "target/run_results.json"), "utf8"))).toMatchObject(left);
    const { value } = await json<{ views: { state: string; horizon: number | null }[] }>(["status"], { cwd });
    expect(value.views).toMatchObject([{ state: "pending", horizon: null }]);
  });

  it.each(["csv", "jsonl"])("stops a file of rows in order, and leaves no part of it: %s", async (format) => {
    const cwd = await project({ "views/n.sql": "SELECT n FROM numbers" }, NUMBERS);
    const running = execa(
      BINARY,
      ["query", `SELECT r FROM range(100000000000) AS t (r)`, "--out", "rows", "--output", format],
      processOptions({ cwd }),
    );
    await vi.waitFor(async () => expect(await readdir(cwd)).toContainEqual(expect.stringMatching(/^rows\..*\.part/)), {
      timeout: 60_000,
    });
    running.kill(signal);
    const { exitCode, stderr } = await running;
    expect(exitCode, stderr).toBe(130);
    expect((await readdir(cwd)).filter((name) => name.includes("rows"))).toEqual([]);
  });

  it("ends other commands on the spot", async () => {
    await using server = await silentServer();
    const cwd = await folder({
      "ducklake-ivm.yaml": `lake: { catalog: 'postgres:dbname=x host=127.0.0.1 port=${server.port}' }`,
      "views/v.sql": "SELECT 1 AS one",
    });
    const running = execa(BINARY, ["status", "--output", "json"], processOptions({ cwd }));
    await server.connected;
    running.kill(signal);
    const { signal: endedBy, stdout, stderr } = await running;
    // Which shells tell as 130.
    expect(endedBy, stderr).toBe("SIGINT");
    expect(JSON.parse(stdout.split("\n").at(-1) ?? "")).toMatchObject({ error: { code: "interrupted" } });
    expect(stderr).toMatch(/^error: Stopped by a signal/);
  });
});
