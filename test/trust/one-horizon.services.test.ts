/** One run whose views are refreshed by processes of their own, as a scheduler with many machines does it. */
import { expect, test, vi } from "vitest";
import type { RefreshResult } from "../../src/index.js";
import { command, json } from "../cli/command.js";
import { Oracle } from "../e2e/oracle.js";
import { SharedProject } from "./shared-project.js";

vi.setConfig({ testTimeout: 300_000 });

const VIEWS = {
  joined: "SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k",
  sums: "SELECT k, sum(v) AS s, count(*) AS n FROM joined GROUP BY k",
  mixed: "SELECT sums.k, s, sum(b.w) AS w FROM sums JOIN b ON b.k = sums.k GROUP BY ALL",
  quiet: "SELECT count(*) AS n FROM still",
  over_quiet: "SELECT n + count(*) AS n FROM quiet, a GROUP BY n",
};
const TABLES = [
  "CREATE TABLE a AS SELECT range % 7 AS k, range AS v FROM range(50)",
  "CREATE TABLE b AS SELECT range % 9 AS k, range AS w FROM range(30)",
  "CREATE TABLE still AS SELECT range AS i FROM range(3)",
];

interface Planned {
  readonly refresh: {
    readonly horizon: number;
    readonly views: readonly { readonly view: string; readonly upstream: readonly string[] }[];
  };
}

async function start(): Promise<SharedProject & { differences(horizon: number): Promise<string[]> }> {
  const project = await SharedProject.start({ catalog: "postgres", data: "folder" }, TABLES, VIEWS);
  expect((await command(["apply"], project.options)).exitCode).toBe(0);
  expect((await command(["refresh"], project.options)).exitCode).toBe(0);
  const schemas = { schema: "main", stateSchema: "ivm" };
  const oracle = await Oracle.create(await project.lake.connect(), project.lake.name, schemas);
  const queries = Object.entries(VIEWS).map(([name, sql]) => ({ name, sql }));
  return Object.assign(project, { differences: (horizon: number) => oracle.differences(queries, BigInt(horizon)) });
}

const change = (number: number): string[] => [
  `INSERT INTO a VALUES (${number % 7}, ${1000 + number}), (${(number + 3) % 7}, NULL)`,
  `DELETE FROM a WHERE v % 13 = ${number % 13}`,
  `UPDATE b SET w = w + 1 WHERE k = ${number % 9}`,
];

test("views refreshed by separate processes at the plan's snapshot equal those of one run", async () => {
  await using project = await start();
  const workers = async (): Promise<number> => {
    const plan = (await json<Planned>(["plan"], project.options)).value.refresh;
    expect(plan.views.map((view) => [view.view, view.upstream])).toEqual([
      ["joined", []],
      ["sums", ["joined"]],
      ["mixed", ["sums"]],
      ["quiet", []],
      ["over_quiet", ["quiet"]],
    ]);
    const done = new Map<string, Promise<void>>();
    const refresh = async (view: string, upstream: readonly string[]): Promise<void> => {
      await Promise.all(upstream.map((name) => done.get(name)));
      const words = ["refresh", view, "--to-snapshot", String(plan.horizon), "--no-upstream"];
      const result = await json<RefreshResult>(words, project.options);
      expect(result, result.stderr).toMatchObject({ exitCode: 0, value: { horizon: plan.horizon, views: [{ view }] } });
      expect(result.value.views).toHaveLength(1);
      // The tables move on while the workers are at it.
      await project.sql(`INSERT INTO b VALUES (${done.size}, 5000)`, `DELETE FROM a WHERE k = ${done.size}`);
    };
    for (const { view, upstream } of plan.views) done.set(view, refresh(view, upstream));
    await Promise.all(done.values());
    return plan.horizon;
  };
  for (const round of [1, 2]) {
    await project.sql(...change(round));
    expect(await project.differences(await workers())).toEqual([]);
  }
  // And one run, from where the workers left it.
  const together = await json<{ horizon: number }>(["refresh"], project.options);
  expect(together.exitCode, together.stderr).toBe(0);
  expect(await project.differences(together.value.horizon)).toEqual([]);
});

test("a view is not refreshed over one that stands elsewhere, and the error says what to run", async () => {
  await using project = await start();
  await project.sql(...change(1));
  const { horizon } = (await json<Planned>(["plan"], project.options)).value.refresh;
  const refresh = (view: string, to = horizon) =>
    json<{ views: { status: string; error: { code: string; message: string; hint: string } | null }[] }>(
      ["refresh", view, "--to-snapshot", String(to), "--no-upstream"],
      project.options,
    );
  const early = await refresh("mixed");
  expect(early.exitCode).toBe(1);
  expect(early.value.views).toMatchObject([{ error: { code: "upstream_not_at_horizon" } }]);
  expect(early.value.views[0]?.error?.message).toMatch(
    new RegExp(`^View mixed can't be brought to snapshot ${horizon}: sums, which it reads, stands at snapshot \\d+`),
  );
  // Not even where the view below it is the one that is behind.
  const hint = /refresh (\w+) --to-snapshot \d+ --no-upstream/.exec(early.value.views[0]?.error?.hint ?? "");
  expect(hint?.[1]).toBe("sums");
  expect((await refresh("sums")).value.views).toMatchObject([{ error: { code: "upstream_not_at_horizon" } }]);
  // What did not change needs no refresh to stand there.
  expect((await refresh("over_quiet")).value.views).toMatchObject([{ status: "refreshed" }]);
  for (const view of ["joined", "sums", "mixed"]) expect((await refresh(view)).exitCode).toBe(0);
  expect(await project.differences(horizon)).toEqual([]);

  // Another run is faster than the workers of this one.
  await project.sql(...change(2));
  const older = (await json<Planned>(["plan"], project.options)).value.refresh.horizon;
  await project.sql(...change(3));
  expect((await command(["refresh", "joined"], project.options)).exitCode).toBe(0);
  const late = await refresh("sums", older);
  expect(late.value.views).toMatchObject([{ error: { code: "upstream_not_at_horizon" } }]);
  expect(late.value.views[0]?.error?.message).toMatch(/joined, which it reads, stands at snapshot \d+ already, past/);
  expect((await command(["refresh"], project.options)).exitCode).toBe(0);
});
