/** The same hazards in catalogs that are no DuckDB file. */
import { expect, test, vi } from "vitest";
import { Scene, viewOf } from "./scene.js";

vi.setConfig({ testTimeout: 180_000 });

test.each(["sqlite", "postgres"] as const)(
  "what others do to a view's objects is found in a %s catalog",
  async (catalog) => {
    await using scene = await Scene.start({ kind: { catalog, data: "folder" } });
    await scene.sql("CREATE TABLE t(k INT, v INT)", "INSERT INTO t SELECT i % 3, i FROM range(30) r(i)");
    await scene.define({ sums: "SELECT k, sum(v) AS s FROM t GROUP BY k" });
    const before = await scene.rows("sums");
    expect((await scene.refresh()).status).toBe("unchanged");
    for (const statement of [
      "UPDATE ivm.data_sums SET s = s + 1",
      "ALTER TABLE ivm.data_sums ADD COLUMN note VARCHAR",
      "DROP TABLE ivm.data_sums",
    ]) {
      await scene.sql(statement);
      const result = await scene.refresh();
      expect(viewOf(result, "sums").reason?.code, statement).toBe("physical_table_altered");
      expect(await scene.rows("sums"), statement).toEqual(before);
    }
    await scene.sql("CREATE OR REPLACE VIEW sums AS SELECT 1 AS k");
    expect((await scene.refresh()).warnings.map(({ code }) => code)).toEqual(["user_view_restored"]);
    expect(await scene.rows("sums")).toEqual(before);
    expect((await scene.refresh()).status).toBe("unchanged");
  },
);
