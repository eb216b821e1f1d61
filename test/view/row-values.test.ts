import { expect, test } from "vitest";
import type { DefinitionError } from "../../src/index.js";
import { SharedLake } from "../setup/shared-lake.js";

/** Row values, `(a, b)`: structs whose fields have no names, whose type SQL can't write and no table can hold. */
const shared = new SharedLake(
  { engine: { threads: 1 } },
  "CREATE TABLE t(id INTEGER, g INTEGER, v BIGINT, d DECIMAL(38,10), ts TIMESTAMP)",
  "INSERT INTO t SELECT i, i % 3, i % 5, i / 7, TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR FROM range(20) r(i)",
);

const RECOMPUTED = "unnamed_fields";
let next = 100;

test.each([
  ["incremental", "SELECT g, count(DISTINCT (v, d)) AS c FROM t GROUP BY g"],
  ["incremental", "SELECT g, v, count(*) AS c FROM t GROUP BY (g, v)"],
  ["incremental", "SELECT id, row_number() OVER (PARTITION BY (g, v) ORDER BY id) AS c FROM t"],
  ["incremental", "SELECT id FROM t WHERE (g, v) IN ((1, 2), (2, 3))"],
  ["incremental", "SELECT id FROM t WHERE (g, v) IN (SELECT g, id FROM t)"],
  ["incremental", "SELECT a.id, b.id AS bid FROM t a LEFT JOIN t b ON (a.g, a.v) = (b.g, b.id)"],
  [RECOMPUTED, "SELECT count(*) AS c FROM (SELECT DISTINCT (g, v) FROM t)"],
  [RECOMPUTED, "SELECT count(*) AS c FROM t GROUP BY [(g, v)]"],
  [RECOMPUTED, "SELECT g, arg_min((id, v), ts)[1] AS p FROM t GROUP BY g"],
  [RECOMPUTED, "SELECT g, len(list((id, v))) AS p FROM t GROUP BY g"],
  [RECOMPUTED, "SELECT g, max((id, v))[2] AS p FROM t GROUP BY g"],
  [RECOMPUTED, "SELECT p[1] AS a FROM (SELECT (g, v) AS p FROM t UNION SELECT (g, id) FROM t)"],
  [RECOMPUTED, "SELECT id FROM (SELECT id, (g, v) AS p FROM t) ORDER BY p, id LIMIT 2"],
  ["state_type", "SELECT g, max(CASE WHEN id > 1 THEN union_value(n := v) END) IS NULL AS u FROM t GROUP BY g"],
])("%s: %s", async (kept, sql) => {
  const { actions } = await shared.lake.define([{ name: "v", sql }], { drop: true });
  expect(actions[0]?.reasons.map(({ code }) => code)).toEqual(kept === "incremental" ? [] : [kept]);
  await shared.lake.refresh();
  next += 1;
  await shared.rows(`DELETE FROM t WHERE id = ${next - 95}`);
  await shared.rows(
    `INSERT INTO t VALUES (${next}, 1, 3, 2.5, TIMESTAMP '2024-02-01'), (NULL, NULL, NULL, NULL, NULL)`,
  );
  const { views } = await shared.lake.refresh();
  expect(views.map(({ error, strategy }) => error?.message ?? strategy)).toEqual([
    kept === "incremental" ? kept : "recompute",
  ]);
  expect(await shared.rows("FROM main.v ORDER BY ALL")).toEqual(await shared.rows(`FROM (${sql}) ORDER BY ALL`));
});

test.each([
  ["STRUCT(INTEGER, BIGINT)", "SELECT id, (g, v) AS pair FROM t"],
  ["STRUCT(INTEGER, BIGINT)", "SELECT g, arg_min((id, v), ts) AS pair FROM t GROUP BY g"],
  ["STRUCT(INTEGER, BIGINT)[]", "SELECT g, list((id, v)) AS pair FROM t GROUP BY g"],
  ["MAP(STRUCT(INTEGER, BIGINT), INTEGER)", "SELECT MAP {(g, v): 1} AS pair FROM t"],
])("a column of the type %s is refused", async (type, sql) => {
  const error: DefinitionError = await shared.lake.define([{ name: "w", sql }]).then(
    () => expect.unreachable(),
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ code: "type_refused", subject: { view: "w", column: "pair" } });
  expect(error.message).toContain(`the type ${type} of column pair`);
  expect(error.hint).toBe("Name the fields of a row value: {'a': a, 'b': b} instead of (a, b).");
});

test("the same values with names are stored", async () => {
  await shared.lake.define([{ name: "v", sql: "SELECT id, {'g': g, 'v': v} AS pair FROM t WHERE id = 1" }]);
  await shared.lake.refresh();
  expect(await shared.rows("SELECT id, pair.v FROM main.v")).toEqual([[1, 1n]]);
});
