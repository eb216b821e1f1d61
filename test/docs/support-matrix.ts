import { readFile } from "node:fs/promises";
import { DefinitionError } from "../../src/errors.js";
import type { Lake } from "../../src/lake.js";
import type { ExplainNode, ViewDefinition } from "../../src/types.js";

/** A part of SQL, by examples: what the planner says of them is what the documentation says. */
interface Form {
  readonly form: string;
  /** The operator of the plan, as `explain` names it, whose strategy is told. */
  readonly operator?: RegExp;
  readonly examples: readonly string[];
  /** The page in docs/operators/ that describes it. */
  readonly page: string;
  /** True where no view can be defined so. */
  readonly refused?: boolean;
}

export const TABLES: readonly string[] = [
  "CREATE TABLE t (a INTEGER, b INTEGER, d DOUBLE, s VARCHAR, l INTEGER[], ts TIMESTAMP WITH TIME ZONE)",
  "CREATE TABLE u (a INTEGER, c INTEGER, ts TIMESTAMP WITH TIME ZONE)",
];

const FORMS: readonly Form[] = [
  {
    form: "projection, filter, any scalar expression, `unnest` in the SELECT list",
    operator: /^(project|filter)$/,
    examples: ["SELECT a + 1 AS x, upper(s) AS s FROM t WHERE b > 2", "SELECT a, unnest(l) AS e FROM t"],
    page: "linear.md",
  },
  {
    form: "`UNION ALL`, by position or name",
    operator: /^union all$/,
    examples: [
      "SELECT a FROM t UNION ALL SELECT c FROM u",
      "SELECT a, b FROM t UNION ALL BY NAME SELECT a, c AS b FROM u",
    ],
    page: "linear.md",
  },
  {
    form: "inner, cross, comma, theta, `USING`, `NATURAL` joins; self-joins",
    operator: /^inner join$/,
    examples: [
      "SELECT t.b, u.c FROM t JOIN u ON t.a < u.a",
      "SELECT b, c FROM t JOIN u USING (a)",
      "SELECT t.b, u.c FROM t NATURAL JOIN u",
      "SELECT t.b, u.c FROM t, u WHERE t.a = u.a",
      "SELECT x.b, y.b AS z FROM t x CROSS JOIN t y",
    ],
    page: "inner-join.md",
  },
  {
    form: "`LEFT`, `RIGHT`, `FULL` joins, any predicate",
    operator: /^(left|right|full) join$/,
    examples: ["LEFT", "RIGHT", "FULL"].flatMap((side) => [
      `SELECT t.b, u.c FROM t ${side} JOIN u ON t.a = u.a`,
      `SELECT t.b, u.c FROM t ${side} JOIN u ON t.a < u.a AND t.b <> 3`,
    ]),
    page: "outer-join.md",
  },
  {
    form: "`ASOF` joins",
    operator: /^asof/,
    examples: [
      "SELECT t.b, u.c FROM t ASOF JOIN u ON t.a = u.a AND t.ts >= u.ts",
      "SELECT t.b, u.c FROM t ASOF LEFT JOIN u ON t.a = u.a AND t.ts >= u.ts",
    ],
    page: "asof-join.md",
  },
  {
    form: "`SEMI`, `ANTI`, `EXISTS`, `IN` and their negations in `WHERE`",
    operator: /^(semi|anti|mark) join$/,
    examples: [
      "SELECT a FROM t SEMI JOIN u USING (a)",
      "SELECT a FROM t ANTI JOIN u USING (a)",
      "SELECT a FROM t WHERE EXISTS (FROM u WHERE u.a = t.a)",
      "SELECT a FROM t WHERE a IN (SELECT c FROM u)",
      "SELECT a FROM t WHERE a NOT IN (SELECT c FROM u)",
      "SELECT a FROM t WHERE (a, b) IN (SELECT a, c FROM u)",
    ],
    page: "semi-anti-join.md",
  },
  {
    form: "`IN` as a value and `NOT IN`, of several columns",
    operator: /^(semi|anti|mark) join$/,
    examples: [
      "SELECT a FROM t WHERE (a, b) NOT IN (SELECT a, c FROM u)",
      "SELECT a, (a, b) IN (SELECT a, c FROM u) AS e FROM t",
    ],
    page: "semi-anti-join.md",
  },
  {
    form: "scalar subqueries, `EXISTS`, `IN`, `ANY`, `ALL` inside expressions of SELECT, WHERE and HAVING, correlated or not",
    operator: /^(mark|semi|anti|left|inner|full) join$/,
    examples: [
      "SELECT a, (SELECT max(c) FROM u) AS m FROM t",
      "SELECT a, (SELECT sum(c) FROM u WHERE u.a = t.a) AS m FROM t",
      "SELECT a, EXISTS (FROM u WHERE u.a = t.a) AS e FROM t",
      "SELECT a, a > ALL (SELECT c FROM u) AS e FROM t",
    ],
    page: "subqueries.md",
  },
  {
    form: "subqueries in the `ON` of an outer join",
    examples: ["SELECT t.b, u.c FROM t LEFT JOIN u ON u.a = t.a AND u.c = (SELECT max(c) FROM u)"],
    page: "subqueries.md",
  },
  {
    form: "`LATERAL` and correlated subqueries in `FROM`",
    operator: /join$/,
    examples: ["SELECT t.a, x.m FROM t, LATERAL (SELECT max(c) AS m FROM u WHERE u.a = t.a) x"],
    page: "lateral.md",
  },
  {
    form: "`DISTINCT` at the top",
    operator: /^distinct$/,
    examples: ["SELECT DISTINCT a, b FROM t"],
    page: "distinct-set-operations.md",
  },
  {
    form: "`COUNT`, `SUM`, `AVG`, `BOOL_AND` … of exact types at the top; `HAVING`",
    operator: /^aggregate$/,
    examples: [
      "SELECT a, count(*) AS n, sum(b) AS s, avg(b) AS v FROM t GROUP BY a HAVING count(*) > 1",
      "SELECT bool_and(a > b) AS x FROM t",
    ],
    page: "aggregates.md",
  },
  {
    form: "`COUNT`, `SUM`, `AVG` of `DISTINCT` values at the top",
    operator: /^aggregate$/,
    examples: ["SELECT a, count(DISTINCT b) AS n FROM t GROUP BY a"],
    page: "aggregates.md",
  },
  {
    form: "`MIN`, `MAX`, `ARG_MIN`, `FIRST` … at the top",
    operator: /^aggregate$/,
    examples: ["SELECT a, min(b) AS m, arg_max(s, b) AS x FROM t GROUP BY a"],
    page: "aggregates.md",
  },
  {
    form: "sums of floating-point numbers; `MEDIAN`, `QUANTILE`, `LIST`, `STRING_AGG` … at the top",
    operator: /^aggregate$/,
    examples: ["SELECT a, sum(d) AS s FROM t GROUP BY a", "SELECT a, median(b) AS m FROM t GROUP BY a"],
    page: "aggregates.md",
  },
  {
    form: "`GROUP BY` below other operators",
    operator: /^aggregate$/,
    examples: ["SELECT t.b, x.n FROM t JOIN (SELECT a, count(*) AS n FROM u GROUP BY a) x USING (a)"],
    page: "group-by.md",
  },
  {
    form: "`GROUPING SETS`, `ROLLUP`, `CUBE`",
    operator: /^aggregate$/,
    examples: [
      "SELECT a, b, count(*) AS n FROM t GROUP BY ROLLUP (a, b)",
      "SELECT a, b, grouping(a) AS g, sum(b) AS s FROM t GROUP BY GROUPING SETS ((a), (b), ())",
      "SELECT a, s, count(*) AS n FROM t GROUP BY CUBE (a, s)",
    ],
    page: "group-by.md",
  },
  {
    form: "`UNION`, `INTERSECT`, `EXCEPT`, with and without `ALL`",
    operator: /^(aggregate|distinct)$/,
    examples: ["UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"].map(
      (operation) => `SELECT a FROM t ${operation} SELECT a FROM u`,
    ),
    page: "distinct-set-operations.md",
  },
  {
    form: "running `SUM`, `AVG`, `RANK` … `OVER` an order, `LAG`, `ROWS k PRECEDING`, at the top",
    operator: /^window$/,
    examples: [
      "SELECT a, sum(b) OVER w AS s, avg(b) OVER w AS m, row_number() OVER w AS n FROM t WINDOW w AS (PARTITION BY a ORDER BY b)",
      "SELECT a, rank() OVER (PARTITION BY a ORDER BY b) AS r, lag(b, 2) OVER (PARTITION BY s ORDER BY b) AS l FROM t",
      "SELECT a, avg(d) OVER (PARTITION BY a ORDER BY b ROWS 5 PRECEDING) AS m FROM t",
    ],
    page: "window.md",
  },
  {
    form: "the same without `PARTITION BY`",
    operator: /^window$/,
    examples: ["SELECT a, sum(b) OVER (ORDER BY b) AS r FROM t"],
    page: "window.md",
  },
  {
    form: "other window functions, and those below other operators; `QUALIFY` by rank, `DISTINCT ON`",
    operator: /^window$/,
    examples: [
      "SELECT a, lead(b) OVER (PARTITION BY a ORDER BY b) AS r FROM t",
      "SELECT r, count(*) AS n FROM (SELECT rank() OVER (PARTITION BY a ORDER BY b) AS r FROM t) GROUP BY r",
      "SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b, s) = 1",
      "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b",
    ],
    page: "window.md",
  },
  {
    form: "other window functions without `PARTITION BY`",
    operator: /^window$/,
    examples: ["SELECT a, lead(b) OVER (ORDER BY b) AS r FROM t"],
    page: "window.md",
  },
  {
    form: "`ORDER BY … LIMIT` at the top, over groups",
    operator: /^order by, limit$/,
    examples: ["SELECT a, sum(b) AS s FROM t GROUP BY a ORDER BY s DESC, a LIMIT 3"],
    page: "limit.md",
  },
  {
    form: "`ORDER BY … LIMIT` at the top, over rows",
    operator: /^order by, limit$/,
    examples: ["SELECT a, b FROM t ORDER BY b, a LIMIT 3"],
    page: "limit.md",
  },
  {
    form: "`ORDER BY … LIMIT` below other operators",
    operator: /^order by, limit$/,
    examples: ["SELECT u.c FROM u JOIN (SELECT a FROM t ORDER BY b, a LIMIT 3) x USING (a)"],
    page: "limit.md",
  },
  {
    form: "`now()`, `current_date` … in `WHERE`, `ON`, `HAVING`, `QUALIFY`",
    operator: /^filter$/,
    examples: ["SELECT a FROM t WHERE ts > now() - INTERVAL 1 DAY"],
    page: "time.md",
  },
  { form: "`now()` in the SELECT list", examples: ["SELECT a, now() - ts AS age FROM t"], page: "time.md" },
  {
    form: "`PIVOT`, `UNPIVOT` with listed values",
    operator: /^(aggregate|project)$/,
    examples: [
      "FROM t PIVOT (sum(b) FOR a IN (1, 2) GROUP BY s)",
      "SELECT * FROM (SELECT a, b FROM t) UNPIVOT (v FOR n IN (a, b))",
    ],
    page: "pivot.md",
  },
  {
    form: "recursive common table expressions with `UNION`, linear",
    operator: /^recursion$/,
    examples: ["WITH RECURSIVE r AS (SELECT a FROM t UNION SELECT u.c FROM u JOIN r ON u.a = r.a) SELECT a FROM r"],
    page: "recursion.md",
  },
  {
    form: "recursive common table expressions with `UNION ALL`",
    examples: ["WITH RECURSIVE r AS (SELECT a FROM t UNION ALL SELECT u.c FROM u JOIN r ON u.a = r.a) SELECT a FROM r"],
    page: "recursion.md",
  },
  {
    form: "`POSITIONAL` joins",
    examples: ["SELECT t.b, u.c FROM t POSITIONAL JOIN u"],
    page: "positional-join.md",
  },
  {
    form: "`random()` and other volatile functions, `SAMPLE`",
    examples: ["SELECT random() AS x FROM t", "SELECT a FROM t USING SAMPLE 3"],
    refused: true,
    page: "volatile.md",
  },
  {
    form: "`COLLATE` in outputs, keys, orders and extremes",
    examples: ["SELECT s COLLATE NOCASE AS s FROM t", "SELECT count(*) AS n FROM t GROUP BY s COLLATE NOCASE"],
    refused: true,
    page: "collation.md",
  },
];

/** The rows of the table in README.md, from what the planner makes of each example. */
export async function supportMatrix(lake: Lake): Promise<string> {
  const named = FORMS.map((form, row) => ({
    ...form,
    views: form.examples.map((sql, index) => ({ name: `example_${row}_${index}`, sql })),
  }));
  await lake.define(named.filter((form) => form.refused !== true).flatMap((form) => form.views));
  const rows: string[] = [];
  for (const { form, operator, views, page, refused } of named) {
    const found = new Set<string>();
    for (const view of views)
      for (const how of await (refused === true ? refusal(lake, view) : howKept(lake, view, operator))) found.add(how);
    const link = `[${(await operatorPage(page)).title}](docs/operators/${page})`;
    rows.push(`| ${form} | ${[...found].join("; ")} | ${link} |`);
  }
  return ["| part of a query | how it is kept | page |", "| --- | --- | --- |", ...rows].join("\n");
}

/** The pages that the table names. */
export const PAGES: readonly string[] = [...new Set(FORMS.map(({ page }) => page))];

interface OperatorPage {
  readonly title: string;
  /** What stands below the title, and below each heading of the second level. */
  readonly parts: ReadonlyMap<string, string>;
}

export async function operatorPage(name: string): Promise<OperatorPage> {
  const text = await readFile(new URL(`../../docs/operators/${name}`, import.meta.url), "utf8");
  const [first = "", ...sections] = text.split(/^## /m);
  const [title = "", ...intro] = first.split("\n");
  const parts = sections.map((section) => {
    const [heading = "", ...lines] = section.split("\n");
    return [heading.trim(), lines.join("\n").trim()] as const;
  });
  return {
    title: title.replace(/^# /, "").trim(),
    parts: new Map([["what it is", intro.join("\n").trim()], ...parts]),
  };
}

async function refusal(lake: Lake, view: ViewDefinition): Promise<string[]> {
  const error = await lake.define([view]).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof DefinitionError) return [`refused (\`${error.code}\`)`];
  throw new Error(`${view.sql} is not refused`, { cause: error });
}

async function howKept(lake: Lake, view: ViewDefinition, operator: RegExp | undefined): Promise<string[]> {
  const { plan, reasons } = await lake.explain(view.name);
  if (plan === null) return [`recomputed: ${reasons.map((reason) => reason.text).join("; ")}`];
  const strategies = new Set(nodes(plan).flatMap((node) => (operator?.test(node.operator) ? [node.strategy] : [])));
  if (strategies.size === 0) throw new Error(`${view.sql}: the plan has no operator ${operator}`);
  return [...strategies];
}

function nodes(node: ExplainNode): ExplainNode[] {
  return [node, ...node.children.flatMap(nodes)];
}
