/** The promises: exact, one horizon a run, all or nothing, no work without change. */

import { expect, test } from "vitest";
import { viewOf, type World } from "./world.js";

export function promiseTests(world: () => World): void {
  test("a refresh with nothing to do writes no snapshot; one with work leaves a named commit", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (id INTEGER, v INTEGER)", "CREATE TABLE u (id INTEGER)", "INSERT INTO t VALUES (1, 1)");
    await w.build({ sums: "SELECT sum(v) AS s FROM t", plain: "SELECT id FROM t UNION ALL SELECT id FROM u" });
    const before = await w.snapshot();
    for (const options of [{}, { views: ["sums"] }, { toSnapshot: before }]) {
      const result = await w.lake.refresh(options);
      expect(result.status).toBe("unchanged");
      expect(result.views.map((view) => view.terms.run)).toEqual(result.views.map(() => 0));
    }
    expect(await w.snapshot()).toBe(before);

    await w.sql("INSERT INTO t VALUES (2, 5)");
    const result = await w.refresh();
    const commits = await w.rows(
      `SELECT author, commit_message AS message, commit_extra_info AS info FROM ducklake_snapshots('${w.alias}')
       WHERE snapshot_id > ${result.horizon} ORDER BY snapshot_id`,
    );
    expect(commits).toHaveLength(2);
    for (const [index, { view, sources }] of result.views.entries()) {
      const commit = commits[index];
      expect(commit?.["author"]).toBe("ducklake-ivm");
      expect(commit?.["message"]).toContain(view);
      expect(JSON.parse(String(commit?.["info"]))).toMatchObject({
        run: result.runId,
        view,
        strategy: "incremental",
        sources: sources.map(({ source, from, to }) => ({ source, from: String(from), to: String(to) })),
      });
    }
  });

  test("a horizon may be named: the view's own, a newer one, but none that is older or does not exist", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1)");
    const older = await w.snapshot();
    await w.sql("INSERT INTO t VALUES (2)");
    await w.build({ flat: "SELECT id FROM t", count: "SELECT count(*) AS n, sum(id) AS s FROM flat" });
    const [built] = (await w.lake.status()).map((view) => view.horizon ?? 0n);
    await w.sql("INSERT INTO t VALUES (3)");
    const middle = await w.snapshot();
    await w.sql("DELETE FROM t", "INSERT INTO t VALUES (4)");

    expect((await w.refresh({ toSnapshot: built ?? 0n })).status).toBe("unchanged");
    const result = await w.refresh({ toSnapshot: middle });
    expect(result.horizon).toBe(middle);
    expect(await w.rows("SELECT n, s::INTEGER AS s FROM count")).toEqual([{ n: 3n, s: 6 }]);

    const before = await w.progress();
    const failed = await w.lake.refresh({ toSnapshot: older });
    expect(failed.status).toBe("failed");
    expect(viewOf(failed, "flat").error).toMatchObject({ code: "horizon_behind", retryable: false });
    const missing = w.lake.refresh({ toSnapshot: 1_000_000n });
    await expect(missing).rejects.toMatchObject({ code: "snapshot_missing", subject: { snapshot: 1_000_000n } });
    expect(await w.progress()).toEqual(before);
    await w.check();
    await w.refresh();
    expect(await w.rows("SELECT n, s::INTEGER AS s FROM count")).toEqual([{ n: 1n, s: 4 }]);
  });

  test("a view over a view and a table sees both at one time, also when it is refreshed alone", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (id INTEGER, v INTEGER)", "INSERT INTO t SELECT i, i FROM range(20) r(i)");
    await w.build({
      low: "SELECT id, v FROM t WHERE v < 10",
      sums: "SELECT v % 3 AS k, sum(v) AS s FROM low GROUP BY 1",
      // Where the two sides stood at different times, a row would have no partner.
      both: "SELECT t.id, s.s, l.v FROM t LEFT JOIN low l ON l.id = t.id LEFT JOIN sums s ON s.k = l.v % 3",
    });
    for (const step of [1, 2, 3]) {
      await w.sql(`UPDATE t SET v = v + ${step} WHERE id % ${step + 1} = 0`, `INSERT INTO t VALUES (${step + 50}, 1)`);
      const result = await w.refresh(step === 2 ? { views: ["both"] } : {});
      expect(result.views.map((view) => view.view)).toEqual(["low", "sums", "both"]);
      expect((await w.lake.status()).map((view) => view.horizon)).toEqual([1, 2, 3].map(() => result.horizon));
    }
  });

  test("a violated primary key names a sample, writes nothing and stops only what reads the view", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (id INTEGER, v VARCHAR)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    await w.define([
      { name: "keyed", sql: "SELECT id, v FROM t", primaryKey: ["id"] },
      { name: "above", sql: "SELECT count(*) AS n FROM keyed" },
      { name: "beside", sql: "SELECT count(*) AS n FROM t" },
    ]);
    await w.refresh();
    for (const [id, text] of [
      ["2", "2"],
      ["NULL", "NULL"],
    ]) {
      await w.sql(`INSERT INTO t VALUES (${id}, 'again')`);
      const before = await w.progress();
      const held = await w.rows("SELECT * FROM keyed ORDER BY ALL");
      const result = await w.lake.refresh();
      expect(viewOf(result, "keyed").error).toMatchObject({ code: "primary_key_violated" });
      expect(viewOf(result, "keyed").error?.message).toContain(text);
      expect(viewOf(result, "above").error).toMatchObject({ code: "upstream_failed" });
      expect(viewOf(result, "beside").status).toBe("refreshed");
      expect(await w.rows("SELECT * FROM keyed ORDER BY ALL")).toEqual(held);
      const of = (progress: unknown[]) => JSON.stringify(progress).match(/\{"view":"(keyed|above)"[^}]*\}/g);
      expect(of(await w.progress())).toEqual(of(before));
      await w.sql("DELETE FROM t WHERE v = 'again'");
      await w.refresh();
    }
    // Keys that only swap are never doubled.
    await w.sql("UPDATE t SET id = 3 - id");
    await w.refresh();
  });

  test("bags: every copy is counted, in and out", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (a INTEGER, b VARCHAR)", "CREATE TABLE u (a INTEGER)");
    await w.sql("INSERT INTO t SELECT i % 3, NULL FROM range(30) r(i)", "INSERT INTO u VALUES (0), (0), (NULL), (2)");
    await w.build({
      copies: "SELECT a, b FROM t",
      pairs: "SELECT t.a, t.b FROM t, u WHERE t.a IS NOT DISTINCT FROM u.a",
      unions: "SELECT a FROM t UNION ALL SELECT a FROM u UNION ALL SELECT a FROM t WHERE a = 0",
    });
    await w.sql("INSERT INTO t VALUES (0, NULL), (0, NULL), (NULL, 'x'), (NULL, 'x')", "DELETE FROM u WHERE a = 2");
    await w.refresh();
    expect(await w.rows("SELECT count(*) AS n FROM copies WHERE a = 0")).toEqual([{ n: 12n }]);
    await w.transaction("DELETE FROM t WHERE a = 0", "INSERT INTO t VALUES (0, NULL), (0, NULL), (0, NULL)");
    await w.sql("INSERT INTO u SELECT 0 FROM range(20)");
    await w.refresh();
    expect(await w.rows("SELECT count(*) AS n FROM pairs WHERE a = 0")).toEqual([{ n: 66n }]);
    await w.verify();
  });
}
