/** Queries that `explain` gives advice on, each as it was written first and as the advice says. */

/** What the views of `REWRITES` read. */
export const TABLES = [
  "CREATE TABLE t (k INTEGER, g INTEGER, v DECIMAL(9, 2), d DOUBLE, ts TIMESTAMP)",
  "INSERT INTO t SELECT i, i % 4, i, i / 3, TIMESTAMP '2026-01-01' + INTERVAL 1 DAY * i FROM range(40) r(i)",
  "CREATE TABLE u (k INTEGER, w INTEGER, tags VARCHAR[])",
  "INSERT INTO u SELECT i, i % 5, ['x', 'y'] FROM range(20) r(i)",
  "CREATE TABLE edges (a INTEGER, b INTEGER)",
  "INSERT INTO edges SELECT i, i + 1 FROM range(6) r(i)",
];

export interface Rewrite {
  /** The advice's code. */
  readonly code: string;
  readonly before: string;
  /** The query as the advice says. */
  readonly after: string;
  /** Views that the advice splits off, which `after` reads. */
  readonly beside?: Readonly<Record<string, string>>;
}

const RECURSIVE = (query: string): string => `WITH RECURSIVE r(n) AS (${query}) SELECT n FROM r`;

export const REWRITES: readonly Rewrite[] = [
  { code: "limit", before: "SELECT k FROM t LIMIT 3", after: "SELECT k FROM t ORDER BY k LIMIT 3" },
  {
    code: "limit",
    before: "SELECT k FROM t ORDER BY k LIMIT 10%",
    after: "SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY n, g LIMIT 3",
  },
  {
    code: "limit_inside",
    before: "SELECT x.k, w FROM (SELECT k FROM t ORDER BY k DESC LIMIT 5) x JOIN u ON u.k = x.k",
    beside: { newest: "SELECT k FROM t ORDER BY k DESC LIMIT 5" },
    after: "SELECT x.k, w FROM newest x JOIN u ON u.k = x.k",
  },
  {
    code: "limit_inside",
    before: "SELECT x.k, w FROM (SELECT k FROM t ORDER BY k DESC LIMIT 5) x JOIN u ON u.k = x.k",
    after:
      "SELECT x.k, w FROM (SELECT k FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY k DESC) <= 2) x JOIN u ON u.k = x.k",
  },
  {
    code: "window_whole",
    before: "SELECT k, lead(k) OVER (ORDER BY ts) AS next FROM t",
    after: "SELECT k, lead(k) OVER (PARTITION BY g ORDER BY ts) AS next FROM t",
  },
  {
    code: "group_whole",
    before: "SELECT t.k FROM t, (SELECT max(k) AS m FROM u) x WHERE t.k < x.m",
    beside: { greatest: "SELECT max(k) AS m FROM u" },
    after: "SELECT t.k FROM t, greatest x WHERE t.k < x.m",
  },
  {
    code: "groups_reread",
    before: "SELECT g, sum(v) AS s, median(v) AS m FROM t GROUP BY g",
    after: "SELECT g, sum(v) AS s FROM t GROUP BY g",
  },
  {
    code: "groups_reread",
    before: "SELECT g, sum(d) AS s FROM t GROUP BY g",
    after: "SELECT g, sum(CAST(d AS DECIMAL(18, 6))) AS s FROM t GROUP BY g",
  },
  {
    code: "recursive_union_all",
    before: RECURSIVE("SELECT 0 UNION ALL SELECT b FROM edges, r WHERE a = n"),
    after: RECURSIVE("SELECT 0 UNION SELECT b FROM edges, r WHERE a = n"),
  },
  {
    code: "recursive_not_linear",
    before:
      "WITH RECURSIVE path(a, b) AS (SELECT a, b FROM edges UNION SELECT x.a, y.b FROM path x JOIN path y ON x.b = y.a) SELECT a, b FROM path",
    after:
      "WITH RECURSIVE path(a, b) AS (SELECT a, b FROM edges UNION SELECT x.a, e.b FROM path x JOIN edges e ON x.b = e.a) SELECT a, b FROM path",
  },
  {
    code: "recursive_using_key",
    before:
      "WITH RECURSIVE r(k, v) USING KEY (k) AS (SELECT a, 0 FROM edges UNION SELECT k, v + 1 FROM r WHERE v < 3) SELECT k, v FROM r",
    after:
      "WITH RECURSIVE r(k, v) AS (SELECT a, 0 FROM edges UNION SELECT k, v + 1 FROM r WHERE v < 3) SELECT k, max(v) AS v FROM r GROUP BY k",
  },
  {
    code: "positional_join",
    before: "SELECT t.k, u.w FROM t POSITIONAL JOIN u",
    after:
      "SELECT x.k, y.w FROM (SELECT k, row_number() OVER (ORDER BY k) AS i FROM t) x JOIN (SELECT w, row_number() OVER (ORDER BY k) AS i FROM u) y USING (i)",
  },
  {
    code: "time_dependent",
    before: "SELECT k, now() - ts AS age FROM t",
    after: "SELECT k, ts FROM t WHERE ts < now()",
  },
  {
    code: "asof_join",
    before: "SELECT t.k, u.w FROM t ASOF JOIN u ON t.g = u.w AND t.k >= u.k AND u.k <> 1",
    after: "SELECT t.k, u.w FROM t ASOF JOIN u ON t.g = u.w AND t.k >= u.k WHERE u.k <> 1",
  },
  {
    code: "subquery",
    before: "SELECT k FROM t WHERE (k, g) > ALL (SELECT k, w FROM u)",
    after: "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE t.k < u.k OR (t.k = u.k AND t.g <= u.w))",
  },
  {
    code: "order_sensitive",
    before: "SELECT DISTINCT ON (g) g, k FROM t",
    after: "SELECT DISTINCT ON (g) g, k FROM t ORDER BY g, k",
  },
  {
    code: "pivot",
    before: "PIVOT (SELECT k, w FROM u) ON w IN (0, 1) USING count(*) FILTER (WHERE k > 1)",
    after: "SELECT count(*) FILTER (WHERE w = 0 AND k > 1) AS c0, count(*) FILTER (WHERE w = 1 AND k > 1) AS c1 FROM u",
  },
  {
    code: "unpivot",
    before: "UNPIVOT (SELECT k, w FROM u) ON k + 1, w INTO NAME n VALUE x",
    after: "UNPIVOT (SELECT k + 1 AS k, w FROM u) ON k, w INTO NAME n VALUE x",
  },
  { code: "columns_expression", before: "SELECT COLUMNS('k|g') FROM t", after: "SELECT k, g FROM t" },
  { code: "star_modifier", before: "SELECT * RENAME (k AS id) FROM u", after: "SELECT k AS id, w, tags FROM u" },
  { code: "positional_reference", before: "SELECT #2 AS x FROM u", after: "SELECT w AS x FROM u" },
  { code: "fixed_version", before: "SELECT k FROM t AT (VERSION => 2)", after: "SELECT k FROM t" },
  {
    code: "correlated_subquery",
    before: "SELECT t.k, x.w FROM t, LATERAL (SELECT w FROM u WHERE u.k < t.k ORDER BY w LIMIT 2) x",
    after:
      "SELECT t.k, x.w FROM t JOIN (SELECT k, w, row_number() OVER (PARTITION BY k ORDER BY w) AS i FROM u) x ON x.k = t.k AND i <= 2",
  },
  {
    code: "unnamed_column",
    before: "SELECT k FROM t UNION BY NAME SELECT w + 1 FROM u",
    after: "SELECT k FROM t UNION BY NAME SELECT w + 1 AS w FROM u",
  },
  {
    code: "ambiguous_alias",
    before: "SELECT g + 1 AS k, count(*) AS n FROM t GROUP BY g, t.k HAVING k > 2",
    after: "SELECT g + 1 AS j, count(*) AS n FROM t GROUP BY g, t.k HAVING t.k > 2",
  },
  {
    code: "recursive_nested",
    before:
      "WITH RECURSIVE r(n) AS (SELECT a FROM edges UNION SELECT m FROM (WITH RECURSIVE q(m) AS (SELECT n FROM r UNION SELECT m + 1 FROM q WHERE m < 3) SELECT m FROM q) y) SELECT n FROM r",
    after:
      "WITH RECURSIVE q(m) AS (SELECT b FROM edges UNION SELECT m + 1 FROM q WHERE m < 3), r(n) AS (SELECT a FROM edges UNION SELECT m FROM r JOIN q ON m = n + 1) SELECT n FROM r",
  },
  {
    code: "lateral",
    before: "SELECT t.k, x.w FROM t, LATERAL (SELECT DISTINCT w FROM u WHERE u.k < t.k) x",
    after: "SELECT DISTINCT t.k, u.w FROM t JOIN u ON u.k < t.k",
  },
  {
    code: "table_function",
    before: "SELECT t.k, x.value FROM t, json_each('[1, 2]') x",
    after: "SELECT t.k, u.w FROM t, u",
  },
  {
    code: "scalar_subquery",
    before: "SELECT k, (SELECT approx_count_distinct(w) FROM u WHERE u.k = t.k) AS n FROM t",
    after:
      "SELECT t.k, coalesce(x.n, 0) AS n FROM t LEFT JOIN (SELECT k, approx_count_distinct(w) AS n FROM u GROUP BY k) x USING (k)",
  },
  {
    code: "unnamed_fields",
    before: "SELECT g, arg_max((k, v), ts)[1] AS k FROM t GROUP BY g",
    after: "SELECT g, arg_max({'k': k, 'v': v}, ts).k AS k FROM t GROUP BY g",
  },
  {
    code: "state_type",
    before: "SELECT g, CAST(max(union_value(n := k)) AS VARCHAR) AS m FROM t GROUP BY g",
    after: "SELECT g, max(CAST(union_value(n := k) AS VARCHAR)) AS m FROM t GROUP BY g",
  },
  {
    code: "export_state",
    before: "SELECT g, finalize(sum(k) EXPORT_STATE) AS s FROM t GROUP BY g",
    after: "SELECT g, sum(k) AS s FROM t GROUP BY g",
  },
];

/** Remedies that have no pair above, with the reason. */
export const WITHOUT_PAIR: Readonly<Record<string, string>> = {
  plan_too_large: "test/refresh/plan-size.test.ts",
  recursion_lost: "the advice is about the rows, not the query",
  recursive_columns: "DuckDB refuses the query itself",
  recursive_type: "the lake has every type that a column of a view can have, today",
  join_form: "no join of DuckDB 1.5 is left without a rule",
  set_operation: "no set operation of DuckDB 1.5 is left without a rule",
  grouped_unnest: "DuckDB refuses the query itself",
  grouping_function: "DuckDB refuses the query itself",
  ungrouped_column: "DuckDB refuses the query itself",
};
