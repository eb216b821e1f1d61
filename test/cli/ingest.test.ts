/** `append` and `merge` as their users run them. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { command, type JsonError, json } from "./command.js";
import { ORDERS, project, sql, VIEWS } from "./lake.js";

interface IngestJson {
  readonly table: string;
  readonly kind: string;
  readonly status: string;
  readonly created: boolean;
  readonly dry_run: boolean;
  readonly rows: Readonly<Record<string, number>>;
  readonly snapshot: number | null;
}

const CSV = "id,customer_id,amount\n1,1,10.00\n2,1,3.00\n4,2,1.25\n";

it("merges a file, tells what it wrote, and the next refresh takes just that", async () => {
  const cwd = await project(VIEWS, ORDERS);
  await writeFile(join(cwd, "orders.csv"), CSV);
  expect((await command(["apply"], { cwd })).exitCode).toBe(0);
  expect((await command(["refresh"], { cwd })).exitCode).toBe(0);

  const words = ["merge", "orders", "from", "orders.csv", "--key", "id", "--delete-missing"];
  const dry = await command([...words, "--dry-run"], { cwd });
  expect(dry).toEqual({
    exitCode: 0,
    stdout: "main.orders: 1 inserted, 1 updated, 1 deleted, 1 unchanged (dry run, nothing was written)",
    stderr: "",
  });
  const merged = await json<IngestJson>(words, { cwd });
  expect(merged).toMatchObject({ exitCode: 0, stderr: "" });
  expect(merged.value).toMatchObject({
    table: "main.orders",
    kind: "merge",
    status: "written",
    created: false,
    dry_run: false,
    rows: { input: 3, inserted: 1, updated: 1, deleted: 1, unchanged: 1 },
  });
  expect(merged.value.snapshot).toBeGreaterThan(0);
  const again = await command(words, { cwd });
  expect(again.stdout).toBe("main.orders: unchanged, all 3 rows of the input are there already");

  const refreshed = await json<{ views: { strategy: string; sources: { delta?: string }[] }[] }>(["refresh", "spent"], {
    cwd,
  });
  expect(refreshed.value.views[0]).toMatchObject({ strategy: "incremental", sources: [{ delta: "files" }, {}] });
  expect(await sql(cwd, "SELECT name, amount FROM spent ORDER BY name")).toEqual([
    { name: "Ada", amount: "13.00" },
    { name: "Ben", amount: "1.25" },
  ]);
});

it("appends the rows of a query, and creates a table", async () => {
  const cwd = await project({}, ORDERS);
  const query = "SELECT id + 10 AS id, customer_id, amount FROM orders";
  const first = await command(["append", "orders", "FROM", query, "--key", "id"], { cwd });
  expect(first.stdout).toMatch(/^main\.orders: 3 inserted \(snapshot \d+\)$/);
  const made = await command(["merge", "big", "from", "FROM orders", "--key", "id, customer_id", "--create"], { cwd });
  expect(made.stdout).toMatch(/^main\.big: created, 6 inserted \(snapshot \d+\)$/);
  await writeFile(join(cwd, "rows"), "id,customer_id,amount\n99,9,9\n");
  const file = await command(["append", "big", "from", "rows", "--format", "csv"], { cwd });
  expect(file.stdout).toMatch(/^main\.big: 1 inserted/);
});

it("has exit code 2 for what is named wrongly, and 1 for rows that can't be taken", async () => {
  const cwd = await project({}, ORDERS);
  await writeFile(join(cwd, "twice.csv"), "id,customer_id,amount\n7,1,1\n7,2,2\n");
  for (const [words, code] of [
    [["append", "nowhere", "from", "SELECT 1"], "table_missing"],
    [["append", "orders", "from", "missing.csv"], "file_missing"],
    [["append", "orders", "from", "SELEC 1"], "input_syntax"],
    [["merge", "orders", "from", "twice.csv", "--key", "nothing"], "key_unknown"],
  ] as const) {
    const { exitCode, value } = await json<JsonError>(words, { cwd });
    expect([exitCode, value.error.code]).toEqual([2, code]);
    expect(value.error.hint).not.toBeNull();
  }
  const { exitCode, stderr, value } = await json<JsonError & { error: { samples: unknown } }>(
    ["merge", "orders", "from", "twice.csv", "--key", "id"],
    { cwd },
  );
  expect(exitCode).toBe(1);
  expect(value.error).toMatchObject({
    code: "key_duplicate",
    samples: [{ id: "7" }],
    subject: { table: "main.orders", column: "id" },
  });
  expect(stderr).toContain(
    "error: main.orders: 2 rows of the input share 1 key (id), for example (id = 7). Nothing was written.",
  );
});
