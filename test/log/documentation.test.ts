/** Strangers read a log with what `docs/change-log.md` gives them, and nothing of this project. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import { beforeAll, describe, expect, test } from "vitest";
import { blocksOf, readPage } from "../docs/page.js";
import { pyarrow } from "../setup/python.js";
import { positionsOf, readManifest, segmentsOf } from "./proof.js";
import { LogScene } from "./scene.js";

const PAGE = await readPage("docs/change-log.md");

/** The code of a block as the page has it. */
function block(kind: string): string {
  const found = blocksOf(PAGE).find(({ language, words }) => `${language} ${words}`.trim() === kind);
  if (found === undefined) throw new Error(`the page has no block ${kind}`);
  return found.text;
}

interface Total {
  readonly g: string | null;
  readonly s: number;
  readonly n: number;
}

const VIEW = { name: "totals", sql: "SELECT g, sum(v)::BIGINT AS s, count(*) AS n FROM t GROUP BY g" };

/** A log with a base that was folded, a merged window, small windows, and one without changes. */
async function logOfTotals(): Promise<{ scene: LogScene; states: Map<bigint, Total[]> }> {
  const scene = await LogScene.start({ catalog: "duckdb", data: "folder" }, { keep: { snapshots: 14n }, fanOut: 2 });
  await scene.sql(
    "CREATE TABLE t (g VARCHAR, v INTEGER)",
    "INSERT INTO t VALUES ('a', 1), ('b', 2), ('b', 3), (NULL, 4)",
  );
  await scene.define([VIEW]);
  const states = new Map<bigint, Total[]>();
  for (let round = 0; round < 12; round += 1) {
    const { horizon } = await scene.refresh();
    states.set(
      horizon,
      (await scene.rows("SELECT g, s::INTEGER AS s, n::INTEGER AS n FROM totals ORDER BY g")) as never,
    );
    await scene.sql(
      `INSERT INTO t VALUES ('${"abc"[round % 3]}', ${round})`,
      round % 4 === 2 ? "DELETE FROM t WHERE g IS NULL" : `UPDATE t SET v = v + 1 WHERE v % 5 = ${round % 5}`,
    );
  }
  await scene.check();
  return { scene, states };
}

describe("docs/change-log.md", () => {
  let scene: LogScene;
  let states: Map<bigint, Total[]>;
  let since: bigint;

  beforeAll(async () => {
    ({ scene, states } = await logOfTotals());
    const facts = await scene.facts("totals");
    expect(segmentsOf(facts).some(({ level }) => level > 0)).toBe(true);
    expect(facts.entries[0]).toMatchObject({ kind: "base", level: expect.any(Number) });
    since = positionsOf(facts).at(-3) ?? 0n;
    return () => scene[Symbol.asyncDispose]();
  }, 120_000);

  const newest = (): Total[] => [...states.values()].at(-1) ?? [];

  /** What leads from one state to the other, in the order of a log. */
  function changes(): (Total & { readonly weight: number })[] {
    const [before, after] = [states.get(since) ?? [], newest()];
    const has = (rows: Total[], row: Total) => rows.some((other) => JSON.stringify(other) === JSON.stringify(row));
    const rows = [
      ...before.filter((row) => !has(after, row)).map((row) => ({ ...row, weight: -1 })),
      ...after.filter((row) => !has(before, row)).map((row) => ({ ...row, weight: 1 })),
    ];
    expect(rows.length).toBeGreaterThan(0);
    return rows.sort((a, b) => (a.g === b.g ? a.weight - b.weight : (a.g ?? "~") < (b.g ?? "~") ? -1 : 1));
  }

  test("has DuckDB read a state and changes", async () => {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const run = async (sql: string): Promise<unknown[]> => {
      const reader = await connection.runAndReadAll(sql);
      return reader
        .getRowObjectsJS()
        .map((row) =>
          Object.fromEntries(
            Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]),
          ),
        );
    };
    const state = block("sql state").replace("'logs/totals/'", `'${scene.root}/totals/'`);
    expect(await run(state)).toEqual(newest().map((row) => ({ ...row, copies: 1 })));
    expect(await run(block("sql changes").replace("since = 3", `since = ${since}`))).toEqual(changes());
    connection.closeSync();
    instance.closeSync();
  });

  test("has Python read a state and changes", { timeout: 600_000 }, async () => {
    const script = join(scene.place.folder, "read.py");
    await writeFile(script, block("python"));
    const env = { ...process.env, PYTHONPATH: await pyarrow() };
    const run = async (...args: string[]): Promise<Record<string, unknown>[]> => {
      const { stdout } = await promisify(execFile)("python3", [script, `${scene.root}/totals`, ...args], { env });
      return stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    };
    expect(await run()).toEqual(newest().map((row) => ({ ...row, weight_sum: 1 })));
    const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort();
    const expected = changes().map(({ weight, ...row }) => ({ ...row, weight_sum: weight }));
    expect(sorted(await run(String(since)))).toEqual(sorted(expected));
    await expect(run("0")).rejects.toMatchObject({ stderr: expect.stringContaining("take the whole state") });
  });

  test("names all fields of a manifest and all keys of a footer", async () => {
    const manifest = await readManifest(scene, await scene.facts("totals"));
    const { segments, columns } = manifest as { segments: object[]; columns: object[] };
    const fields = [manifest, ...segments, ...columns].flatMap((object) => Object.keys(object));
    const footer = await scene.rows<{ key: string }>(
      `SELECT DISTINCT decode(key) AS key FROM parquet_kv_metadata('${scene.root}/totals/*.parquet')`,
    );
    for (const name of [...fields, ...footer.map(({ key }) => key)]) expect(PAGE).toContain(`\`${name}\``);
  });
});
