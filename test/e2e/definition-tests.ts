/** Definitions that change or go. */

import { expect, test } from "vitest";
import { viewOf, type World } from "./world.js";

export function definitionTests(world: () => World): void {
  test("a changed definition rebuilds by difference, and no old row survives", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (id INTEGER, v INTEGER)", "INSERT INTO t SELECT i, i % 7 FROM range(70) r(i)");
    const define = (flat: string, sums: string) =>
      w.define([
        { name: "flat", sql: flat },
        { name: "sums", sql: sums },
        { name: "above", sql: "SELECT count(*) AS n FROM flat JOIN sums ON sums.v = flat.v" },
      ]);
    await define("SELECT id, v FROM t WHERE v < 5", "SELECT v, sum(id) AS s FROM t GROUP BY v");
    await w.refresh();

    await define("SELECT id, v FROM t WHERE v < 4 OR v = 6", "SELECT v, sum(id) AS s FROM t WHERE id > 6 GROUP BY v");
    expect((await w.lake.status()).map((view) => [view.view, view.state])).toEqual([
      ["flat", "rebuild"],
      ["sums", "rebuild"],
      ["above", "stale"],
    ]);
    await w.sql("INSERT INTO t VALUES (100, 6)");
    let result = await w.refresh();
    expect(viewOf(result, "flat").reason).toMatchObject({ code: "definition_changed" });
    expect(viewOf(result, "flat").rows).toEqual({ inserted: 11n, deleted: 10n });
    expect(viewOf(result, "sums").rows).toEqual({ inserted: 6n, deleted: 6n });

    // Other columns, other types, other groups.
    await define(
      "SELECT v::BIGINT AS v, id::VARCHAR AS id FROM t",
      "SELECT id % 2 AS v, max(v) AS m FROM t GROUP BY 1",
    );
    await w.sql("DELETE FROM t WHERE id < 10");
    result = await w.refresh();
    expect(viewOf(result, "sums").status).toBe("refreshed");
    await w.sql("INSERT INTO t VALUES (101, 0), (102, 1)");
    result = await w.refresh();
    expect(result.views.map((view) => view.strategy)).toEqual(["incremental", "incremental", "incremental"]);

    // There and back without a refresh between is no change at all.
    const before = await w.snapshot();
    await define("SELECT 1 AS v", "SELECT id % 2 AS v, max(v) AS m FROM t GROUP BY 1");
    await define(
      "SELECT v::BIGINT AS v, id::VARCHAR AS id FROM t",
      "SELECT id % 2 AS v, max(v) AS m FROM t GROUP BY 1",
    );
    expect((await w.refresh()).status).toBe("unchanged");
    expect(await w.snapshot()).toBeGreaterThan(before);
  });

  test("views go only when asked, and leave nothing behind", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1), (2)");
    const upper = { name: "upper_one", sql: "SELECT count(*) AS n FROM lower_one" };
    const lower = { name: "lower_one", sql: "SELECT id FROM t" };
    await w.define([lower, upper]);
    await w.refresh();

    const kept = await w.lake.define([lower]);
    expect(kept.actions.map(({ view, action }) => [view, action])).toEqual([
      ["lower_one", "keep"],
      ["upper_one", "orphan"],
    ]);
    expect(await w.value("SELECT n FROM upper_one")).toBe(2n);
    await expect(w.lake.define([upper], { drop: true })).rejects.toMatchObject({ subject: { view: "upper_one" } });

    await w.define([lower]);
    await expect(w.rows("FROM upper_one")).rejects.toThrow(/does not exist/);
    const left = await w.rows(
      `SELECT table_name FROM duckdb_tables() WHERE database_name = '${w.alias}' AND table_name LIKE '%upper_one'`,
    );
    expect(left).toEqual([]);
    expect(JSON.stringify(await w.progress())).not.toContain("upper_one");
    await w.sql("INSERT INTO t VALUES (3)");
    await w.refresh();

    // A name that was used before starts anew.
    await w.define([lower, { name: "upper_one", sql: "SELECT max(id) AS largest FROM lower_one" }]);
    expect(viewOf(await w.refresh(), "upper_one").strategy).toBe("initial");
    await w.verify();
  });

  test("a definition that is wrong changes nothing", async () => {
    const w = world();
    await w.sql("CREATE TABLE t (id INTEGER)", "CREATE TABLE taken (id INTEGER)", "INSERT INTO t VALUES (1), (2)");
    await w.build({ sound: "SELECT id FROM t" });
    const before = await w.snapshot();
    for (const [name, sql, code] of [
      ["broken", "SELECT nothing FROM t", "column_missing"],
      ["broken", "SELECT id FROM nowhere", "table_missing"],
      ["broken", "SELECT random() FROM t", "volatile_function"],
      ["taken", "SELECT id FROM t", "name_taken"],
      ["circle", "SELECT * FROM circle", "cycle"],
    ] as const) {
      const wrong = w.lake.define([
        { name: "sound", sql: "SELECT id + 1 AS id FROM t" },
        { name, sql },
      ]);
      await expect(wrong, sql).rejects.toMatchObject({ name: "DefinitionError", code, subject: { view: name } });
    }
    expect(await w.snapshot()).toBe(before);
    expect((await w.refresh()).status).toBe("unchanged");
  });
}
