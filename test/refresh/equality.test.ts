/** How rows of large tables are found: by `=` where that says the same, since it keeps row groups from being read. */
import { expect, test } from "vitest";
import { Session } from "../../src/engine/session.js";
import { equalityFor } from "../../src/refresh/equality.js";
import { OpenLake } from "../setup/open-lake.js";

test("columns with a NULL, and types that have equal values of several kinds, are compared by IS NOT DISTINCT FROM", async () => {
  await using opened = await OpenLake.start();
  const session = new Session(opened.connection);
  await session.run(
    "CREATE TEMP TABLE keys AS SELECT 1 AS whole, NULL::INTEGER AS empty, 'a' AS text, 1.5::DOUBLE AS real, [1] AS list, INTERVAL 30 DAY AS span, 2.50 AS price UNION ALL SELECT 2, 3, 'b', 2.5, [2], INTERVAL 1 MONTH, 3.50",
  );
  const types = {
    whole: "INTEGER",
    empty: "INTEGER",
    text: "VARCHAR",
    real: "DOUBLE",
    list: "INTEGER[]",
    span: "INTERVAL",
    price: "DECIMAL(3,2)",
  };
  const columns = Object.entries(types).map(([name, type]) => ({ name, type }));
  const equality = await equalityFor(session, "keys", columns);
  expect(columns.filter(({ name }) => equality(name) === "=").map(({ name }) => name)).toEqual([
    "whole",
    "text",
    "price",
  ]);
  // Only the rows that are meant count.
  const others = await equalityFor(session, "keys", columns, "whole = 2");
  expect(others("empty")).toBe("=");
});

test("large views are exact with NULL keys, duplicates and distinct values, grouped and not", async () => {
  await using opened = await OpenLake.start();
  const { lake, connection } = opened;
  await connection.run(
    `CREATE TABLE t AS SELECT CASE WHEN i % 1000 = 7 THEN NULL ELSE i // 2 END AS g, CASE WHEN i % 11 = 0 THEN NULL ELSE i % 13 END AS v, 'n' || (i % 50) AS name
     FROM range(500000) r(i)`,
  );
  const views = [
    ["sums", "SELECT g, sum(v) AS s, count(*) AS n, count(DISTINCT v) AS values FROM t GROUP BY g"],
    ["two_keys", "SELECT g, name, max(v) AS v FROM t GROUP BY g, name"],
    ["kept", "SELECT g, v, name FROM t WHERE v IS NULL OR v < 10"],
  ] as const;
  await lake.define(views.map(([name, sql]) => ({ name, sql, refresh: "incremental" as const })));
  await lake.refresh();
  for (const change of [
    "DELETE FROM t WHERE g BETWEEN 100 AND 140 AND v = 3",
    "UPDATE t SET v = NULL WHERE g BETWEEN 200 AND 220",
    "DELETE FROM t WHERE g IS NULL AND name = 'n7' AND v = 4",
    "INSERT INTO t VALUES (NULL, NULL, 'n1'), (NULL, NULL, 'n1'), (300, 4, NULL), (300, 4, NULL), (900000, 1, 'new')",
    "DELETE FROM t WHERE name IS NULL",
  ]) {
    await connection.run(change);
    const result = await lake.refresh();
    expect(result.views.map(({ strategy }) => strategy)).toEqual(views.map(() => "incremental"));
    for (const [name, sql] of views) {
      const differing = `(FROM ${name} EXCEPT ALL (${sql})) UNION ALL ((${sql}) EXCEPT ALL FROM ${name})`;
      expect(await opened.rows(`SELECT count(*) FROM (${differing})`), `${name} after ${change}`).toEqual([[0n]]);
    }
  }
}, 120_000);
