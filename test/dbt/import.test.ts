/** Models of a real dbt project become views that hold what dbt's own tables hold. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { ConfigError, type DbtImportResult, importDbt } from "../../src/index.js";
import { command, json } from "../cli/command.js";
import { project, sql } from "../cli/lake.js";
import { folder } from "../project/files.js";
import { database, dbtProject, RAW } from "./dbt.js";

// The first run on a machine installs dbt.
vi.setConfig({ testTimeout: 600_000 });

const VIEWS = ["after_scored", "by_country", "large orders", "revenue", "stg_orders"];

test("views from dbt's models hold what dbt's tables hold, and follow the sources", async () => {
  const dbt = await dbtProject("build", "--exclude", "scored+", "recent", "sampled", "orders_history");
  const cwd = await project({}, [
    ...RAW,
    "CREATE TABLE countries AS SELECT * FROM (VALUES ('dk', 'Denmark'), ('se', 'Sweden')) AS v (code, country)",
    "CREATE TABLE scored (id INTEGER)",
  ]);
  const imported = await json<DbtImportResult>(["import", "dbt", dbt], { cwd });
  expect(imported.exitCode, imported.stderr).toBe(0);
  expect(imported.value.models.map(({ view }) => view).sort()).toEqual(VIEWS);
  const reasons = imported.value.left.map(({ model, code }) => `${model}: ${code}`).sort();
  expect(reasons).toEqual([
    "big_orders: ephemeral",
    "countries: seed",
    "orders_history: snapshot",
    "recent: is_incremental",
    "sampled: volatile_function",
    "scored: python",
  ]);
  for (const words of [["apply"], ["refresh"]]) {
    const { exitCode, stderr } = await command(words, { cwd });
    expect(exitCode, stderr).toBe(0);
  }
  const compare = async (): Promise<void> => {
    for (const view of VIEWS.filter((name) => name !== "after_scored")) {
      const read = `SELECT * FROM "${view}" ORDER BY ALL`;
      const [ours, theirs] = [await sql(cwd, read), await database(dbt, [read])];
      expect(theirs.length).toBeGreaterThan(0);
      expect(ours.map((row) => Object.values(row))).toEqual(theirs);
    }
  };
  await compare();
  expect((await command(["list"], { cwd })).stdout).toMatch(/revenue\s.*marts\/revenue\.sql.*customer_id/);
});

test("files keep their comments, say what the model says, and are never overwritten or half written", async () => {
  const dbt = await dbtProject("compile");
  const views = await folder();
  await importDbt(dbt, views);
  expect(await readFile(join(views, "staging/stg_orders.sql"), "utf8")).toBe(
    '-- one row an order\nSELECT id, customer_id, amount::DECIMAL(10, 2) AS amount\nFROM "raw"."orders"\nWHERE amount IS NOT NULL\n',
  );
  expect(await readFile(join(views, "marts/revenue.sql"), "utf8")).toBe(
    [
      "/* ---",
      'primary_key: ["customer_id"]',
      'tags: ["daily","finance"]',
      "--- */",
      "-- What each customer has spent.",
      "-- */ A remark that tries to end a comment.",
      "SELECT customer_id, sum(amount) AS revenue, count(*) AS orders",
      'FROM "stg_orders"',
      "GROUP BY customer_id",
      "",
    ].join("\n"),
  );
  const byCountry = await readFile(join(views, "marts/by_country.sql"), "utf8");
  expect(byCountry).toContain('"raw"."customer list" AS c');
  expect(byCountry).toContain('"main"."countries" AS n');

  await writeFile(join(views, "marts/revenue.sql"), "SELECT 1 AS mine");
  await expect(importDbt(dbt, views)).rejects.toMatchObject({ code: "file_exists" });
  expect(await readFile(join(views, "marts/revenue.sql"), "utf8")).toBe("SELECT 1 AS mine");
  await importDbt(dbt, views, { force: true });
  expect(await readFile(join(views, "marts/revenue.sql"), "utf8")).toContain("primary_key");
  const names = (await readdir(views, { recursive: true })).filter((name) => name.includes("unfinished"));
  expect(names).toEqual([]);

  const empty = await folder();
  const tried = await importDbt(dbt, empty, { dryRun: true });
  expect(tried.models).toHaveLength(VIEWS.length);
  expect(tried.models.find(({ view }) => view === "by_country")?.notes).toEqual([
    "unique_key country || '!' names no columns and is left out",
  ]);
  expect(await readdir(empty)).toEqual([]);
});

/** A manifest of one model, made by hand for what no dbt would write. */
function manifest(node: object, version = 12): string {
  const model = {
    unique_id: "model.p.m",
    resource_type: "model",
    name: "m",
    path: "m.sql",
    schema: "main",
    relation_name: '"d"."main"."m"',
    compiled_code: "SELECT 1 AS one",
    config: { materialized: "table" },
    ...node,
  };
  const metadata = { dbt_schema_version: `https://schemas.getdbt.com/dbt/manifest/v${version}.json` };
  return JSON.stringify({ metadata, nodes: { "model.p.m": model }, sources: {} });
}

test.each([
  [{ alias: "../../m" }, "name"],
  [{ compiled_code: null }, "not_compiled"],
  [{ compiled_code: "DELETE FROM t" }, "sql"],
  [{ compiled_code: "SELECT 1; SELECT 2" }, "sql"],
  [{ compiled_code: "SELEC 1" }, "sql"],
  [{ compiled_code: "SELECT * FROM elsewhere.main.t" }, "sql"],
  [{ config: { materialized: "materialized_view" } }, "materialization"],
])("a model that can't be a view is left with the reason: %j", async (node, code) => {
  const directory = await folder({ "manifest.json": manifest(node) });
  const { models, left } = await importDbt(join(directory, "manifest.json"), join(directory, "views"));
  expect(models).toEqual([]);
  expect(left.map((model) => model.code)).toEqual([code]);
});

test("a path that leaves the folder is not followed; versions 10 to 12 are read, others refused", async () => {
  for (const version of [10, 11, 12]) {
    const directory = await folder({ "manifest.json": manifest({ path: "../../out/m.sql" }, version) });
    await mkdir(join(directory, "views"));
    const { models } = await importDbt(join(directory, "manifest.json"), join(directory, "views"));
    expect(models[0]?.file).toBe(join(directory, "views", "m.sql"));
  }
  const old = await folder({ "manifest.json": manifest({}, 9), "broken.json": "{", "other.json": "{}" });
  const codes = ["manifest_version", "manifest_unreadable", "manifest_invalid"];
  for (const [index, name] of ["manifest.json", "broken.json", "other.json"].entries()) {
    const failure = await importDbt(join(old, name), old).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect(failure).toMatchObject({ code: codes[index] });
  }
});
