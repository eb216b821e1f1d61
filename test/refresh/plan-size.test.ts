import { expect, test } from "vitest";
import { Scene } from "../hazards/scene.js";

/** A table expression that reads the one before it five times, in joins below GROUP BY, four levels deep. */
function towering(): string {
  const level = (below: string): string => {
    const joined = ["b", "c", "d", "e"].map((alias) => `JOIN ${below} ${alias} ON ${alias}.k = a.k`);
    return `SELECT a.k, max(b.n + c.n) AS n FROM ${below} a ${joined.join(" ")} WHERE d.n >= 0 AND e.n >= 0 GROUP BY a.k`;
  };
  const levels = ["l1 AS (SELECT k, count(*) AS n FROM facts GROUP BY k)"];
  for (const depth of [2, 3, 4, 5]) levels.push(`l${depth} AS (${level(`l${depth - 1}`)})`);
  return `WITH ${levels.join(",\n")}\nSELECT x.k, x.n + y.n AS n FROM l5 x JOIN l5 y USING (k)`;
}

test("a delta of absurd length is not written: the view is recomputed, and told how to be written", async () => {
  await using scene = await Scene.start();
  await scene.sql("CREATE TABLE facts (k INTEGER)", "INSERT INTO facts SELECT i % 7 FROM range(40) t(i)");
  await scene.define({ towering: towering() });
  await scene.lake.define([{ name: "towering", sql: towering(), refresh: "incremental" }]);
  await scene.sql("INSERT INTO facts VALUES (3), (NULL)");
  const explained = await scene.lake.explain("towering");
  expect(explained).toMatchObject({ strategy: "recompute", reasons: [{ code: "plan_too_large" }] });
  expect(explained.advice[0]).toMatchObject({ code: "plan_too_large", page: "docs/operators/inner-join.md" });
  expect(explained.terms.map((term) => [term.status, term.sql])).toEqual(explained.terms.map(() => ["ran", null]));
  const { views } = await scene.refresh();
  expect(views.find((view) => view.view === "towering")).toMatchObject({
    strategy: "recompute",
    reason: { code: "plan_too_large" },
  });
});
