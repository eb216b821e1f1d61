import { expect, test } from "vitest";
import { diagnose, open } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";

test("a SQLite catalog, whose times are texts, can be asked for ages", async () => {
  const place = await tempLake();
  const config = { ...place.config, catalog: `sqlite:${place.config.catalog.replace(/^ducklake:/, "")}` };
  try {
    const lake = await open(config);
    try {
      const connection = await lake.connect();
      await connection.run("CREATE TABLE t AS SELECT range AS id FROM range(30)");
      await lake.define([{ name: "counted", sql: "SELECT count(*) AS n FROM t" }]);
      await lake.refresh();
      await connection.run("INSERT INTO t VALUES (31)");
      connection.closeSync();
      const [view] = await lake.status();
      expect(view?.state).toBe("stale");
      expect(view?.lagMs).toBeGreaterThanOrEqual(0);
      expect((await lake.retention()).needed?.ageMs).toBeGreaterThanOrEqual(0);
      expect((await lake.maintain({ expireOlderThanMs: 0 })).steps.length).toBeGreaterThan(0);
      expect((await lake.overview()).snapshotAt).toMatch(/^\d{4}-\d\d-\d\dT/);
    } finally {
      await lake.close();
    }
    const { checks } = await diagnose(config);
    expect(checks.filter(({ status }) => status === "error")).toEqual([]);
  } finally {
    await place.cleanup();
  }
});
