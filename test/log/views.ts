/** Views of many kinds over two small tables, and changes of these. */
import type { ViewDefinition } from "../../src/index.js";

export const TABLES: readonly string[] = [
  "CREATE TABLE t (id INTEGER, g VARCHAR, v INTEGER, d DECIMAL(38, 4), w DOUBLE)",
  "CREATE TABLE u (g VARCHAR, label VARCHAR)",
  "INSERT INTO t SELECT i, 'g' || (i % 5), i % 7, i * 1.25, i / 4 FROM range(30) r(i)",
  "INSERT INTO u SELECT 'g' || (i % 6), 'label ' || (i % 4) FROM range(8) r(i)",
];

/** A view of one kind; `p` varies its query but not its columns. */
type Kind = (p: number) => { readonly sql: string; readonly primaryKey?: readonly string[] };

export const KINDS: readonly Kind[] = [
  (p) => ({ sql: `SELECT g, sum(v + ${p}) AS s, count(*) AS n FROM t GROUP BY g` }),
  (p) => ({ sql: `SELECT g, count(*) AS n, sum(d) AS d FROM t GROUP BY g HAVING count(*) > ${2 + (p % 5)}` }),
  (p) => ({ sql: `SELECT v % ${2 + (p % 3)} AS m, g, max(v) AS most FROM t GROUP BY ALL` }),
  // The group's own column is not visible, so rows have copies.
  (p) => ({ sql: `SELECT count(*) AS n, sum(v) % ${2 + p} AS s FROM t GROUP BY g` }),
  (p) => ({ sql: `SELECT g, v FROM t WHERE v % 3 <> ${p % 3}` }),
  (p) => ({ sql: `SELECT nullif(v, ${p % 7}) AS x, g FROM t` }),
  (p) => ({ sql: `SELECT DISTINCT g, v % ${2 + (p % 3)} AS m FROM t` }),
  (p) => ({ sql: `SELECT id, g, v FROM t ORDER BY v DESC NULLS LAST, id LIMIT ${3 + p}` }),
  (p) => ({ sql: `SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY s DESC NULLS LAST, g LIMIT ${1 + (p % 4)}` }),
  (p) => ({
    sql: `SELECT id, v::HUGEINT * 100000000000000000000::HUGEINT + ${p} AS huge, INTERVAL (v) HOUR + INTERVAL (id) MICROSECOND AS span,
            d, [v, NULL, ${p}] AS list, {'a': v, 'b c': g, 'h': v::HUGEINT} AS nested, MAP {coalesce(g, ''): v} AS m,
            g::BLOB AS bytes, (v % 2 = 0) AS even, DATE '2020-01-01' + v AS day, w FROM t`,
  }),
  (p) => ({
    sql: `SELECT (v + ${p})::UHUGEINT AS u, (v % 4)::BIT AS bits, TIME '10:00:00' + INTERVAL (v) MINUTE AS clock,
            (CASE WHEN v % 2 = 0 THEN 'even' ELSE 'odd' END)::ENUM('even', 'odd') AS parity, count(*) AS n FROM t GROUP BY ALL`,
  }),
  (p) => ({ sql: `SELECT v AS weight, g AS "a ""b""; c", count(*) + ${p} AS "Order" FROM t GROUP BY ALL` }),
  (p) => ({ sql: `SELECT t.id, label, v + ${p} AS v FROM t JOIN u USING (g)` }),
  (p) => ({ sql: `SELECT t.g, label, count(t.v) AS n FROM u LEFT JOIN t ON t.g = u.g AND v > ${p % 6} GROUP BY ALL` }),
  (p) => ({ sql: `SELECT id, g, v * ${1 + p} AS v FROM t`, primaryKey: ["id"] }),
  (p) => ({ sql: `SELECT count(*) AS n, sum(v) AS s, ${p} AS p FROM t` }),
  (p) => ({ sql: `SELECT g, v FROM t WHERE v > ${1_000 + p}` }),
  (p) => ({ sql: `SELECT repeat(g, 1500) AS long, id + ${p} AS id FROM t` }),
];

/** Names that are hard on file systems, URLs and SQL. */
export const NAMES: readonly string[] = [
  "plain",
  "with space",
  "a/b%20c",
  "quote'and\"quote",
  "größe ✓",
  `${"long ".repeat(18)}name`,
  "..",
  "k=v&x?#[1]*",
];

export function viewOf(name: string, kind: number, p: number): ViewDefinition {
  const chosen = KINDS[kind % KINDS.length];
  if (chosen === undefined) throw new Error("there are kinds");
  return { name, ...chosen(p) };
}

/** Changes of the tables; each number gives another one. Ids stay unique. */
export function writesOf(number: number, nextId: number): readonly string[] {
  const pick = (count: number, salt: number): number => ((number * 2_654_435_761 + salt * 40_503) >>> 8) % count;
  const all: readonly string[] = [
    `INSERT INTO t SELECT ${nextId} + i, CASE WHEN i % 4 = 3 THEN NULL ELSE 'g' || ((i + ${pick(5, 1)}) % 7) END,
       CASE WHEN i % 5 = 4 THEN NULL ELSE ${pick(9, 2)} - i END, i * 0.5, i / 4 FROM range(${1 + pick(14, 3)}) r(i)`,
    `DELETE FROM t WHERE id % ${3 + pick(9, 4)} = ${pick(3, 5)}`,
    `UPDATE t SET v = v + ${1 + pick(3, 6)} WHERE id % ${2 + pick(6, 7)} = 0`,
    `UPDATE t SET g = 'g' || ((id + ${pick(5, 8)}) % 6) WHERE v % ${2 + pick(5, 9)} = 0`,
    `INSERT INTO u VALUES ('g${pick(7, 10)}', 'label ${pick(4, 11)}'), (NULL, 'none')`,
    `DELETE FROM u WHERE label = 'label ${pick(4, 12)}'`,
    // Brings rows back that were there before.
    `UPDATE t SET v = v - 1 WHERE g = 'g${pick(5, 13)}'`,
    ...(pick(25, 14) === 0 ? ["DELETE FROM t"] : []),
  ];
  const first = pick(all.length, 15);
  return [0, 1, 2].slice(0, 1 + pick(3, 16)).map((offset) => all[(first + offset * 3) % all.length] ?? "");
}
