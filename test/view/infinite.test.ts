import { expect, test } from "vitest";
import { OpenLake } from "../setup/open-lake.js";

test("constants that are infinite are kept as what they are, in queries, views and macros", async () => {
  await using place = await OpenLake.start();
  const { lake } = place;
  await place.rows("CREATE TABLE t(id INTEGER, v DOUBLE)");
  await place.rows("INSERT INTO t VALUES (1, 2), (2, 'inf'), (3, '-inf'), (4, 'nan'), (5, NULL)");
  await place.rows("CREATE MACRO top() AS 1e400");
  const printed: string[] = [];
  for await (const line of (await lake.query("SELECT 1e400 AS x, -1e400 AS y, top() AS z")).jsonLines())
    printed.push(line);
  expect(printed).toEqual(['{"x":"Infinity","y":"-Infinity","z":"Infinity"}']);
  const views = {
    below: "SELECT id FROM t WHERE v < 1e400",
    least: "SELECT count(*) FILTER (WHERE v > -1e400) AS n, max(coalesce(v, -1e400)) AS m FROM t",
    pivoted: "FROM (SELECT v FROM t) PIVOT (count(*) FOR v IN (1e400, 2 AS two))",
  };
  await lake.define(Object.entries(views).map(([name, sql]) => ({ name, sql })));
  await lake.refresh();
  await place.rows("DELETE FROM t WHERE id = 1");
  await place.rows("INSERT INTO t VALUES (6, 1e308), (7, 'inf')");
  const { views: done } = await lake.refresh();
  expect(done.map(({ strategy, error }) => error ?? strategy)).toEqual(["incremental", "incremental", "incremental"]);
  for (const [name, sql] of Object.entries(views)) {
    expect(await place.rows(`FROM main.${name} ORDER BY ALL`)).toEqual(await place.rows(`FROM (${sql}) ORDER BY ALL`));
  }
});
