import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, vi } from "vitest";
import { folder } from "../project/files.js";
import { BINARY, command, json, processOptions } from "./command.js";
import { ORDERS, project, sql, VIEWS } from "./lake.js";

// Each command is a process that starts DuckDB.
vi.setConfig({ testTimeout: 180_000 });

interface Actions {
  readonly dry_run: boolean;
  readonly actions: readonly { readonly view: string; readonly action: string; readonly strategy: string | null }[];
}
interface Refresh {
  readonly run_id: string;
  readonly horizon: number;
  readonly status: string;
  readonly elapsed_ms: number;
  readonly views: readonly {
    readonly view: string;
    readonly status: string;
    readonly strategy: string | null;
    readonly reason: { readonly code: string; readonly text: string } | null;
    readonly sources: readonly {
      readonly source: string;
      readonly from: number | null;
      readonly to: number;
      readonly changed: boolean;
    }[];
    readonly terms: { readonly total: number; readonly run: number; readonly skipped: number };
    readonly rows: { readonly inserted: number; readonly deleted: number };
    readonly elapsed_ms: number;
    readonly error: { readonly code: string; readonly message: string } | null;
  }[];
}
interface Status {
  readonly views: readonly {
    readonly view: string;
    readonly state: string;
    readonly horizon: number | null;
    readonly rows: number | null;
    readonly definition: string;
    readonly sources: readonly { readonly source: string; readonly changed: boolean }[];
  }[];
  readonly not_applied: readonly string[];
  readonly definition_error: { readonly code: string } | null;
}
interface Verify {
  readonly ok: boolean;
  readonly views: readonly {
    readonly view: string;
    readonly ok: boolean;
    readonly difference_count: number;
    readonly differences: readonly { readonly weight: number; readonly row: Readonly<Record<string, string | null>> }[];
  }[];
}

const actionsOf = (result: Actions): string[] => result.actions.map(({ view, action }) => `${view}: ${action}`).sort();
const statusOf = (result: Refresh): string[] => result.views.map(({ view, status }) => `${view}: ${status}`).sort();

/** A project whose two views are built. */
async function builtProject(): Promise<string> {
  const cwd = await project(VIEWS, ORDERS);
  for (const words of [["apply"], ["refresh"]]) {
    const result = await command(words, { cwd });
    expect(result, result.stderr).toMatchObject({ exitCode: 0 });
  }
  return cwd;
}

describe("from nothing to views that keep up", () => {
  it("works with the files of init as they are", async () => {
    const cwd = await folder();
    for (const words of [
      ["init"],
      ["apply"],
      ["plan"],
      ["refresh"],
      ["status"],
      ["list"],
      ["verify"],
      ["explain", "example"],
    ]) {
      const result = await command(words, { cwd });
      expect(result, `${words[0]}: ${result.stderr}`).toMatchObject({ exitCode: 0, stderr: "" });
    }
    expect(await sql(cwd, "FROM example ORDER BY fruit")).toEqual([
      { fruit: "apple", orders: "2", quantity: "7" },
      { fruit: "pear", orders: "1", quantity: "5" },
    ]);
  });

  it("plans, applies, refreshes and verifies, telling the same in JSON", async () => {
    const cwd = await project(VIEWS, ORDERS);

    const plan = await json<{ apply: Actions; refresh: Refresh }>(["plan"], { cwd });
    expect(plan, plan.stderr).toMatchObject({ exitCode: 0, stderr: "" });
    expect(plan.value.apply.dry_run).toBe(true);
    expect(actionsOf(plan.value.apply)).toEqual(["big_spenders: create", "spent: create"]);
    expect(plan.value.refresh.views).toEqual([]);

    const dry = await json<Actions>(["apply", "--dry-run"], { cwd });
    expect(dry.value).toEqual(plan.value.apply);
    const applied = await json<Actions>(["apply"], { cwd });
    expect(applied).toMatchObject({ exitCode: 0, stderr: "", value: { dry_run: false } });
    expect(actionsOf(applied.value)).toEqual(["big_spenders: create", "spent: create"]);
    expect(actionsOf((await json<Actions>(["apply"], { cwd })).value)).toEqual(["big_spenders: keep", "spent: keep"]);

    const first = await json<Refresh>(["refresh"], { cwd });
    expect(first, first.stderr).toMatchObject({ exitCode: 0, stderr: "", value: { status: "refreshed" } });
    expect(statusOf(first.value)).toEqual(["big_spenders: refreshed", "spent: refreshed"]);
    expect(first.value.views.map((view) => view.strategy)).toEqual(["initial", "initial"]);
    expect(first.value.views[0]?.sources.every((source) => source.from === null)).toBe(true);
    expect(await sql(cwd, "FROM big_spenders")).toEqual([{ name: "Ada", amount: "12.50" }]);

    await sql(cwd, "INSERT INTO orders VALUES (4, 2, 5.00)", "DELETE FROM orders WHERE id = 1");
    const second = await json<Refresh>(["refresh"], { cwd });
    expect(second, second.stderr).toMatchObject({ exitCode: 0, value: { status: "refreshed" } });
    const spent = second.value.views.find((view) => view.view === "spent");
    expect(Object.keys(second.value)).toEqual(["run_id", "horizon", "status", "elapsed_ms", "views", "warnings"]);
    expect(Object.keys(spent ?? {})).toEqual([
      "view",
      "status",
      "strategy",
      "reason",
      "upstream",
      "sources",
      "terms",
      "rows",
      "elapsed_ms",
      "error",
    ]);
    expect(spent).toMatchObject({
      status: "refreshed",
      strategy: "incremental",
      reason: null,
      terms: { total: 2, run: 1, skipped: 1 },
      rows: { inserted: 2, deleted: 2 },
      error: null,
    });
    expect(second.value.horizon).toBeGreaterThan(first.value.horizon);
    expect(spent?.sources.map(({ changed }) => changed).sort()).toEqual([false, true]);
    expect(await sql(cwd, "FROM big_spenders")).toEqual([{ name: "Ben", amount: "12.00" }]);

    const third = await json<Refresh>(["refresh"], { cwd });
    expect(third).toMatchObject({ exitCode: 0, value: { status: "unchanged" } });
    expect(statusOf(third.value)).toEqual(["big_spenders: unchanged", "spent: unchanged"]);

    const verified = await json<Verify>(["verify"], { cwd });
    expect(verified, verified.stderr).toMatchObject({ exitCode: 0, value: { ok: true } });
    expect(verified.value.views.map(({ view }) => view).sort()).toEqual(["big_spenders", "spent"]);
  });

  it("says the same to people", async () => {
    const cwd = await builtProject();
    await sql(cwd, "INSERT INTO orders VALUES (4, 2, 5.00)");

    const dry = await command(["refresh", "--dry-run"], { cwd });
    expect(dry).toMatchObject({ exitCode: 0, stderr: "" });
    expect(dry.stdout).toMatch(/^spent +to refresh +incremental +1 of 2 +main\.orders \(\d+, \d+\]$/m);

    const refreshed = await command(["refresh", "spent"], { cwd });
    expect(refreshed.stdout).toMatch(/^VIEW +STATUS +STRATEGY +INSERTED +DELETED +TERMS +TIME +WHY$/m);
    expect(refreshed.stdout).toMatch(/^spent +refreshed +incremental +1 +1 +1 of 2 +\d\S* m?s$/m);
    expect(refreshed.stdout).not.toContain("big_spenders");
    expect(refreshed.stdout).toMatch(/^1 view refreshed, 0 unchanged; snapshot \d+, \d.*s, run \S+$/m);

    const status = await command(["status"], { cwd });
    expect(status.stdout).toMatch(/^spent +fresh +\d+ +- +2 +incremental +applied$/m);
    expect(status.stdout).toMatch(/^big_spenders +stale +\d+ +[\d.]+ m?s +1 +incremental +applied +.*spent$/m);

    const list = await command(["list"], { cwd });
    expect(list.stdout).toMatch(/^spent +views\/spent.sql +yes +auto +name +-$/m);

    const explain = await command(["explain", "spent"], { cwd });
    expect(explain.stdout).toMatch(/^spent: incremental, stands at snapshot \d+$/m);
    expect(explain.stdout).toMatch(/^plan$/m);
    expect(explain.stdout).toMatch(/^terms$/m);
    expect(explain.stdout).toMatch(/^recompute$/m);
    expect(explain.stdout).toContain("└─ ");
  });

  it("goes to a snapshot that is asked for", async () => {
    const cwd = await builtProject();
    const before = (await json<Status>(["status"], { cwd })).value.views[0]?.horizon as number;
    await sql(cwd, "INSERT INTO orders VALUES (4, 2, 50.00)");
    const snapshots = await sql(cwd, "SELECT max(snapshot_id) AS id FROM snapshots()");
    await sql(cwd, "INSERT INTO orders VALUES (5, 2, 100.00)");
    const target = Number(snapshots[0]?.["id"]);
    expect(target).toBeGreaterThan(before);
    const plan = await json<{ refresh: Refresh }>(["plan", "--to-snapshot", String(target)], { cwd });
    expect(plan.value.refresh.horizon).toBe(target);
    const result = await json<Refresh>(["refresh", "--to-snapshot", String(target)], { cwd });
    expect(result.value).toMatchObject({ horizon: target, status: "refreshed" });
    expect(await sql(cwd, "SELECT amount FROM spent WHERE name = 'Ben'")).toEqual([{ amount: "57.00" }]);
  });
});

describe("definitions that change", () => {
  it("show in plan and status, are taken over by apply, and dropped only when told", async () => {
    const cwd = await builtProject();
    await writeFile(join(cwd, "views/spent.sql"), VIEWS["views/spent.sql"].replace("count(*)", "count(*) + 100"));
    await writeFile(join(cwd, "views/names.sql"), "SELECT DISTINCT name FROM customers");

    const changed = await json<Status>(["status"], { cwd });
    expect(changed.exitCode).toBe(0);
    expect(changed.value.views.map(({ view, definition }) => `${view}: ${definition}`).sort()).toEqual([
      "big_spenders: applied",
      "spent: changed",
    ]);
    expect(changed.value.not_applied).toEqual(["names"]);
    const plan = await command(["plan"], { cwd });
    expect(plan.stdout).toMatch(/^spent +change /m);
    expect(plan.stdout).toMatch(/^names +create /m);

    await command(["apply"], { cwd });
    const pending = await json<Status>(["status"], { cwd });
    expect(pending.value.views.map(({ view, state }) => `${view}: ${state}`)).toEqual(
      expect.arrayContaining(["spent: rebuild", "names: pending"]),
    );
    expect((await command(["refresh"], { cwd })).exitCode).toBe(0);
    expect(await sql(cwd, "SELECT orders FROM spent WHERE name = 'Ada'")).toEqual([{ orders: "102" }]);

    await rm(join(cwd, "views/big_spenders.sql"));
    const kept = await json<Actions>(["apply"], { cwd });
    expect(actionsOf(kept.value)).toContain("big_spenders: orphan");
    const list = await command(["list"], { cwd });
    expect(list.stdout).toMatch(/^big_spenders +no file +yes /m);
    const dropped = await json<Actions>(["apply", "--drop"], { cwd });
    expect(dropped, dropped.stderr).toMatchObject({ exitCode: 0 });
    expect(actionsOf(dropped.value)).toContain("big_spenders: drop");
    expect(await sql(cwd, "SELECT view_name FROM duckdb_views() WHERE view_name = 'big_spenders'")).toEqual([]);
  });
});

describe("verify", () => {
  it("fails with the rows that differ, and their sign", async () => {
    const cwd = await builtProject();
    const physical = await sql(cwd, "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'data_%spent'");
    expect(physical).toEqual([{ table_name: "data_spent" }]);
    await sql(cwd, "DELETE FROM ivm.data_spent WHERE name = 'Ben'", "INSERT INTO ivm.data_spent FROM ivm.data_spent");

    const result = await json<Verify>(["verify", "spent"], { cwd });
    expect(result).toMatchObject({ exitCode: 1, value: { ok: false } });
    expect(result.value.views[0]?.differences).toEqual(
      expect.arrayContaining([
        { weight: 1, row: { name: "Ada", orders: "2", amount: "12.50" } },
        { weight: -1, row: { name: "Ben", orders: "1", amount: "7.00" } },
      ]),
    );
    const text = await command(["verify", "spent"], { cwd });
    expect(text.exitCode).toBe(1);
    expect(text.stdout).toMatch(/^spent +differs +\d+ +2 +2$/m);
    expect(text.stdout).toMatch(/^ {2}\+1 {2}name=Ada {2}orders=2 {2}amount=12.50$/m);
    expect(text.stdout).toMatch(/^ {2}-1 {2}name=Ben {2}orders=1 {2}amount=7.00$/m);
  });
});

describe("output", () => {
  it("ends quietly where its reader has gone", async () => {
    const cwd = await builtProject();
    const script = `"$0" explain spent | head -n 1; exit "\${PIPESTATUS[0]}"`;
    const result = await execa("bash", ["-c", script, BINARY], processOptions({ cwd }));
    expect(result).toMatchObject({ stderr: "", exitCode: 0 });
    expect(result.stdout).toMatch(/^spent: incremental/);
  });
});
