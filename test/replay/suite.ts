/** What holds for mirrors of every kind. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type MirrorKind, MirrorScene } from "./mirror.js";

const TABLES = [
  "CREATE TABLE t (id INTEGER, g VARCHAR, v INTEGER, d DOUBLE)",
  "INSERT INTO t SELECT i, CASE WHEN i % 5 = 0 THEN NULL ELSE 'g' || (i % 5) END, i, i / 4 FROM range(60) r(i)",
];
const VIEWS = [
  {
    name: "per group",
    sql: 'SELECT g AS "the ""group""", v % 2 AS half, sum(v) AS s, count(*) AS n, max(d) AS d FROM t GROUP BY ALL',
  },
  { name: "rows", primaryKey: ["id"], sql: "SELECT id, g, v * 2 AS weight, d FROM t" },
];

type Step =
  | { readonly do: "change"; readonly sql: string }
  | { readonly do: "refresh" | "replay" | "compact" }
  | { readonly do: "reset" };

const id = fc.integer({ min: 0, max: 70 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(id, id).map(([from, v]) => change(`UPDATE t SET v = ${v} WHERE id % 7 = ${from % 7}`)),
  },
  { weight: 3, arbitrary: id.map((n) => change(`DELETE FROM t WHERE id % 11 = ${n % 11}`)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(id, fc.constantFrom("NULL", "'g1'", "'new'"), fc.constantFrom("'nan'", "'-inf'", "1.5", "NULL"))
      .map(([n, g, d]) => change(`INSERT INTO t SELECT ${n}, ${g}, ${n}, ${d} WHERE ${n} NOT IN (SELECT id FROM t)`)),
  },
  { weight: 5, arbitrary: fc.constant<Step>({ do: "refresh" }) },
  { weight: 4, arbitrary: fc.constant<Step>({ do: "replay" }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: "compact" }, { do: "reset" }) },
);

function change(sql: string): Step {
  return { do: "change", sql };
}

export function mirrors(kind: MirrorKind, runs: number): void {
  describe(`mirrors in ${kind}`, () => {
    test("equal their views after random histories", { timeout: 600_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 18 }), async (steps) => {
          await using scene = await MirrorScene.start(kind, undefined, { fanOut: 2, keep: { snapshots: 6n } });
          await scene.sql(...TABLES);
          await scene.lake.define(VIEWS);
          await scene.refresh();
          for (const { name } of VIEWS) await scene.lake.addConsumer(name, name);
          let taken = 0;
          for (const current of [...steps, { do: "refresh" }, { do: "replay" }] as Step[]) {
            if (current.do === "change") await scene.sql(current.sql);
            else if (current.do === "refresh") await scene.refresh();
            else if (current.do === "compact") await scene.lake.compact();
            else {
              for (const { name } of VIEWS) {
                const result = await scene.replay(name, name, { reset: current.do === "reset" });
                await scene.expectMirror(name);
                // The consumer holds what the mirror has not seen, so the state is never asked for a second time.
                expect(result.took === "state", JSON.stringify(result.reason)).toBe(
                  taken === 0 || current.do === "reset",
                );
              }
              taken += 1;
            }
          }
        }),
        { numRuns: runs, seed: 77, endOnFailure: true },
      );
    });

    test("take changes only, and nothing twice", async () => {
      await using scene = await started(kind);
      expect(await scene.replay("rows")).toMatchObject({
        view: "rows",
        target: { kind, table: `${scene.schema}.rows` },
        status: "applied",
        took: "state",
        created: true,
        reason: { code: "replay_new" },
        from: null,
        rows: { inserted: 60n, deleted: 0n },
        consumerMoved: true,
      });
      const before = (await scene.replay("rows")).to;
      expect(await scene.replay("rows")).toMatchObject({ status: "unchanged", took: null, consumerMoved: false });
      await scene.sql("UPDATE t SET v = -1 WHERE id < 3", "DELETE FROM t WHERE id = 9");
      const to = await scene.refresh();
      expect(await scene.replay("rows")).toMatchObject({
        took: "changes",
        created: false,
        from: before,
        to,
        rows: { inserted: 3n, deleted: 4n },
        consumerMoved: true,
      });
      await scene.expectMirror("rows");
      expect(await scene.lake.consumers()).toMatchObject([{ position: null }, { position: to, windows: 0 }]);
    });

    test("go on from their own position where the consumer's cursor is elsewhere", async () => {
      await using scene = await started(kind);
      await scene.replay("rows");
      await scene.sql("UPDATE t SET v = -1 WHERE id < 3");
      const to = await scene.refresh();
      // As if a replay had died between its commit and the cursor's, the other way round.
      await scene.lake.commitConsumer("rows", to);
      expect(await scene.replay("rows")).toMatchObject({ took: "changes", consumerMoved: false });
      await scene.expectMirror("rows");
    });

    test("take the state where the log begins anew or no longer goes back so far", async () => {
      await using scene = await started(kind, { fanOut: 2, keep: { snapshots: 0n }, maxLag: { snapshots: 0n } });
      await scene.replay("rows");
      for (let change = 0; change < 3; change += 1) {
        await scene.sql(`UPDATE t SET v = ${-1 - change} WHERE id = ${change}`);
        await scene.refresh();
      }
      await scene.lake.compact();
      expect(await scene.replay("rows")).toMatchObject({
        took: "state",
        reason: { code: "replay_lost" },
        // By difference: the other rows are not touched.
        rows: { inserted: 3n, deleted: 3n },
      });
      await scene.expectMirror("rows");
      await scene.lake.define([
        { ...VIEWS[1], name: "rows", sql: "SELECT id, g, v AS weight, d FROM t", primaryKey: ["id", "weight"] },
      ]);
      await scene.refresh();
      expect(await scene.replay("rows")).toMatchObject({ took: "state", reason: { code: "replay_epoch" } });
      await scene.expectMirror("rows");
    });

    test("refuse tables that are none of theirs, unless told otherwise", async () => {
      await using scene = await started(kind);
      await scene.replay("rows", "mine");
      await expect(scene.replay("per group", "mine")).rejects.toMatchObject({
        code: "replay_foreign",
        message: expect.stringContaining("it mirrors the view rows"),
      });
      const path = `target.${scene.schema}`;
      await scene.inTarget(
        `CREATE TABLE ${path}.theirs (id INTEGER, g VARCHAR, weight INTEGER, d DOUBLE)`,
        `INSERT INTO ${path}.theirs VALUES (1, 'x', 1, 1), (1, 'x', 1, 1), (NULL, NULL, NULL, NULL)`,
      );
      await expect(scene.replay("rows", "theirs")).rejects.toMatchObject({ code: "replay_foreign" });
      expect(await scene.inTarget(`SELECT count(*) FROM ${path}.theirs`)).toEqual([["3"]]);
      expect(await scene.replay("rows", "theirs", { reset: true })).toMatchObject({ rows: { deleted: 3n } });
      await scene.expectMirror("rows", "theirs");

      await scene.inTarget(`CREATE TABLE ${path}.others (id VARCHAR, g VARCHAR, extra INTEGER, d DOUBLE PRECISION)`);
      const error = await scene.replay("rows", "others").catch((reason) => reason);
      expect(error).toMatchObject({ code: "replay_columns" });
      expect(error.message).toMatch(/id is .* and should be .*weight \(.*\) is missing; extra is none of the view's/);
    });

    test("tell where something else wrote to them", async () => {
      await using scene = await started(kind);
      await scene.replay("rows");
      await scene.inTarget(`DELETE FROM target.${scene.schema}.rows WHERE id = 2`);
      await scene.sql("UPDATE t SET v = -1 WHERE id < 3");
      await scene.refresh();
      await expect(scene.replay("rows")).rejects.toMatchObject({
        code: "replay_differs",
        message: expect.stringContaining("3 of its rows were to be replaced or deleted, and 2 were found"),
      });
      await scene.replay("rows", "rows", { reset: true });
      await scene.expectMirror("rows");
      // A table that is gone is made anew.
      await scene.inTarget(`DROP TABLE target.${scene.schema}.rows`);
      expect(await scene.replay("rows")).toMatchObject({ created: true, took: "state" });
      await scene.expectMirror("rows");
    });

    test("hold values of all types", async () => {
      await using scene = await MirrorScene.start(kind);
      await scene.sql("CREATE TABLE one (id INTEGER, v INTEGER)", "INSERT INTO one VALUES (1, 1), (2, NULL), (3, 7)");
      await scene.lake.define([{ name: "all types", primaryKey: ["k"], sql: ALL_TYPES }]);
      await scene.refresh();
      await scene.lake.addConsumer("c", "all types");
      await scene.replay("c", "all types");
      await scene.expectMirror("all types");
      await scene.sql("UPDATE one SET v = v + 1", "INSERT INTO one VALUES (4, 200)");
      await scene.refresh();
      expect(await scene.replay("c", "all types")).toMatchObject({
        took: "changes",
        rows: { inserted: 3n, deleted: 2n },
      });
      await scene.expectMirror("all types");
      expect(await scene.replay("c", "all types", { reset: true })).toMatchObject({
        rows: { inserted: 0n, deleted: 0n },
      });
    });
  });
}

const ALL_TYPES = `SELECT id AS k, v::UTINYINT AS u8, v::SMALLINT AS i16, v::UBIGINT AS u64, v::HUGEINT AS h,
  (v / 3)::FLOAT AS f, CASE id WHEN 1 THEN 'nan' WHEN 3 THEN '-inf' ELSE v::VARCHAR END::DOUBLE AS d, v::DECIMAL(12, 3) AS dc,
  'ä''"\\' || v AS s, ('a\\x00b' || v)::BLOB AS bl, v % 2 = 0 AS b,
  DATE '2000-01-01' + v AS da, CASE WHEN id = 1 THEN 'infinity' ELSE '1999-12-31 23:59:59.999999' END::TIMESTAMP AS ts,
  TIMESTAMPTZ '2000-01-01 00:00:00+00' + to_hours(v) AS tz, TIME '10:11:12.131415' AS ti,
  to_months(v) + to_days(v) + to_microseconds(v) AS iv,
  '01234567-89ab-cdef-0123-456789abcdef'::UUID AS uu, [v, NULL, 3] AS li, {'a': v, 'b': [v]} AS st FROM one`;

async function started(kind: MirrorKind, log: Parameters<typeof MirrorScene.start>[2] = {}): Promise<MirrorScene> {
  const scene = await MirrorScene.start(kind, undefined, log);
  await scene.sql(...TABLES);
  await scene.lake.define(VIEWS);
  await scene.refresh();
  for (const { name } of VIEWS) await scene.lake.addConsumer(name, name);
  return scene;
}
