/** What a run costs where little or nothing happened, and how it grows with the number of views. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { goal, time } from "../harness/measure.mjs";
import { say } from "../harness/report.mjs";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** Nothing changed: one view and a hundred, with the lake open. */
export async function nothingCase({ openLake, repetitions }) {
  const results = [];
  for (const [count, bound] of [
    [1, 10],
    [100, 50],
  ]) {
    say(`nothing changed, ${count} views`);
    const place = await openLake();
    try {
      results.push(await nothing(place, count, bound, repetitions * 2));
    } finally {
      await place.dispose();
    }
  }
  return results;
}

async function nothing({ connection, lake }, count, bound, repetitions) {
  await connection.run("CREATE TABLE t AS SELECT i AS id, i % 100 AS g, i % 7 AS v FROM range(10000) r(i)");
  await lake.define(
    Array.from({ length: count }, (_, index) => ({
      name: `v${index}`,
      sql: `SELECT g, sum(v) AS s, count(*) AS n FROM t WHERE id % ${index + 2} <> 0 GROUP BY g`,
    })),
  );
  await lake.refresh();
  await lake.refresh();
  const newest = async () =>
    (await connection.runAndReadAll("SELECT max(snapshot_id) FROM lake.snapshots()")).getRows()[0][0];
  const before = await newest();
  const refresh = [];
  for (let repetition = 0; repetition < repetitions; repetition += 1) refresh.push(await time(() => lake.refresh()));
  return {
    work: `nothing changed, ${count} view${count === 1 ? "" : "s"}`,
    how: "unchanged",
    times: { refresh, full: [], byHand: [], rival: [] },
    goals: [goal("", "within", bound, refresh)],
    exact: before === (await newest()),
  };
}

/** The command from the start of its process to the end, with nothing to do. */
export async function commandCase({ openLake, repetitions }) {
  say("the command, with nothing to do");
  const place = await openLake();
  await place.connection.run("CREATE TABLE t AS SELECT i AS id, i % 100 AS g FROM range(10000) r(i)");
  const project = join(place.folder, "project");
  mkdirSync(join(project, "views"), { recursive: true });
  writeFileSync(join(project, "ducklake-ivm.yaml"), `lake:\n  catalog: ${JSON.stringify(place.config.catalog)}\n`);
  writeFileSync(join(project, "views", "v.sql"), "SELECT g, count(*) AS n FROM t GROUP BY g\n");
  await place.detach();
  const command = (...args) => {
    const { status, stderr } = spawnSync(process.execPath, [CLI, "--project-dir", project, ...args]);
    if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  };
  try {
    command("apply");
    command("refresh");
    command("refresh");
    const refresh = [];
    for (let repetition = 0; repetition < repetitions * 2; repetition += 1)
      refresh.push(await time(async () => command("refresh")));
    return [
      {
        work: "the command `refresh`, nothing to do",
        how: "process start to exit",
        times: { refresh, full: [], byHand: [], rival: [] },
        goals: [goal("", "within", 700, refresh)],
        exact: true,
      },
    ];
  } finally {
    await place.dispose();
  }
}
