import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { OpenLake } from "../setup/open-lake.js";

async function scene(): Promise<OpenLake> {
  const path = await mkdtemp(join(inject("workspace"), "log-"));
  const opened = await OpenLake.start({ log: { path } });
  await opened.connection.run("CREATE TABLE t (g INTEGER, v INTEGER)");
  await opened.connection.run("INSERT INTO t VALUES (1, 2), (2, 3)");
  await opened.lake.define([
    { name: "base", sql: "SELECT g, sum(v) AS s, count(DISTINCT v) AS d FROM t GROUP BY g" },
    { name: "middle", sql: "SELECT s FROM base" },
    { name: "top", sql: "SELECT b.s FROM base b JOIN middle USING (s)" },
    { name: "other", sql: "SELECT v FROM t" },
  ]);
  await opened.lake.refresh();
  return opened;
}

test("a view that nothing reads is dropped with its tables, its log and its place in the lake", async () => {
  await using opened = await scene();
  const { lake } = opened;
  expect(await lake.drop("OTHER", { dryRun: true })).toEqual({ dropped: ["other"], consumers: [], dryRun: true });
  expect(await opened.rows("SELECT count(*)::INTEGER FROM other")).toEqual([[2]]);
  expect(await lake.drop("other")).toEqual({ dropped: ["other"], consumers: [], dryRun: false });
  await expect(opened.rows("FROM other")).rejects.toThrow(/does not exist/);
  expect(await opened.rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%other%'")).toEqual([]);
  expect((await lake.status()).map(({ view }) => view)).toEqual(["base", "middle", "top"]);
  await expect(lake.state("other")).rejects.toMatchObject({ code: "log_unknown" });
  expect(await lake.history({ view: "other" })).toHaveLength(1);
  await expect(lake.drop("other")).rejects.toMatchObject({ code: "view_unknown" });
  expect((await lake.refresh()).status).toBe("unchanged");
});

test("one that views or consumers read is refused, and goes with them where that is asked for", async () => {
  await using opened = await scene();
  const { lake } = opened;
  await lake.addConsumer("mirror", "middle", "end");
  await expect(lake.drop("base")).rejects.toMatchObject({
    code: "view_in_use",
    message: "View base is in use; views read it: middle, top; consumers read its change log: mirror.",
  });
  await expect(lake.drop("base", { dryRun: true })).rejects.toMatchObject({ code: "view_in_use" });
  expect(await lake.status()).toHaveLength(4);
  const result = await lake.drop("base", { cascade: true });
  expect(result).toEqual({ dropped: ["top", "middle", "base"], consumers: ["mirror"], dryRun: false });
  expect((await lake.status()).map(({ view }) => view)).toEqual(["other"]);
  expect(await lake.consumers()).toEqual([]);
  expect((await lake.verify()).map(({ ok }) => ok)).toEqual([true]);
});
