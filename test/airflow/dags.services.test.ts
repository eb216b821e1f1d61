/** Real DAG runs of a real Airflow on a lake in PostgreSQL and MinIO. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, test, vi } from "vitest";
import { freePort } from "../../infra/process.mjs";
import { BINARY, command } from "../cli/command.js";
import { Oracle } from "../e2e/oracle.js";
import { SharedProject } from "../trust/shared-project.js";
import { Airflow, airflowEnvironment, type DagRun } from "./airflow.js";

vi.setConfig({ testTimeout: 600_000 });
beforeAll(airflowEnvironment, 600_000);

const TABLES = [
  "CREATE TABLE a AS SELECT range % 7 AS k, range AS v FROM range(500)",
  "CREATE TABLE b AS SELECT range % 9 AS k, range AS w FROM range(300)",
  "CREATE TABLE still AS SELECT range AS i FROM range(3)",
];
const VIEWS = {
  joined: "SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k",
  sums: "SELECT k, sum(v) AS s, count(*) AS n FROM joined GROUP BY k",
  totals: "SELECT count(*) AS n, sum(w) AS w FROM joined",
  quiet: "SELECT count(*) AS n FROM still",
  over_quiet: "SELECT n + count(*) AS n FROM quiet, a GROUP BY n",
  keyed: "/* ---\nprimary_key: w\n--- */ SELECT w, k FROM b",
  over_keyed: "SELECT k, count(*) AS n FROM keyed GROUP BY k",
};

async function start(): Promise<SharedProject & { differences(horizon: bigint): Promise<string[]> }> {
  const project = await SharedProject.start({ catalog: "postgres", data: "s3" }, TABLES, VIEWS);
  for (const words of [["apply"], ["refresh"]]) {
    const { exitCode, stderr } = await command(words, project.options);
    expect(exitCode, stderr).toBe(0);
  }
  const schemas = { schema: "main", stateSchema: "ivm" };
  const oracle = await Oracle.create(await project.lake.connect(), project.lake.name, schemas);
  const queries = Object.entries(VIEWS).map(([name, sql]) => ({ name, sql }));
  return Object.assign(project, { differences: (horizon: bigint) => oracle.differences(queries, horizon) });
}

async function writePlan(project: SharedProject, airflow: Airflow): Promise<void> {
  const { stdout } = await command(["plan", "--output", "json"], project.options);
  await writeFile(join(airflow.home, "plan.json"), stdout);
}

const states = (run: DagRun): Record<string, string | null> =>
  Object.fromEntries(Object.entries(run.tasks).map(([task, { state }]) => [task, state]));

const SUCCESS = Object.fromEntries(
  ["pin_snapshot", "compare_plan", ...Object.keys(VIEWS)].map((id) => [id, "success"]),
);

test("a DAG run brings all views to one snapshot, a retry follows exit 75, a failing view stops only what reads it, and where nothing changed all is skipped", async () => {
  await using project = await start();
  const airflow = await Airflow.start(project, { command: await conflictOnce(project) });
  await writePlan(project, airflow);

  await project.sql("INSERT INTO a VALUES (3, 1000)", "DELETE FROM b WHERE w % 13 = 1");
  const first = await airflow.test();
  expect(first.exitCode, first.log).toBe(0);
  expect(states(first), first.log).toEqual({ ...SUCCESS, quiet: "skipped" });
  expect(first.tasks["joined"]?.tries).toBe(2);
  const changed = ["joined", "keyed", "over_keyed", "over_quiet", "sums", "totals"];
  expect(first.events.map(([uri]) => uri)).toEqual(changed.map((view) => `ducklake://shop/${view}`));
  // One snapshot, and the views are those of it.
  const [horizon, ...more] = new Set(first.events.map(([, { snapshot }]) => snapshot));
  expect(more).toEqual([]);
  expect(await project.differences(BigInt(horizon ?? -1))).toEqual([]);

  // Two rows of one key.
  await project.sql("INSERT INTO b VALUES (1, 2)", "INSERT INTO a VALUES (4, 2000)");
  const second = await airflow.test();
  expect(second.exitCode).not.toBe(0);
  expect(second.state).toBe("failed");
  expect(states(second), second.log).toEqual({
    ...SUCCESS,
    quiet: "skipped",
    keyed: "failed",
    over_keyed: "upstream_failed",
  });
  // Another try would fail as well.
  expect(second.tasks["keyed"]?.tries).toBe(1);
  expect(second.log).toMatch(/ducklake-ivm refresh ended with exit code 1: View keyed: /);
  const others = ["joined", "over_quiet", "sums", "totals"];
  expect(second.events.map(([uri]) => uri)).toEqual(others.map((view) => `ducklake://shop/${view}`));

  // Put right, the next run catches up.
  await project.sql("DELETE FROM b WHERE k = 1 AND w = 2");
  const third = await airflow.test();
  expect(states(third), third.log).toMatchObject({
    ...SUCCESS,
    quiet: "skipped",
    over_quiet: "skipped",
    keyed: "skipped",
    over_keyed: "skipped",
  });

  const fourth = await airflow.test();
  expect(fourth.exitCode, fourth.log).toBe(0);
  const skipped = Object.fromEntries(Object.keys(VIEWS).map((view) => [view, "skipped"]));
  expect(states(fourth), fourth.log).toEqual({ ...SUCCESS, ...skipped });
  expect(fourth.events).toEqual([]);

  const secrets = [project.env["PGPASSWORD"], project.env["AWS_SECRET_ACCESS_KEY"]];
  const said = [first, second, third, fourth]
    .map(({ log }) => log)
    .concat(await airflow.taskLogs())
    .join("\n");
  expect(said).toContain("No row of joined changed.");
  for (const secret of secrets) {
    expect(secret).toBeTruthy();
    expect(said).not.toContain(secret);
  }
});

test("tasks of several processes at once do what one run does", async () => {
  await using project = await start();
  const airflow = await Airflow.start(project, {
    settings: {
      AIRFLOW__CORE__EXECUTOR: "LocalExecutor",
      AIRFLOW__CORE__PARALLELISM: "4",
      AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS: "True",
      AIRFLOW__API_AUTH__JWT_SECRET: "only for this test, only on this machine",
      AIRFLOW__API__SECRET_KEY: "only for this test, only on this machine too",
    },
  });
  await writePlan(project, airflow);
  await project.sql("INSERT INTO a VALUES (3, 1000)", "DELETE FROM b WHERE w % 13 = 1", "INSERT INTO still VALUES (9)");

  await using _running = await components(airflow);
  await airflow.program("dags", "reserialize");
  await airflow.program("dags", "unpause", "shop");
  await airflow.program("dags", "trigger", "shop");
  let run = await airflow.lastRun();
  for (const end = Date.now() + 400_000; ["queued", "running"].includes(run.state) && Date.now() < end; ) {
    await delay(1000);
    // The tables move on meanwhile.
    await project.sql(`INSERT INTO b VALUES (2, ${Date.now()})`);
    run = await airflow.lastRun();
  }
  expect(states(run), await airflow.taskLogs()).toEqual(SUCCESS);
  const horizons = new Set(run.events.map(([, { snapshot }]) => snapshot));
  expect(horizons.size).toBe(1);
  expect(run.events).toHaveLength(Object.keys(VIEWS).length);
  expect(await project.differences(BigInt([...horizons][0] ?? -1))).toEqual([]);
  expect(overlapping(run)).toBeGreaterThan(0);
});

/** A command that meets another writer at the first try of one view. */
async function conflictOnce(project: SharedProject): Promise<string[]> {
  const script = join(project.cwd, "conflict-once.sh");
  const seen = join(project.cwd, "conflict-seen");
  await writeFile(
    script,
    `#!/bin/sh
for last; do :; done
if [ "$last" = joined ] && [ ! -e '${seen}' ]; then
  touch '${seen}'
  exit 75
fi
exec '${process.execPath}' '${BINARY}' "$@"
`,
  );
  return ["sh", script];
}

/** How many pairs of tasks ran at the same time. */
function overlapping({ tasks }: DagRun): number {
  const runs = Object.entries(tasks).flatMap(([id, { start, end }]) =>
    id in VIEWS && start && end ? [{ start, end }] : [],
  );
  return runs.flatMap((one, index) => runs.slice(index + 1).filter((two) => one.start < two.end && two.start < one.end))
    .length;
}

/** Airflow's servers, until the end of the scope. */
async function components(airflow: Airflow): Promise<AsyncDisposable> {
  const port = String(await freePort());
  const env = { AIRFLOW__CORE__EXECUTION_API_SERVER_URL: `http://127.0.0.1:${port}/execution/` };
  const commands = [["api-server", "--host", "127.0.0.1", "--port", port], ["dag-processor"], ["scheduler"]];
  const children = commands.map((words) => airflow.serve(words, env));
  for (const end = Date.now() + 120_000; !(await answers(`http://127.0.0.1:${port}/api/v2/version`)); ) {
    if (Date.now() > end) throw new Error("Airflow's API server does not answer");
    await delay(250);
  }
  return {
    [Symbol.asyncDispose]: async () => {
      for (const child of children) child.kill("SIGTERM");
      await Promise.all(children);
    },
  };
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  );
}
