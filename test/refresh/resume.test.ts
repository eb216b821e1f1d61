import { rename } from "node:fs/promises";
import { expect, test } from "vitest";
import type { ExplainNode, PartitionCounts } from "../../src/index.js";
import { inputsOf, type Relation, withInputs } from "../../src/plan/relation.js";
import type { StoredDefinition } from "../../src/view/definition.js";
import { bagLayout } from "../../src/view/layout.js";
import { Scene, viewOf } from "../hazards/scene.js";

/** Bookings of three accounts, and of one that is NULL; `moment` grows, and is NULL for some. */
async function bookings(views: Readonly<Record<string, string>>): Promise<Scene> {
  const made = await Scene.start({ inlining: 0 });
  await made.sql(
    "CREATE TABLE b (account INTEGER, moment INTEGER, amount DECIMAL(9,2), n INTEGER, x DOUBLE, s VARCHAR)",
    `INSERT INTO b SELECT CASE WHEN i % 4 = 3 THEN NULL ELSE i % 4 END, i, (i * 7) % 11 - 5, i, i / 4, 's' || i % 5 FROM range(40) r(i)`,
  );
  await made.define(views);
  return made;
}

async function partitions(made: Scene, view = "v"): Promise<PartitionCounts> {
  const result = viewOf(await made.refresh(), view);
  expect(result).toMatchObject({ strategy: "incremental", reason: null });
  if (result.partitions === undefined) throw new Error(`${view} has no stored rows of windows`);
  return result.partitions;
}

const resumed = (count: bigint): PartitionCounts => ({ resumed: count, reread: 0n });
const reread = (count: bigint): PartitionCounts => ({ resumed: 0n, reread: count });
const ACCOUNT = "PARTITION BY account ORDER BY moment";

test("rows after the end of their partitions go on from there, by every function that can", async () => {
  await using made = await bookings({
    v: `SELECT account, moment, sum(amount) OVER w AS s, count(*) OVER w AS c, count(amount) FILTER (WHERE n % 2 = 0) OVER w AS f,
          sum(n) OVER (${ACCOUNT} ROWS UNBOUNDED PRECEDING) AS r, avg(amount) OVER w AS a, avg(n) FILTER (WHERE n % 3 = 0) OVER w AS an,
          min(amount) OVER w AS lo, max(s) OVER w AS hi, bool_and(amount > -5) OVER w AS every, bool_or(amount > 4) OVER w AS some_true,
          row_number() OVER w AS i, rank() OVER w AS ra, dense_rank() OVER w AS d, first_value(s) OVER w AS fi,
          first_value(CASE WHEN moment > 41 THEN n END IGNORE NULLS) OVER w AS ig, last_value(n) OVER w AS la,
          lag(n) OVER w AS l, lag(s, 3, 'none') OVER w AS l3, sum(x) OVER (${ACCOUNT} ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS moving,
          list(n) OVER (${ACCOUNT} ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS li, median(n) OVER (${ACCOUNT} ROWS 4 PRECEDING) AS me,
          nth_value(n, 2) OVER (${ACCOUNT} ROWS 2 PRECEDING) AS nt, count(DISTINCT s) OVER (${ACCOUNT} ROWS 3 PRECEDING EXCLUDE CURRENT ROW) AS di
        FROM b WINDOW w AS (${ACCOUNT})`,
  });
  await made.sql(
    "INSERT INTO b VALUES (1, 40, 3.5, 40, 1, 'a'), (1, 41, NULL, 42, 2, NULL), (NULL, 40, -9, 43, 'nan', 'zz')",
  );
  expect(await partitions(made)).toEqual(resumed(2n));
  // A new account, peers among the new rows, and a later row of an account of before.
  await made.sql(
    "INSERT INTO b VALUES (7, 1, 3, 1, 1, 'a'), (7, 2, 4, 2, 1, 'b'), (1, 42, 1, 3, 2, 'c'), (2, 50, 1, 6, 1, 'd')",
  );
  expect(await partitions(made)).toEqual(resumed(3n));
  await made.sql("INSERT INTO b VALUES (7, 3, -3, 1, 1, 'b')");
  expect(await partitions(made)).toEqual(resumed(1n));
});

test("a partition that loses or changes a row, or gets one that is not behind its end, is evaluated anew, and only that", async () => {
  await using made = await bookings({
    v: `SELECT account, moment, n, sum(amount) OVER (${ACCOUNT}) AS s, row_number() OVER (${ACCOUNT}, n) AS i FROM b`,
  });
  const stored = made.value("SELECT count(*) FROM lake.ivm.data_v");
  expect(await stored).toBe("40");
  await made.sql("DELETE FROM b WHERE n = 4", "INSERT INTO b VALUES (1, 100, 1, 100, 0, ''), (0, 100, 1, 100, 0, '')");
  // Two orders are two runs: account 0 lost a row, account 1 goes on.
  expect(await partitions(made)).toEqual({ resumed: 2n, reread: 2n });
  await made.sql("UPDATE b SET amount = 100 WHERE account = 2 AND moment = 10");
  expect(await partitions(made)).toEqual(reread(2n));
  await made.sql("INSERT INTO b VALUES (1, 99, 1, 99, 0, ''), (1, 102, 1, 99, 0, '')");
  expect(await partitions(made)).toEqual(reread(2n));
  // Behind the end by (moment, n), but a peer of it by moment.
  await made.sql("INSERT INTO b VALUES (1, 102, 1, 100, 0, '')");
  expect(await partitions(made)).toEqual({ resumed: 1n, reread: 1n });
  await made.sql("DELETE FROM b WHERE account = 2");
  expect(await partitions(made)).toEqual(reread(2n));
  await made.sql("INSERT INTO b VALUES (2, 1, 1, 1, 0, ''), (NULL, 100, 2, 2, 0, '')");
  expect(await partitions(made)).toEqual(resumed(4n));
});

test("NULLs have their place in the order, wherever that is", async () => {
  await using made = await bookings({
    v: `SELECT n, sum(n) OVER (PARTITION BY account ORDER BY moment DESC) AS s FROM b`,
    w: `SELECT n, lag(n) OVER (ORDER BY moment NULLS FIRST, account DESC, n) AS l FROM b`,
  });
  const both = async (): Promise<PartitionCounts[]> => {
    const result = await made.refresh();
    return ["v", "w"].map((view) => viewOf(result, view).partitions ?? reread(0n));
  };
  // Descending, with NULLs last: behind the end come smaller values, then NULL.
  await made.sql("INSERT INTO b (account, moment, n) VALUES (1, -1, 100), (NULL, NULL, 101)");
  expect(await both()).toEqual([resumed(2n), reread(1n)]);
  await made.sql("INSERT INTO b (account, moment, n) VALUES (NULL, -5, 102), (1, NULL, 104)");
  expect(await both()).toEqual([{ resumed: 1n, reread: 1n }, reread(1n)]);
  await made.sql("INSERT INTO b (account, moment, n) VALUES (1, NULL, 103)");
  expect(await both()).toEqual([reread(1n), reread(1n)]);
  await made.sql("INSERT INTO b (account, moment, n) VALUES (2, 39, 105), (1, 39, 106)");
  expect(await both()).toEqual([reread(2n), reread(1n)]);
  await made.sql("INSERT INTO b (account, moment, n) VALUES (0, 40, 105)");
  expect(await both()).toEqual([reread(1n), resumed(1n)]);
});

test("peers at the end matter only to functions that tell them apart", async () => {
  await using made = await bookings({
    shared: `SELECT n, sum(n) OVER (${ACCOUNT}) AS s, rank() OVER (${ACCOUNT}) AS r, dense_rank() OVER (${ACCOUNT}) AS d FROM b`,
    apart: `SELECT account, moment, n % 1 AS n, count(*) OVER (${ACCOUNT} ROWS UNBOUNDED PRECEDING) AS c FROM b`,
  });
  await made.sql("INSERT INTO b (account, moment, n) VALUES (1, 100, 1), (1, 100, 2), (1, 100, 2)");
  expect(await partitions(made, "shared")).toEqual(resumed(1n));
  await made.sql("INSERT INTO b (account, moment, n) VALUES (1, 101, 3)");
  const result = await made.refresh();
  expect(viewOf(result, "shared").partitions).toEqual(resumed(1n));
  expect(viewOf(result, "apart").partitions).toEqual(reread(1n));
});

test("windows over different partitions go on or are evaluated anew each for itself", async () => {
  await using made = await bookings({
    v: `SELECT n, sum(n) OVER (PARTITION BY account ORDER BY n) AS a, max(n) OVER (PARTITION BY s ORDER BY n) AS b,
          count(*) OVER (ORDER BY n) AS c, lead(n) OVER (PARTITION BY s, account ORDER BY n) AS d FROM b`,
  });
  await made.sql("INSERT INTO b (account, n, s) VALUES (1, 100, 's1'), (2, 101, 'new')");
  expect(await partitions(made)).toEqual({ resumed: 5n, reread: 2n });
  // For its account and among all it is late, for its s it is not.
  await made.sql("INSERT INTO b (account, n, s) VALUES (2, 50, 's2')");
  expect(await partitions(made)).toEqual({ resumed: 1n, reread: 3n });
  await made.sql(
    "DELETE FROM b WHERE n IN (3, 17)",
    "INSERT INTO b (account, n, s) VALUES (2, 150, 'new'), (3, 151, 'x')",
  );
  expect((await partitions(made)).reread).toBeGreaterThan(4n);
});

test("projections and filters may stand above, any operators below, and views above", async () => {
  await using made = await bookings({
    v: `SELECT upper(name) AS name, t + 1 AS t, half FROM (
          SELECT name, moment, sum(amount) OVER (PARTITION BY account ORDER BY moment) AS t, amount / 2 AS half
          FROM b JOIN (VALUES (1, 'one'), (2, 'two'), (2, 'deux')) names(id, name) ON account = id WHERE n % 3 <> 0)
        WHERE t <> 7 AND half < 40`,
    days: `SELECT day, account, total, sum(total) OVER (PARTITION BY account ORDER BY day) AS run
        FROM (SELECT account, moment // 10 AS day, sum(n) AS total FROM b GROUP BY ALL)`,
    above: `SELECT name, count(*) AS c, sum(t) AS s FROM v GROUP BY name`,
  });
  await made.sql("INSERT INTO b (account, moment, amount, n) VALUES (1, 100, 1, 1), (2, 101, 3, 2), (2, 102, 100, 4)");
  const result = await made.refresh();
  expect(viewOf(result, "v").partitions).toEqual(resumed(2n));
  // A new day is a new row; the next booking of that day changes it.
  expect(viewOf(result, "days").partitions).toEqual(resumed(2n));
  await made.sql("INSERT INTO b (account, moment, amount, n) VALUES (1, 103, 1, 1), (2, 110, 1, 1)");
  expect(viewOf(await made.refresh(), "days").partitions).toEqual({ resumed: 1n, reread: 1n });
});

test("of the sources only what changed is read, whether partitions go on or not", async () => {
  await using made = await bookings({
    v: `SELECT account, moment, sum(amount) OVER (${ACCOUNT}) AS s, lag(n) OVER (${ACCOUNT}) AS l FROM b`,
  });
  const file = await made.value("SELECT data_file FROM ducklake_list_files('lake', 'b')");
  await made.sql("INSERT INTO b VALUES (1, 100, 1, 1, 0, ''), (NULL, 100, 1, 1, 0, '')");
  await rename(file, `${file}.gone`);
  const { lake } = made;
  expect(viewOf(await lake.refresh(), "v")).toMatchObject({ strategy: "incremental", partitions: resumed(2n) });
  await made.sql("INSERT INTO b VALUES (1, 1, 1, 1, 0, '')");
  expect(viewOf(await lake.refresh(), "v")).toMatchObject({ strategy: "incremental", partitions: reread(1n) });
  await rename(`${file}.gone`, file);
  expect(await lake.verify()).toMatchObject([{ view: "v", ok: true }]);
});

test("sums of floating-point numbers are evaluated anew unless they may be folded", async () => {
  const sql = `SELECT n, sum(x) OVER (${ACCOUNT}) AS s, avg(x) OVER (${ACCOUNT}) AS a FROM b`;
  await using made = await bookings({ v: sql });
  await made.lake.define([
    { name: "v", sql },
    { name: "folded", sql, floatSums: "fold" },
  ]);
  await made.lake.refresh();
  await made.sql("INSERT INTO b VALUES (1, 100, 1, 1, 0.5, ''), (2, 100, 1, 1, 'inf', ''), (2, 101, 1, 1, '-inf', '')");
  const result = await made.lake.refresh();
  expect(viewOf(result, "v").partitions).toBeUndefined();
  expect(viewOf(result, "folded").partitions).toEqual(resumed(2n));
  expect(await made.lake.verify()).toMatchObject([{ ok: true }, { ok: true }]);
});

function windowsOf(node: ExplainNode | null): ExplainNode[] {
  if (node === null) return [];
  return [...(node.operator === "window" ? [node] : []), ...node.children.flatMap(windowsOf)];
}

test("explain says how each window goes on, or why it does not", async () => {
  const RESUMED = "resumed behind the end of a partition, else affected partitions evaluated anew from stored rows";
  const AFFECTED = "affected partitions, new minus old";
  const told: Readonly<Record<string, readonly [string, string | undefined]>> = {
    [`SELECT n, sum(n) OVER (${ACCOUNT}) AS s FROM b`]: [RESUMED, undefined],
    [`SELECT n, count(*) OVER (ORDER BY n) AS s FROM b`]: [
      "resumed behind the end of a partition, else all rows evaluated anew from stored rows",
      undefined,
    ],
    [`SELECT n, lead(n) OVER (${ACCOUNT}) AS s FROM b`]: [
      AFFECTED,
      "not resumed, since lead looks at rows that come later",
    ],
    [`SELECT n, ntile(3) OVER (${ACCOUNT}) AS s FROM b`]: [
      AFFECTED,
      "not resumed, since ntile depends on how many rows the partition has",
    ],
    [`SELECT n, sum(n) OVER (PARTITION BY account) AS s FROM b`]: [
      AFFECTED,
      "not resumed, since the window of sum has no ORDER BY",
    ],
    [`SELECT n, sum(x) OVER (${ACCOUNT}) AS s FROM b`]: [
      AFFECTED,
      "not resumed, since sum of floating-point numbers depends on the order of additions (float_sums: fold allows it)",
    ],
    [`SELECT n, median(n) OVER (${ACCOUNT}) AS s FROM b`]: [
      AFFECTED,
      "not resumed, since median up to a row does not follow from its value up to the row before",
    ],
    [`SELECT n, max(n) OVER (${ACCOUNT} RANGE 3 PRECEDING) AS s FROM b`]: [
      AFFECTED,
      "not resumed, since the frame of max looks back by other than a fixed number of rows, or by too many",
    ],
    [`SELECT n, max(n) OVER (${ACCOUNT} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM b`]: [
      AFFECTED,
      "not resumed, since the frame of max reaches rows that come later",
    ],
    [`SELECT n FROM b QUALIFY row_number() OVER (${ACCOUNT}) = 1`]: [
      AFFECTED,
      "not resumed, since a filter above keeps few rows of each partition, and only those are stored",
    ],
    [`SELECT max(s) AS m FROM (SELECT sum(n) OVER (${ACCOUNT}) AS s FROM b)`]: [
      AFFECTED,
      "not resumed, since other operators than projections and filters stand above",
    ],
  };
  await using made = await bookings(Object.fromEntries(Object.keys(told).map((sql, index) => [`v${index}`, sql])));
  for (const [index, [strategy, why]] of Object.values(told).entries()) {
    const [window] = windowsOf((await made.lake.explain(`v${index}`)).plan);
    expect({ strategy: window?.strategy, why: window?.why }, `v${index}`).toEqual({ strategy, why });
  }
});

/** The definition as versions before stored rows of windows made it: a bag of the visible rows. */
function asBefore(definition: StoredDefinition): StoredDefinition {
  const { plan } = definition;
  if (plan === null) throw new Error("the view has no plan");
  const { columns, visible, output } = bagLayout(definition.columns);
  const layout = { visible, output, groups: null, rows: null };
  const strip = (relation: Relation): Relation => {
    const stripped = withInputs(relation, inputsOf(relation).map(strip));
    if (stripped.kind !== "window") return stripped;
    return { ...stripped, columns: stripped.columns.map(({ id, expression }) => ({ id, expression })) };
  };
  return {
    ...definition,
    fingerprint: "of an older version",
    plan: { ...plan, relation: strip(plan.relation) },
    layout: { ...layout, columns: columns.map((column) => ({ ...column, stored: column.type })), counted: [] },
  };
}

test("a view of an older version is kept as it was until it is applied again, which rebuilds it once", async () => {
  const sql = `SELECT n, sum(amount) OVER (${ACCOUNT}) AS s FROM b`;
  await using made = await bookings({});
  const { lake } = made;
  await lake.define([{ name: "v", sql }]);
  const definition = JSON.parse(await made.value("SELECT definition FROM lake.ivm.views")) as StoredDefinition;
  const old = JSON.stringify(asBefore(definition)).replaceAll("'", "''");
  await made.sql(`UPDATE lake.ivm.views SET definition = '${old}'`);
  await lake.refresh();
  await made.sql("INSERT INTO b (account, moment, n, amount) VALUES (1, 100, 1, 1)");
  const kept = viewOf(await lake.refresh(), "v");
  expect(kept).toMatchObject({ strategy: "incremental", rows: { inserted: 1n, deleted: 0n } });
  expect(kept.partitions).toBeUndefined();
  expect(windowsOf((await lake.explain("v")).plan)[0]?.why).toContain("planned by an older version");
  expect((await lake.define([{ name: "v", sql }])).actions).toMatchObject([{ action: "rebuild" }]);
  expect(viewOf(await lake.refresh(), "v")).toMatchObject({
    reason: { code: "definition_changed" },
    rows: { inserted: 0n, deleted: 0n },
  });
  await made.sql("INSERT INTO b (account, moment, n, amount) VALUES (1, 101, 1, 1)");
  expect(viewOf(await lake.refresh(), "v").partitions).toEqual(resumed(1n));
  expect(await lake.verify()).toMatchObject([{ ok: true }]);
});
