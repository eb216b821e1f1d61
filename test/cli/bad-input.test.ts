import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { folder } from "../project/files.js";
import { command, type JsonError, json } from "./command.js";
import { ORDERS, project, sql, VIEWS } from "./lake.js";

// Each command is a process that starts DuckDB.
vi.setConfig({ testTimeout: 180_000 });

const HEADER = "/* ---\nprimary_key: id\n--- */\n";

describe("definitions that are wrong", () => {
  it.each([
    ["a missing table", "SELECT id\nFROM orderz", "table_missing", /orderz/, undefined],
    ["a missing column", "SELECT id,\n  amuont\nFROM orders", "column_missing", /amuont/, undefined],
    ["a syntax error", "SELECT id\nFORM orders WHERE id >", "syntax_error", /syntax error/, [5, undefined]],
    ["a syntax error in its first line", "SELEC id FROM orders", "syntax_error", /SELEC/, [4, 1]],
    ["no SELECT", "DELETE FROM orders", "not_a_select", /SELECT/, undefined],
    ["two statements", "SELECT 1 AS id; SELECT 2 AS id", "not_a_select", /2/, undefined],
    ["a volatile function", "SELECT id, random() AS r FROM orders", "volatile_function", /random/, undefined],
    ["a key that is no column", "SELECT amount FROM orders", "primary_key_missing", /id/, undefined],
  ])("for %s", async (_, text, code, message, place) => {
    const cwd = await project({ "views/bad.sql": HEADER + text }, ORDERS);
    // Planning must find what applying would.
    const result = await json<JsonError>([code === "syntax_error" ? "plan" : "apply"], { cwd });
    expect(result.value.error, result.stderr).toMatchObject({ code, retryable: false });
    expect(result.exitCode).toBe(2);
    expect(result.value.error.message).toMatch(message);
    expect(result.value.error.message).toContain("bad");
    expect(result.value.error.hint).not.toBeNull();
    expect(result.stderr).not.toMatch(/\.js:\d/);
    if (place !== undefined) {
      const [line, column] = place;
      expect(result.value.error.subject).toMatchObject({ file: join(cwd, "views/bad.sql"), line });
      expect(result.stderr).toMatch(new RegExp(`views/bad\\.sql:${line}:${column ?? "\\d+"}`));
    }
    expect(await sql(cwd, "SELECT view_name FROM duckdb_views() WHERE view_name = 'bad'")).toEqual([]);
  });

  it("for a circle", async () => {
    const cwd = await project(
      { "views/a.sql": "SELECT * FROM b", "views/b.sql": "SELECT * FROM c", "views/c.sql": "SELECT * FROM a" },
      ORDERS,
    );
    const result = await json<JsonError>(["apply"], { cwd });
    expect(result, result.stderr).toMatchObject({ exitCode: 2, value: { error: { code: "cycle" } } });
    for (const name of ["a", "b", "c"]) {
      expect(result.value.error.message).toMatch(new RegExp(`\\b${name}\\b`));
    }
  });

  it("for a primary key that the result violates: the view fails, the others do not, nothing is written", async () => {
    const cwd = await project(
      { ...VIEWS, "views/bad.sql": "/* --- primary_key: customer_id --- */ SELECT customer_id, amount FROM orders" },
      ORDERS,
    );
    expect((await command(["apply"], { cwd })).exitCode).toBe(0);
    const result = await json<{
      status: string;
      views: { view: string; status: string; error: { message: string } }[];
    }>(["refresh"], { cwd });
    expect(result).toMatchObject({ exitCode: 1, value: { status: "failed" } });
    const states = Object.fromEntries(result.value.views.map(({ view, status }) => [view, status]));
    expect(states).toEqual({ bad: "failed", spent: "refreshed", big_spenders: "refreshed" });
    expect(result.value.views.find(({ view }) => view === "bad")?.error.message).toMatch(/customer_id/);
    const text = await command(["refresh"], { cwd });
    expect(text.exitCode).toBe(1);
    expect(text.stdout).toMatch(/^bad +failed/m);
    expect(text.stdout).toMatch(/^error: View bad: 2 rows /m);
    expect(text.stdout).toMatch(/1 failed/);
  });

  it("still lets status and list tell what is applied", async () => {
    const cwd = await project(VIEWS, ORDERS);
    await command(["apply"], { cwd });
    await writeFile(join(cwd, "views/spent.sql"), "SELECT nothing FROM orders");
    const status = await json<{ definition_error: { code: string }; views: { definition: string }[] }>(["status"], {
      cwd,
    });
    expect(status).toMatchObject({ exitCode: 0, value: { definition_error: { code: "column_missing" } } });
    expect(status.value.views.map(({ definition }) => definition)).toEqual(["unknown", "unknown"]);
    expect((await command(["list"], { cwd })).exitCode).toBe(0);
  });
});

describe("names and snapshots that do not exist", () => {
  let cwd: string;
  beforeAll(async () => {
    cwd = await project(VIEWS, ORDERS);
    await command(["apply"], { cwd });
    await command(["refresh"], { cwd });
  });

  it.each([[["refresh", "nosuch"]], [["verify", "nosuch"]], [["explain", "nosuch"]]])("%j", async (words) => {
    const result = await json<JsonError>(words, { cwd });
    expect(result.value.error, result.stderr).toMatchObject({ code: "view_unknown" });
    expect(result.exitCode).toBe(2);
    expect(result.value.error.message).toContain("nosuch");
  });

  it.each([[["refresh", "--to-snapshot", "999999"]], [["plan", "--to-snapshot", "99999999999999999999"]]])(
    "%j",
    async (words) => {
      const result = await json<JsonError>(words, { cwd });
      expect(result.value.error, result.stderr).toMatchObject({ code: "snapshot_missing" });
      expect(result.exitCode).toBe(1);
      expect(result.value.error.message).toContain(words.at(-1));
      expect(result.value.error.hint).not.toBeNull();
    },
  );
});

describe("a lake that can't be reached", () => {
  it.each([
    ["a file in a folder that does not exist", "nowhere/lake.ducklake"],
    ["a SQLite file in a folder that does not exist", "sqlite:nowhere/lake.sqlite"],
  ])("%s", async (_, catalog) => {
    const cwd = await folder({
      "ducklake-ivm.yaml": `lake: { catalog: '${catalog}', data_path: data }`,
      "views/v.sql": "SELECT 1 AS one",
    });
    const result = await json<JsonError>(["status"], { cwd });
    expect(result.value.error, result.stderr).toMatchObject({ code: "catalog_unreachable" });
    expect(result.exitCode).toBe(1);
    expect(result.value.error.hint).not.toBeNull();
  });

  it("a file that is not there is told by commands that only look, which make none", async () => {
    const files = {
      "ducklake-ivm.yaml": "lake: { catalog: typo.ducklake, data_path: data }",
      "views/v.sql": "SELECT 1 AS one",
    };
    const cwd = await folder(files);
    // The results of a refresh are written also where it fails.
    const namesIn = async () => (await readdir(cwd)).filter((name) => name !== "target");
    const before = await namesIn();
    for (const words of [
      ...["plan", "status", "list", "retention", "graph", "history", "verify", "refresh", "query v", "report"],
      ...["explain v", "why v --key one=1", "consumer list", "apply --dry-run", "append t from x.csv", "maintain"],
    ]) {
      const result = await json<JsonError>(words.split(" "), { cwd });
      expect(result, words).toMatchObject({ exitCode: 1, value: { error: { code: "catalog_unreachable" } } });
      expect(result.value.error.message, words).toContain(join(cwd, "typo.ducklake"));
      expect(result.value.error.hint, words).toMatch(/`lake\.catalog`.*`ducklake-ivm apply`/);
      expect(await namesIn(), words).toEqual(before);
    }
    const doctor = await json<{ checks: object[] }>(["doctor"], { cwd });
    expect(doctor).toMatchObject({ exitCode: 1 });
    expect(doctor.value.checks).toContainEqual(
      expect.objectContaining({
        name: "catalog",
        status: "error",
        message: expect.stringContaining(join(cwd, "typo.ducklake")),
        remedy: expect.stringContaining("`lake.catalog`"),
      }),
    );
    expect(await namesIn()).toEqual(before);
    expect(await command(["apply"], { cwd })).toMatchObject({ exitCode: 0 });
    expect(await command(["plan"], { cwd })).toMatchObject({ exitCode: 0 });
  });

  it("a catalog that holds no lake, in SQLite", async () => {
    const cwd = await folder({
      "ducklake-ivm.yaml": "lake: { catalog: 'sqlite:typo.sqlite', data_path: data }",
      "typo.sqlite": "",
      "views/v.sql": "SELECT 1 AS one",
    });
    const result = await json<JsonError>(["plan"], { cwd });
    expect(result).toMatchObject({ exitCode: 1, value: { error: { code: "catalog_unreachable" } } });
    expect(result.value.error.message).toBe("The lake does not exist: the catalog holds none.");
    expect(await readFile(join(cwd, "typo.sqlite"), "utf8")).toBe("");
  });

  it("a file that is no catalog", async () => {
    const cwd = await folder({
      "ducklake-ivm.yaml": "lake: { catalog: lake.ducklake, data_path: data }",
      "lake.ducklake": "this is a text file, and a rather short one at that",
      "views/v.sql": "SELECT 1 AS one",
    });
    const result = await json<JsonError>(["status"], { cwd });
    expect(result, result.stderr).toMatchObject({ exitCode: 1, value: { error: { code: "catalog_unreachable" } } });
  });

  it("a server that is not there, whose password is not told", async () => {
    const port = await freePort();
    const cwd = await folder({
      "ducklake-ivm.yaml": `lake:\n  catalog: postgres:dbname=x host=127.0.0.1 port=${port} user=u password=tops3cret\n`,
      "views/v.sql": "SELECT 1 AS one",
    });
    const result = await json<JsonError>(["status", "--debug"], { cwd });
    expect(result, result.stderr).toMatchObject({ exitCode: 1, value: { error: { code: "catalog_unreachable" } } });
    expect(result.stderr + result.stdout).not.toContain("tops3cret");
  });

  it("a data path that is not the lake's", async () => {
    const cwd = await project({}, ORDERS);
    await writeFile(join(cwd, "ducklake-ivm.yaml"), "lake: { catalog: lake.ducklake, data_path: elsewhere }");
    const result = await json<JsonError>(["status"], { cwd });
    expect(result, result.stderr).toMatchObject({ exitCode: 2, value: { error: { code: "data_path_wrong" } } });
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 1;
}
