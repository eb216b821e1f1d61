/** Definitions for which every part has an incremental rule, by what they show. */

export const TABLES = {
  t: {
    a: "INTEGER",
    b: "INTEGER",
    s: "STRUCT(x INTEGER, y VARCHAR)",
    l: "INTEGER[]",
    v: "VARCHAR",
    d: "DECIMAL(10,2)",
    ts: "TIMESTAMP",
  },
  u: { a: "INTEGER", c: "INTEGER" },
  w: { a: "INTEGER", c: "INTEGER" },
};

/** Rows for them: few values, copies, and a NULL in every column. */
export function rowsOf(schema: string, seed: number): string[] {
  const pick = (number: number, values: string): string =>
    `(${values})[1 + (hash(i, ${seed + number}) % len(${values}))::BIGINT]`;
  return [
    `INSERT INTO lake.${schema}.t SELECT
       ${pick(1, "[0, 1, 2, 3, NULL]")}, ${pick(2, "[0, 1, 2, 3, NULL]")},
       ${pick(3, "[{'x': 1, 'y': 'p'}, {'x': 2, 'y': 'Q'}, {'x': NULL, 'y': NULL}, NULL]")},
       ${pick(4, "[[1, 2], [2, 3, 3], [], [NULL], NULL]")}, ${pick(5, "['v', 'V1', 'it''s', '', NULL]")},
       ${pick(6, "[0.01, 12.5, -3.99, NULL]")}::DECIMAL(10,2),
       ${pick(7, "[TIMESTAMP '2020-01-01 10:00:00', TIMESTAMP '2020-02-29 23:59:59.5', NULL]")}
     FROM range(24) r(i)`,
    `INSERT INTO lake.${schema}.u SELECT ${pick(11, "[0, 1, 2, 3, NULL]")}, ${pick(12, "[0, 1, 2, 5, NULL]")} FROM range(12) r(i)`,
    `INSERT INTO lake.${schema}.w SELECT ${pick(21, "[1, 2, 3, 4, NULL]")}, ${pick(22, "[0, 1, 2, NULL]")} FROM range(10) r(i)`,
  ];
}

export const NAMES = {
  "qualified and unqualified columns": "SELECT a, t.b, lake.main.t.v, main.t.d FROM t",
  "names without regard to case": 'SELECT T.A, "b", B AS "Case" FROM "T"',
  "a table's alias": "SELECT x.a, b FROM t AS x",
  "aliases for columns": "SELECT p, x.q, s FROM t AS x(p, q)",
  "fields of structs": "SELECT s.x, t.s.y, main.t.s.x AS z, (s).y, struct_extract(s, 'x'), s['y'] FROM t",
  "an alias that a later item uses": "SELECT a AS x, x + 1 AS y, x * y AS z FROM t",
  "an alias in WHERE": "SELECT a + 1 AS x FROM t WHERE x > 2",
  "a column before an alias in WHERE": "SELECT b AS a FROM t WHERE a > 1",
  "a column before an alias in a later item": "SELECT b AS a, a + 1 AS y FROM t",
  "a column before an alias in GROUP BY": "SELECT a + 1 AS a, count(*) FROM t GROUP BY a",
  "an alias in GROUP BY": "SELECT a + b AS x, count(*) FROM t GROUP BY x",
  "an alias in HAVING": "SELECT b, count(*) AS n FROM t GROUP BY b HAVING n > 2",
  "a grouped column before an alias in HAVING": "SELECT b AS a, count(*) FROM t GROUP BY a, b HAVING a > 1",
  "an alias in QUALIFY": "SELECT a, c, rank() OVER (PARTITION BY a ORDER BY c) AS r FROM u QUALIFY r = 1",
  "an alias of an aggregate that a later item uses": "SELECT count(*) AS n, n + 1 AS m FROM t",
  "lambdas, whose parameters hide columns": "SELECT list_transform(l, lambda a: a + b) FROM t",
  "lambdas with two parameters":
    "SELECT list_filter(l, lambda x, i: i > a), list_transform(l, lambda b, i: b * i + a) FROM t",
  "lambdas in lambdas": "SELECT list_transform([l, [a]], lambda x: list_transform(x, lambda y: y + len(x) + a)) FROM t",
  "list comprehensions": "SELECT [x + a FOR x IN l IF x > 1] FROM t",
  "lambdas over structs": "SELECT list_transform([s], lambda s: s.y) FROM t",
  "method calls": "SELECT v.upper(), v.upper().lower(), l.list_transform(lambda x: x + b) FROM t",
};

export const STARS = {
  "all columns": "SELECT * FROM t",
  "all columns of one table": "SELECT u.*, w.c FROM u, w",
  "without some": "SELECT * EXCLUDE (A, s), t.* EXCLUDE b FROM t",
  "with others in their places": "SELECT * REPLACE (a + 1 AS a, upper(v) AS V) FROM t",
  both: "SELECT * EXCLUDE (s, l) REPLACE (b + a AS a) FROM t",
  "over USING": "SELECT * FROM t JOIN u USING (a)",
  "of one side of USING": "SELECT u.*, w.* FROM u JOIN w USING (a)",
  "without the merged column": "SELECT * EXCLUDE (a) FROM u JOIN w USING (a)",
  "over USING of three": "SELECT * FROM t JOIN u USING (a) JOIN w USING (a)",
  "over LEFT USING of three": "SELECT * FROM t LEFT JOIN u USING (a) LEFT JOIN w USING (a)",
  "over FULL USING of three": "SELECT * FROM t FULL JOIN u USING (a) FULL JOIN w USING (a)",
  "over RIGHT and INNER USING": "SELECT * FROM t RIGHT JOIN u USING (a) JOIN w USING (a)",
  "FROM first": "FROM t",
};

export const JOINS = {
  "by comma": "SELECT t.b, u.c FROM t, u WHERE t.a = u.a",
  "inner, by a condition": "SELECT t.b, u.c FROM t JOIN u ON t.a < u.c AND u.a > 0",
  cross: "SELECT t.a, u.c FROM t CROSS JOIN u",
  "a table with itself": "SELECT x.a, y.b FROM t x JOIN t y ON x.a = y.b",
  "by USING": "SELECT a, u.a AS ua, t.b, c FROM t JOIN u USING (a)",
  "by USING two columns": "SELECT a, c FROM u JOIN w USING (a, c)",
  "by USING of three": "SELECT a, t.b, u.c, w.c FROM t JOIN u USING (a) JOIN w USING (a)",
  NATURAL: "SELECT * FROM u NATURAL JOIN w",
  "NATURAL FULL": "SELECT * FROM u NATURAL FULL JOIN w",
  LEFT: "SELECT t.b, u.c FROM t LEFT JOIN u ON t.a = u.a AND t.b > 0",
  RIGHT: "SELECT t.b, u.c FROM t RIGHT JOIN u ON t.a = u.a",
  FULL: "SELECT t.b, u.c FROM t FULL JOIN u ON t.a = u.a",
  "LEFT USING": "SELECT a, u.a AS ua, w.a AS wa FROM u LEFT JOIN w USING (a)",
  "RIGHT USING": "SELECT a, u.a AS ua, w.a AS wa FROM u RIGHT JOIN w USING (a)",
  "FULL USING": "SELECT a, u.a AS ua, w.a AS wa FROM u FULL JOIN w USING (a)",
  "SEMI and ANTI": "SELECT a, b FROM t SEMI JOIN u USING (a) ANTI JOIN w ON t.b = w.c",
  "an outer join on the right of another": "SELECT t.a, w.c FROM t LEFT JOIN (u LEFT JOIN w ON u.a = w.a) ON t.a = u.c",
  "a condition over three tables": "SELECT t.a FROM t JOIN u ON t.a = u.a JOIN w ON w.c = t.b + u.c",
  ASOF: "SELECT t.b, x.c FROM t ASOF JOIN (SELECT a, c, count(*) FROM u GROUP BY a, c) x ON t.a = x.a AND t.b >= x.c",
  "ASOF, the other way round":
    "SELECT t.b, x.c FROM t ASOF LEFT JOIN (SELECT DISTINCT a, c FROM u) x ON x.c > t.b AND x.a = t.a",
  "ASOF without a key": "SELECT t.b, x.c FROM t ASOF JOIN (SELECT DISTINCT c FROM u) x ON t.b < x.c",
  "with NULL of no type of its own":
    "SELECT t.b, q.* FROM t LEFT JOIN (SELECT NULL AS m, a AS z FROM u) q ON t.a = q.z",
};

export const SUBQUERIES = {
  "in FROM": "SELECT x.p + 1 FROM (SELECT a AS p FROM t WHERE b > 0) AS x",
  "in FROM with aliases for columns": "SELECT p, x.q FROM (SELECT a, b FROM t) AS x(p, q)",
  "in FROM without a name": "SELECT subquery.a FROM (SELECT a FROM t) AS subquery JOIN (SELECT c FROM u) ON a = c",
  "a CTE used twice": "WITH x AS (SELECT a, b FROM t) SELECT x.b, y.b FROM x JOIN x AS y ON x.a = y.a",
  "a CTE over a CTE, with aliases for columns":
    "WITH x(p, q) AS (SELECT a, b FROM t), y AS (SELECT p FROM x) SELECT y.p, x.q FROM y, x WHERE y.p = x.q",
  "a CTE in a subquery that hides an outer one":
    "WITH x AS (SELECT a FROM t) SELECT a FROM (WITH x AS (SELECT c AS a FROM u) SELECT a FROM x) UNION ALL SELECT a FROM x",
  "a CTE with a table's name": "WITH u AS (SELECT a FROM t) SELECT * FROM u",
  "a CTE that reads the table of its own name": "WITH t AS (SELECT a FROM t WHERE b > 0) SELECT * FROM t",
  "a materialized CTE": "WITH x AS MATERIALIZED (SELECT a FROM t) SELECT * FROM x",
  IN: "SELECT a, b FROM t WHERE a IN (SELECT c FROM u)",
  "NOT IN with a NULL among the rows": "SELECT a FROM t WHERE a NOT IN (SELECT c FROM u)",
  "NOT IN without one": "SELECT a FROM t WHERE a NOT IN (SELECT c FROM u WHERE c IS NOT NULL)",
  "NOT IN of two columns": "SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT a, c FROM u)",
  "NOT IN of two columns without NULLs":
    "SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT a, c FROM u WHERE a IS NOT NULL AND c IS NOT NULL)",
  "NOT IN of two columns over no rows": "SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT a, c FROM u WHERE c > 100)",
  "not equal to ALL of two columns": "SELECT a, b FROM t WHERE (a, b) <> ALL (SELECT a, c FROM u WHERE c > 1)",
  "IN and NOT IN of two columns as values":
    "SELECT a, b, (a, b) IN (SELECT a, c FROM u) AS x, (a, b) NOT IN (SELECT c, a FROM u WHERE c < 3) AS y FROM t",
  "NOT IN over no rows": "SELECT a FROM t WHERE a NOT IN (SELECT c FROM u WHERE c > 100)",
  "two columns IN": "SELECT a FROM t WHERE (a, b) IN (SELECT a, c FROM u)",
  "IN with a condition on the outer row": "SELECT a FROM t WHERE a IN (SELECT c FROM u WHERE u.a = t.b)",
  "NOT IN with a condition on the outer row": "SELECT a FROM t WHERE a NOT IN (SELECT c FROM u WHERE u.a = t.b)",
  "greater than ANY": "SELECT a FROM t WHERE a > ANY (SELECT c FROM u WHERE c > 1)",
  "greater than ALL": "SELECT a FROM t WHERE a >= ALL (SELECT c FROM u WHERE c < 3)",
  "not greater than ANY": "SELECT a FROM t WHERE NOT (a > ANY (SELECT c FROM u WHERE c > 1))",
  EXISTS: "SELECT a, b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.c > t.b)",
  "NOT EXISTS": "SELECT a, b FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.c > t.b)",
  "EXISTS without a condition": "SELECT a FROM t WHERE EXISTS (FROM u WHERE c > 4)",
  "EXISTS in EXISTS":
    "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.a = u.a) AND u.a = t.b)",
  "EXISTS over a join": "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u JOIN w USING (a) WHERE a = t.b)",
  "EXISTS over a merged column": "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u FULL JOIN w USING (a) WHERE a = t.b)",
  "several of them":
    "SELECT a FROM t WHERE a IN (SELECT a FROM u) AND NOT EXISTS (SELECT 1 FROM w WHERE w.c = t.b) AND b > 0",
  "a scalar of one row": "SELECT a FROM t WHERE b >= (SELECT c FROM u WHERE c = 5 AND a = 0 GROUP BY c)",
  "a scalar of distinct rows": "SELECT a, (SELECT DISTINCT c FROM u WHERE c = 2) AS x FROM t",
  "a scalar of no row": "SELECT a, (SELECT c FROM u WHERE c > 100) AS x FROM t",
  "a scalar of the first row": "SELECT a, (SELECT c FROM u ORDER BY c DESC NULLS LAST, a LIMIT 1) AS x FROM t",
  "a correlated scalar of one row":
    "SELECT t.a, (SELECT x.n + 1 FROM (SELECT a, count(*) AS n FROM u GROUP BY a) AS x WHERE x.a = t.a) AS z FROM t",
  "a correlated scalar above GROUP BY":
    "SELECT a, count(*) AS n, (SELECT max(c) FROM u WHERE u.a = t.a) AS m FROM t GROUP BY a",
  "a correlated scalar above GROUP BY, of which nothing else is shown":
    "SELECT (SELECT count(*) FROM u WHERE u.a = t.a) AS m FROM t GROUP BY a, b",
  "a correlated scalar above GROUP BY ALL":
    "SELECT a, (SELECT sum(c) FROM u WHERE u.a = t.a) AS m, sum(b) AS s FROM t GROUP BY ALL",
  "a correlated scalar by an inequality above GROUP BY":
    "SELECT a, 1 + (SELECT count(*) FROM u WHERE u.a < t.a AND c > 0) AS n, min(b) AS b FROM t GROUP BY a",
  "a correlated scalar in HAVING":
    "SELECT a, sum(b) AS s FROM t GROUP BY a HAVING count(*) > (SELECT count(*) FROM u WHERE u.a = t.a)",
  "correlated EXISTS above GROUP BY and in HAVING":
    "SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND c = 1) AS e FROM t GROUP BY a HAVING NOT EXISTS (SELECT 1 FROM w WHERE w.a = t.a)",
  "a correlated scalar inside of an aggregate":
    "SELECT b, sum((SELECT count(*) FROM u WHERE u.a = t.a)) AS s FROM t GROUP BY b",
  "a correlated scalar above GROUP BY, and one inside of an aggregate":
    "SELECT a, max((SELECT min(c) FROM w WHERE w.a = t.b)) AS x, (SELECT min(c) FROM w WHERE w.a = t.a) AS y FROM t GROUP BY a",
  "a correlated scalar of distinct rows": "SELECT t.b, (SELECT DISTINCT u.a FROM u WHERE u.a = t.a) AS z FROM t",
  "a correlated scalar by an inequality": "SELECT b, (SELECT count(*) FROM u WHERE u.a < t.a AND c > 0) AS n FROM t",
  "a correlated scalar by several conditions":
    "SELECT b FROM t WHERE (SELECT sum(c) FROM u WHERE u.a = t.a AND u.c <> t.b) > 1",
  "a correlated scalar by OR":
    "SELECT b FROM t WHERE (SELECT count(*) FROM u WHERE (u.a = t.a AND u.c > 1) OR (u.a = t.a AND u.c = t.b)) > 0",
  "a correlated scalar by an outer value alone": "SELECT a, (SELECT max(c) FROM u WHERE t.b > 1) AS m FROM t",
  "a correlated scalar over a NULL-safe comparison":
    "SELECT b, (SELECT count(c) FROM u WHERE u.a IS NOT DISTINCT FROM t.a) AS n FROM t",
  "a correlated scalar over rows that a subquery picks":
    "SELECT b, (SELECT sum(c) FROM u WHERE u.a = t.a AND c IN (SELECT c FROM w)) AS n FROM t",
  "other aggregates in a correlated scalar":
    "SELECT b, (SELECT string_agg(c::VARCHAR, ',' ORDER BY c) FROM u WHERE u.a = t.a) AS n FROM t",
  "ALL as a value":
    "SELECT a, a > ALL (SELECT c FROM u WHERE c IS NOT NULL) AS x, a >= ALL (SELECT c FROM u) AS y FROM t",
  "ANY as a value": "SELECT a, b < ANY (SELECT c FROM u WHERE u.a = t.a) AS x, a = ANY (SELECT c FROM u) AS y FROM t",
  "ALL over no rows": "SELECT a, a > ALL (SELECT c FROM u WHERE c > 100) AS x FROM t",
  "not equal to ANY": "SELECT a FROM t WHERE a <> ANY (SELECT c FROM u WHERE u.a = t.b) OR b IS NULL",
  "a correlated IN as a value": "SELECT a, b IN (SELECT c FROM u WHERE u.a = t.a) AS x FROM t",
  "a correlated NOT IN below OR": "SELECT a FROM t WHERE b > 2 OR b NOT IN (SELECT c FROM u WHERE u.a = t.a)",
  "IN correlated by an inequality": "SELECT a, b IN (SELECT c FROM u WHERE u.a < t.a) AS x FROM t",
  "EXISTS by an inequality below OR": "SELECT a FROM t WHERE b = 0 OR EXISTS (SELECT 1 FROM u WHERE u.c > t.b)",
  "what both branches of OR ask for":
    "SELECT a FROM t WHERE (a IN (SELECT a FROM u) AND b > 1) OR (a IN (SELECT a FROM u) AND b < 1)",
  "EXISTS whose branches of OR share an equality":
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE (u.a = t.a AND c = 1) OR (u.a = t.a AND c = 2))",
  "an inner column before an outer one": "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE a = t.b)",
};

export const GROUPS = {
  "by a column": "SELECT a, count(*), count(b), sum(b), min(v), max(ts) FROM t GROUP BY a",
  "by an expression": "SELECT a + 1, count(*) FROM t GROUP BY a + 1 HAVING a + 1 > 1",
  "by an expression used in a larger one": "SELECT (a + 1) * 2, count(*) FROM t GROUP BY a + 1",
  "by place": "SELECT a, b % 2, count(*) FROM t GROUP BY 1, 2",
  "by a constant": "SELECT 'k' AS k, count(*) FROM t GROUP BY k",
  "by ALL": "SELECT a, b % 2 AS m, sum(b) + count(*) FROM t GROUP BY ALL",
  "by ALL without an aggregate": "SELECT a, b FROM t GROUP BY ALL",
  "by ALL with nothing but aggregates": "SELECT count(*) FROM t GROUP BY ALL",
  "by a column that is not shown": "SELECT count(*) FROM t GROUP BY a",
  "by nothing": "SELECT count(*), sum(b), avg(b) FROM t",
  "by nothing, over no rows": "SELECT count(*), sum(b), max(v) FROM t WHERE a > 100",
  "by ()": "SELECT count(*) FROM t GROUP BY ()",
  "HAVING without GROUP BY": "SELECT 1 AS one FROM t HAVING count(*) > 1",
  "HAVING an aggregate that is not shown": "SELECT a FROM t GROUP BY a HAVING max(b) > 2 OR bool_or(v IS NULL)",
  "expressions over aggregates": "SELECT a, sum(b) / count(*) + 1 AS x, coalesce(max(b), -1) FROM t GROUP BY a",
  FILTER: "SELECT a, count(*) FILTER (WHERE b > 1), sum(b) FILTER (WHERE v IS NOT NULL) FROM t GROUP BY a",
  "DISTINCT inside": "SELECT a, count(DISTINCT b), sum(DISTINCT b) FROM t GROUP BY a",
  "aggregates in an order":
    "SELECT a, string_agg(v, ',' ORDER BY v DESC) FILTER (WHERE v <> ''), list(b ORDER BY b) FROM t GROUP BY a",
  others: "SELECT a, median(b), quantile_cont(b, 0.25), bool_and(b > 0), bit_or(b) FROM t GROUP BY a",
  "structs that differ in their fields' names alone":
    "SELECT max({'p': a, 'q': b}).p AS x, max({'q': a, 'p': b}).p AS y FROM t WHERE a IS NOT NULL AND b IS NOT NULL",
  DISTINCT: "SELECT DISTINCT a, b FROM t",
  "DISTINCT of aggregates": "SELECT DISTINCT count(*) FROM t GROUP BY a, b",
  "groups of groups": "SELECT n, count(*) FROM (SELECT a, count(*) AS n FROM t GROUP BY a) GROUP BY n",
  "groups of a join": "SELECT t.b, sum(u.c) FROM t JOIN u USING (a) GROUP BY t.b",
};

export const WINDOWS = {
  "rank and totals": "SELECT a, c, rank() OVER (PARTITION BY a ORDER BY c), sum(c) OVER (PARTITION BY a) FROM u",
  "two partitionings": "SELECT a, count(*) OVER (PARTITION BY a), count(*) OVER (PARTITION BY c) FROM u",
  named: "SELECT a, rank() OVER q FROM u WINDOW q AS (PARTITION BY a ORDER BY c DESC)",
  frames: "SELECT sum(c) OVER (PARTITION BY a ORDER BY c RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM u",
  FILTER: "SELECT a, count(*) FILTER (WHERE c > 1) OVER (PARTITION BY a) FROM u",
  "over groups": "SELECT a, sum(sum(c)) OVER (PARTITION BY a % 2) FROM u GROUP BY a",
  QUALIFY: "SELECT a, c FROM u QUALIFY dense_rank() OVER (PARTITION BY a ORDER BY c) = 1",
  "in an expression": "SELECT c - min(c) OVER (PARTITION BY a) AS x FROM u",
};

export const SET_OPERATIONS = {
  "UNION ALL": "SELECT a FROM u UNION ALL SELECT c FROM w",
  "UNION ALL of three types": "SELECT a FROM u UNION ALL SELECT d FROM t UNION ALL SELECT NULL",
  UNION: "SELECT a, c FROM u UNION SELECT a, c FROM w",
  "UNION of three": "SELECT a FROM u UNION SELECT a FROM w UNION SELECT c FROM w",
  "UNION ALL of a UNION": "(SELECT a FROM u UNION SELECT a FROM w) UNION ALL SELECT a FROM w",
  "UNION BY NAME": "SELECT a, c FROM u UNION BY NAME SELECT c, a FROM w",
  "UNION ALL BY NAME, with columns that one side lacks": "SELECT a, c FROM u UNION ALL BY NAME SELECT c, 1 AS z FROM w",
  EXCEPT: "SELECT a FROM u EXCEPT SELECT a FROM w",
  "EXCEPT ALL": "SELECT a FROM u EXCEPT ALL SELECT a FROM w",
  INTERSECT: "SELECT a FROM u INTERSECT SELECT a FROM w",
  "INTERSECT ALL": "SELECT a, c FROM u INTERSECT ALL SELECT a, c FROM w",
  "EXCEPT of different types": "SELECT a FROM u EXCEPT SELECT d FROM t",
  "with an order": "SELECT a FROM u UNION ALL SELECT a FROM w ORDER BY a",
};

export const CONSTANTS = {
  "rows without a table": "SELECT 1 AS x, 'a' AS y",
  VALUES: "VALUES (1, 'a'), (2, NULL)",
  "VALUES with names, joined": "SELECT v.q, t.b FROM (VALUES (1, 'x'), (2, 'y')) AS v(p, q) JOIN t ON t.a = v.p",
  range: "SELECT r.i, t.a FROM range(3) AS r(i), t WHERE t.a >= r.i",
  generate_series: "SELECT generate_series + 1 FROM generate_series(1, 3)",
  "literals of many types":
    "SELECT 1, -1.50, 1e3, 0.5e-3, 123456789012345678901234567890, 18446744073709551615, 'it''s', '', TRUE, NULL, DATE '2020-02-29', TIMESTAMP '2020-01-01 00:00:00.123', INTERVAL 3 DAY, '\\xAA'::BLOB, [1, NULL], {'k': 1}, MAP {'k': 1} FROM u",
};

export const EXPRESSIONS = {
  operators: "SELECT a + b * 2 - 1, a // 2, a % 2, -a, a ** 2, ~a, a & b, a << 1, v || 'x', NOT (a = b), a <> b FROM t",
  conditions:
    "SELECT a BETWEEN 1 AND b, a IN (1, 2, b), a NOT IN (1, NULL), v IS NULL, v LIKE 'v%' ESCAPE '$', v ILIKE '_1', v SIMILAR TO '[a-z]', a IS DISTINCT FROM b, (a, b) = (1, 2) FROM t",
  CASE: "SELECT CASE WHEN a > 1 THEN 'x' WHEN b IS NULL THEN v ELSE 'z' END, CASE a WHEN 1 THEN 2 END FROM t",
  casts: "SELECT a::VARCHAR, CAST(d AS DOUBLE), TRY_CAST(v AS INTEGER), ts::DATE, b::DECIMAL(5,2), l::VARCHAR[] FROM t",
  dates: "SELECT extract(hour FROM ts), date_trunc('month', ts), ts + INTERVAL 1 DAY, ts AT TIME ZONE 'UTC' FROM t",
  lists: "SELECT l[1], l[1:2], l[-1], len(l), list_contains(l, a), l || [a] FROM t",
  "structs and maps":
    "SELECT {'p': a, 'q': s.x}, row(a, b), MAP {v: a}['v'], struct_pack(k := a) FROM t WHERE v IS NOT NULL",
  collations: "SELECT v FROM t WHERE v COLLATE NOCASE = 'V'",
  "rows for each element of a list": "SELECT a, unnest(l) AS x FROM t",
  "rows for each element, of which none is used": "SELECT a FROM (SELECT a, unnest(l) AS x FROM t)",
  "groups of elements": "SELECT x, median(b), count(*) FROM (SELECT unnest(l) AS x, b FROM t) GROUP BY x",
};

export const TIME = {
  "rows that enter": "SELECT a, b FROM t WHERE ts < now()",
  "rows that leave": "SELECT a, b FROM t WHERE ts > now() - INTERVAL 40 DAY AND b > 0",
  "rows that enter or leave, by OR":
    "SELECT a FROM t WHERE ts > now() - INTERVAL 40 DAY OR b % 2 = month(current_date) % 2",
  "all other names of the time":
    "SELECT a FROM t WHERE ts::DATE < current_date AND ts < current_timestamp AND ts <= localtimestamp AND age(ts) > INTERVAL 1 DAY AND today() > DATE '2020-01-01'",
  "a condition on the time alone": "SELECT a FROM t WHERE now() > TIMESTAMPTZ '2020-02-15 00:00:00+00'",
  NOT: "SELECT a FROM t WHERE NOT (ts < now())",
  "groups of what is recent": "SELECT a, count(*), sum(b) FROM t WHERE ts > now() - INTERVAL 40 DAY GROUP BY a",
  HAVING: "SELECT a, count(*) FROM t GROUP BY a HAVING max(ts) < now()",
  QUALIFY: "SELECT a, b FROM t QUALIFY max(ts) OVER (PARTITION BY a) < now()",
  "the condition of an inner join": "SELECT t.b, c FROM t JOIN u ON t.a = u.a AND t.ts < now()",
  "both sides of an outer join":
    "SELECT x.b, y.b FROM (SELECT * FROM t WHERE ts < now()) x FULL JOIN (SELECT * FROM t WHERE ts > now() - INTERVAL 40 DAY) y USING (a)",
  "a join with itself": "SELECT x.b FROM t x JOIN t y USING (a) WHERE x.ts < now() AND y.ts > now() - INTERVAL 40 DAY",
  "EXISTS and NOT IN":
    "SELECT a FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.a = u.a AND ts < now()) AND c NOT IN (SELECT b FROM t WHERE ts > now() - INTERVAL 40 DAY)",
  "a scalar subquery": "SELECT a FROM u WHERE c > (SELECT count(*) / 8 FROM t WHERE ts < now())",
  "set operations": "SELECT a FROM t WHERE ts < now() EXCEPT ALL SELECT a FROM t WHERE ts > now() - INTERVAL 40 DAY",
  "above and below a LIMIT":
    "SELECT a FROM (SELECT a, b, ts FROM t WHERE ts < now() ORDER BY a, b, ts LIMIT 5) WHERE ts > now() - INTERVAL 40 DAY",
  "constant rows": "SELECT d FROM (VALUES (DATE '2020-02-10'), (DATE '2020-04-01')) AS v(d) WHERE d < current_date",
};

export const PIVOTS = {
  PIVOT: "PIVOT t ON v IN ('v', 'V1') USING sum(b)",
  "PIVOT with groups": "PIVOT (SELECT a, b, v FROM t) ON v IN ('v', '') USING sum(b) GROUP BY a",
  "PIVOT without an aggregate": "PIVOT (SELECT a, b, v FROM t) ON v IN ('v', 'V1') GROUP BY a",
  "PIVOT with several aggregates": "PIVOT t ON a IN (1, 2) USING sum(b) AS s, count(*) AS n GROUP BY v",
  "PIVOT with aggregates without names": "PIVOT t ON a IN (1, 2) USING sum(b), max(v) GROUP BY d",
  "PIVOT on several columns": "PIVOT u ON a IN (0, 1), c IN (1, 2, 5) USING count(*)",
  "PIVOT on an expression": "PIVOT u ON a % 2 IN (0, 1) USING max(c)",
  "PIVOT without a group left": "PIVOT u ON a IN (0, 1) USING sum(c)",
  "PIVOT on NULL": "PIVOT u ON a IN (0, NULL) USING count(*)",
  "PIVOT of aggregates in expressions": "PIVOT t ON v IN ('v', 'V1') USING coalesce(sum(b), -1) AS x GROUP BY d",
  "PIVOT as the standard has it":
    "SELECT p.v, x_0_s + 1 AS z FROM t PIVOT (sum(b) AS s FOR a IN (1 AS x, 2) b IN (0) GROUP BY v) AS p",
  "PIVOT of a join, with names for the columns":
    "SELECT q, r FROM (SELECT t.a, u.c FROM t JOIN u USING (a)) PIVOT (count(*) FOR c IN (0, 1)) AS p(q, r)",
  UNPIVOT: "UNPIVOT u ON a, c INTO NAME n VALUE x",
  "UNPIVOT that keeps NULLs": "FROM u UNPIVOT INCLUDE NULLS (x FOR n IN (a AS first, c))",
  "UNPIVOT of different types": "UNPIVOT (SELECT v, a, d FROM t) ON a, d INTO NAME n VALUE x",
  "UNPIVOT of columns together": "UNPIVOT (SELECT v, a, b FROM t) ON (a, b) AS z, (b, a) INTO NAME n VALUE x, y",
  "UNPIVOT of a star": "UNPIVOT (SELECT v, a, b FROM t) ON COLUMNS(* EXCLUDE (v)) INTO NAME n VALUE x",
  "groups of an UNPIVOT": "SELECT n, count(*), sum(x) FROM (UNPIVOT u ON a, c INTO NAME n VALUE x) GROUP BY n",
};

export const LATERALS = {
  rows: "SELECT t.a, x.c FROM t, LATERAL (SELECT c FROM u WHERE u.a = t.a) AS x",
  "rows by any condition": "SELECT t.b, x.z FROM t, (SELECT u.c + t.b AS z FROM u WHERE u.a < t.a AND c > 0) AS x",
  "a star": "SELECT * FROM u, LATERAL (SELECT *, u.c + 1 AS d FROM w WHERE w.a = u.a) AS x(p, q)",
  "with a condition": "SELECT t.a, x.c FROM t JOIN LATERAL (SELECT c FROM u WHERE u.a = t.a) AS x ON x.c > t.b",
  "LEFT JOIN": "SELECT t.a, x.c FROM t LEFT JOIN LATERAL (SELECT c FROM u WHERE u.a = t.a) AS x ON x.c > 0",
  "LEFT JOIN on true":
    "SELECT t.a, x.z FROM t LEFT JOIN LATERAL (SELECT c * 2 AS z FROM u WHERE u.a = t.a) AS x ON true",
  aggregates: "SELECT t.b, x.n, x.s FROM t, LATERAL (SELECT count(*) AS n, sum(c) AS s FROM u WHERE u.a = t.a) AS x",
  "aggregates, picked":
    "SELECT t.b FROM t JOIN LATERAL (SELECT count(*) AS n, max(c) AS m FROM u WHERE u.a = t.a) AS x ON n = 0 OR m > t.b",
  "aggregates by an inequality":
    "SELECT t.b, x.m FROM t LEFT JOIN LATERAL (SELECT max(c) + 1 AS m FROM u WHERE u.a > t.a) AS x ON true",
  "elements of a list": "SELECT t.a, x.e FROM t, unnest(t.l) AS x(e)",
  "elements of a list, joined": "SELECT t.a, e, u.c FROM t CROSS JOIN unnest(l) AS x(e) JOIN u ON u.a = e",
  "elements in a subquery": "SELECT a, e + 1 FROM t, (SELECT unnest(l) AS e) AS x WHERE e > 1",
  "expressions in a subquery": "SELECT b, z FROM t, LATERAL (SELECT a + b AS z) AS x WHERE z > 2",
  "groups of elements": "SELECT e, count(*) FROM t, unnest(l) AS x(e) GROUP BY e",
  "numbers up to a column": "SELECT a, i FROM t, generate_series(1, t.a) AS g(i)",
};

export const LIMITS = {
  "by columns": "SELECT a, b FROM t ORDER BY b DESC, a, v, d, ts LIMIT 7",
  "by columns that are not shown": "SELECT a FROM u ORDER BY c DESC NULLS FIRST, a LIMIT 3 OFFSET 2",
  "by place and by alias": "SELECT a AS x, c FROM u ORDER BY 2, x DESC LIMIT 4",
  "by ALL": "SELECT c, a FROM u ORDER BY ALL LIMIT 4",
  "by ALL, descending": "SELECT * FROM u ORDER BY ALL DESC NULLS LAST LIMIT 4 OFFSET 1",
  "by ALL, of a union": "SELECT a FROM u UNION ALL SELECT c FROM w ORDER BY ALL LIMIT 5",
  "by ALL, of groups": "SELECT a, count(*) FROM u GROUP BY a ORDER BY ALL LIMIT 2",
  "by ALL, distinct": "SELECT DISTINCT c FROM u ORDER BY ALL DESC LIMIT 2",
  "below a join": "SELECT t.b, x.c FROM t JOIN (SELECT a, c FROM u ORDER BY ALL LIMIT 4) x USING (a)",
};
