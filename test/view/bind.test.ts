import { beforeAll, describe, expect, test } from "vitest";
import type { LakeObjects } from "../../src/catalog/tables.js";
import type { Session } from "../../src/engine/session.js";
import { DefinitionError } from "../../src/errors.js";
import { type Ast, subqueryTable, text, walkAst } from "../../src/sql/ast.js";
import { type FunctionCatalog, loadFunctions } from "../../src/sql/functions.js";
import { parseSelect, printStatement } from "../../src/sql/parse.js";
import { type BoundQuery, bindTables, replaceSources } from "../../src/view/bind.js";
import { memorySession } from "../sql/engine.js";

let session: Session;
let functions: FunctionCatalog;
beforeAll(async () => {
  session = await memorySession();
  await session.run("CREATE MACRO my_macro(x) AS x + 1");
  functions = await loadFunctions(session);
});

/** A lake with the tables main.Orders, main.items, main."odd name", raw.items, and some plain views. */
const TABLES = ["main.Orders", "main.items", "main.odd name", "raw.items", "raw.events"];
const PLAIN_VIEWS: Readonly<Record<string, { sql: string; aliases?: string }>> = {
  "main.open_orders": { sql: "SELECT * FROM orders WHERE open" },
  "main.named": { sql: "SELECT id, price FROM items", aliases: `"key", "cost"` },
  "main.nested": { sql: "SELECT * FROM open_orders JOIN named USING (key)" },
  "raw.recent": { sql: "SELECT * FROM items" },
  "main.round": { sql: "SELECT * FROM trip" },
  "main.trip": { sql: "SELECT * FROM round" },
  "main.noisy": { sql: "SELECT random() AS r FROM items" },
  "main.lost": { sql: "SELECT * FROM gone" },
};

function pathOf(path: string): [string, string] {
  const dot = path.indexOf(".");
  return [path.slice(0, dot), path.slice(dot + 1)];
}

const objects: LakeObjects = {
  table: (schema, name) => {
    const found = TABLES.find((path) => path.toLowerCase() === `${schema}.${name}`.toLowerCase());
    if (found === undefined) return undefined;
    const [ownSchema, table] = pathOf(found);
    return { schema: ownSchema, table, columns: [] };
  },
  view: (schema, name) => {
    const path = `${schema}.${name}`.toLowerCase();
    const found = PLAIN_VIEWS[path];
    const [ownSchema, view] = pathOf(path);
    return found === undefined ? undefined : { schema: ownSchema, view, sql: found.sql, aliases: found.aliases ?? "" };
  },
  hasSchema: (name) => ["main", "raw", "marts"].includes(name.toLowerCase()),
  names: TABLES,
};

interface Options {
  readonly views?: readonly string[];
  readonly schema?: string;
  readonly dropped?: readonly string[];
}

async function bind(sql: string, options: Options = {}): Promise<BoundQuery> {
  const origin = { view: "daily", file: "views/daily.sql" };
  const { views = [], schema = "main", dropped = [] } = options;
  const statement = await parseSelect(session, sql, origin);
  return bindTables({ session, objects, functions, views, schema, dropped }, statement, origin);
}

async function sources(sql: string, options: Options = {}): Promise<string[]> {
  return (await bind(sql, options)).sources.map((source) => `${source.kind} ${source.name}`);
}

async function failure(sql: string, options: Options = {}): Promise<DefinitionError> {
  const error = await bind(sql, options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DefinitionError)) throw new Error(`expected a DefinitionError, got ${String(error)}`);
  return error;
}

/** The bound statement as SQL. */
async function written(sql: string, options: Options = {}): Promise<string> {
  const { statement } = await bind(sql, options);
  return printStatement(
    session,
    replaceSources(statement, (_, node) => node),
  );
}

async function normal(sql: string): Promise<string> {
  return printStatement(session, await parseSelect(session, sql, { view: "v" }));
}

describe("the tables of a definition", () => {
  test.each([
    ["a plain name, in the schema main", "SELECT * FROM items", ["table main.items"]],
    ["without regard to case, under the catalog's spelling", "SELECT * FROM ORDERS", ["table main.Orders"]],
    ["with its schema", "SELECT * FROM raw.items", ["table raw.items"]],
    ["with the lake and its schema", "SELECT * FROM lake.raw.Events", ["table raw.events"]],
    ["with the lake alone", "SELECT * FROM lake.items", ["table main.items"]],
    ["a name that needs quotes", 'SELECT * FROM "odd name"', ['table main."odd name"']],
    [
      "each once, in the order of the text",
      "SELECT * FROM raw.items, orders o, orders p, raw.items",
      ["table raw.items", "table main.Orders"],
    ],
    [
      "in subqueries of all kinds",
      "SELECT (SELECT 1 FROM items) FROM (FROM orders) WHERE EXISTS (FROM raw.items) ORDER BY (SELECT 1 FROM raw.events)",
      ["table main.items", "table main.Orders", "table raw.items", "table raw.events"],
    ],
    [
      "on both sides of a union",
      "SELECT 1 FROM items UNION SELECT 1 FROM orders",
      ["table main.items", "table main.Orders"],
    ],
    ["none", "SELECT * FROM range(3)", []],
  ])("%s", async (_, sql, expected) => {
    expect((await sources(sql)).sort()).toEqual([...expected].sort());
  });

  test("of an ASOF join are compared without NULLs, which DuckDB may find partners for", async () => {
    const print = async (join: string) =>
      printStatement(
        session,
        replaceSources((await bind(`SELECT 1 FROM items i ${join}`)).statement, (_, node) => node),
      );
    const on = "orders o ON i.a = o.a AND i.b >= o.b";
    expect(await print(`ASOF LEFT JOIN ${on}`)).toContain("(i.b IS NOT NULL) AND (o.b IS NOT NULL)");
    for (const other of [`ASOF RIGHT JOIN ${on}`, "ASOF JOIN orders USING (a, b)", `LEFT JOIN ${on}`]) {
      expect(await print(other)).not.toContain("IS NOT NULL");
    }
  });

  test("are marked in the tree, which otherwise stays as it was", async () => {
    const { statement } = await bind("SELECT * FROM Items AS i");
    const tables: Ast[] = [];
    walkAst(statement, (node) => {
      if (node["type"] === "BASE_TABLE") tables.push(node);
      return undefined;
    });
    expect(tables).toMatchObject([{ ivm_source: "main.items", ivm_schema: "main", ivm_catalog: "lake", alias: "i" }]);
    expect(await written("SELECT i.a FROM Items AS i WHERE b > 1")).toBe(
      await normal("SELECT i.a FROM Items AS i WHERE b > 1"),
    );
  });

  test.each([
    ["SELECT * FROM nothing", "nothing"],
    ["SELECT * FROM raw.orders", "raw.orders"],
    ["SELECT * FROM other.main.items", "other.main.items"],
    ["SELECT * FROM (SELECT 1 FROM nothing)", "nothing"],
  ])("%s: a table that is not there is named", async (sql, name) => {
    const error = await failure(sql);
    expect(error.code).toBe("table_missing");
    expect(error.message).toContain(`View daily: the lake has no table or view ${name}.`);
    expect(error.subject).toEqual({ view: "daily", file: "views/daily.sql", table: name });
    expect(error.hint).toBeTruthy();
  });
});

describe("common table expressions", () => {
  test.each([
    ["hide tables of their name", "WITH items AS (SELECT 1 AS a) SELECT * FROM items", []],
    ["hide them without regard to case", "WITH Items AS (SELECT 1 AS a) SELECT * FROM ITEMS", []],
    [
      "do not hide a name with a schema",
      "WITH items AS (SELECT 1 AS a) SELECT * FROM items, main.items",
      ["table main.items"],
    ],
    ["see those before them", "WITH x AS (SELECT 1 AS a), y AS (SELECT * FROM x) SELECT * FROM y", []],
    [
      "read the table of their own name",
      "WITH items AS (SELECT * FROM items) SELECT * FROM items",
      ["table main.items"],
    ],
    [
      "do not see those behind them",
      "WITH x AS (SELECT * FROM items), items AS (SELECT 1 AS a) SELECT * FROM x",
      ["table main.items"],
    ],
    [
      "are seen in subqueries",
      "WITH items AS (SELECT 1 AS a) SELECT * FROM (SELECT * FROM items) WHERE EXISTS (FROM items)",
      [],
    ],
    [
      "are not seen outside of their query",
      "SELECT * FROM (WITH items AS (SELECT 1 AS a) SELECT * FROM items), items",
      ["table main.items"],
    ],
    [
      "are seen in both branches of a union",
      "WITH items AS (SELECT 1 AS a) SELECT * FROM items UNION ALL SELECT * FROM items",
      [],
    ],
    [
      "see themselves where they are recursive",
      "WITH RECURSIVE items AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM items WHERE a < 3) SELECT * FROM items",
      [],
    ],
    [
      "see all that they have so far by USING KEY",
      "WITH RECURSIVE r(a) USING KEY (a) AS (SELECT 1 UNION SELECT r.a + 1 FROM r JOIN recurring.r AS s USING (a) WHERE r.a < 3) SELECT * FROM r, main.items",
      ["table main.items"],
    ],
  ])("%s", async (_, sql, expected) => {
    expect(await sources(sql)).toEqual(expected);
  });
});

describe("plain views of the lake", () => {
  test.each([
    ["a name", "SELECT * FROM open_orders", "SELECT * FROM (SELECT * FROM orders WHERE open) AS open_orders"],
    ["an alias", "SELECT o.a FROM open_orders AS o", "SELECT o.a FROM (SELECT * FROM orders WHERE open) AS o"],
    [
      "aliases for columns",
      "SELECT * FROM open_orders AS o(p, q)",
      "SELECT * FROM (SELECT * FROM orders WHERE open) AS o(p, q)",
    ],
    [
      "names for its own columns",
      "SELECT * FROM named",
      "SELECT * FROM (SELECT * FROM (SELECT id, price FROM items) AS aliased(key, cost)) AS named",
    ],
    [
      "other views",
      "SELECT * FROM nested",
      "SELECT * FROM (SELECT * FROM (SELECT * FROM orders WHERE open) AS open_orders JOIN (SELECT * FROM (SELECT id, price FROM items) AS aliased(key, cost)) AS named USING (key)) AS nested",
    ],
  ])("are written out where they have %s", async (_, sql, expected) => {
    expect(await written(sql)).toBe(await normal(expected));
  });

  test("read the tables that their text names, not the common table expressions around them", async () => {
    expect(await sources("WITH orders AS (SELECT 1 AS a) SELECT * FROM orders, open_orders")).toEqual([
      "table main.Orders",
    ]);
    expect(await sources("SELECT * FROM nested")).toEqual(["table main.Orders", "table main.items"]);
  });

  test("look for tables in their own schema first", async () => {
    expect(await sources("SELECT * FROM raw.recent")).toEqual(["table raw.items"]);
  });

  test("may be named with their schema in front of a column", async () => {
    expect(await written("SELECT main.open_orders.id FROM main.open_orders")).toBe(
      await normal("SELECT open_orders.id FROM (SELECT * FROM orders WHERE open) AS open_orders"),
    );
  });

  test("that read each other, or nothing that is there, are an error", async () => {
    expect(await failure("SELECT * FROM round")).toMatchObject({ code: "table_missing" });
    const lost = await failure("SELECT * FROM lost");
    expect(lost).toMatchObject({ code: "table_missing", subject: { table: "gone" } });
  });
});

describe("materialized views", () => {
  const options = { views: ["Totals", "orders"], schema: "marts" };

  test("are sources by their name, in their own schema, and without one", async () => {
    expect(await sources("SELECT * FROM totals", options)).toEqual(["view marts.Totals"]);
    expect(await sources("SELECT * FROM Marts.TOTALS", options)).toEqual(["view marts.Totals"]);
    expect(await sources("SELECT * FROM lake.marts.totals", options)).toEqual(["view marts.Totals"]);
    expect(await failure("SELECT * FROM raw.totals", options)).toMatchObject({ code: "table_missing" });
  });

  test("stand behind a table of the schema main", async () => {
    expect(await sources("SELECT * FROM orders, marts.orders", options)).toEqual([
      "table main.Orders",
      "view marts.orders",
    ]);
  });

  test("that are about to be dropped can't be read", async () => {
    const error = await failure("SELECT * FROM totals", { schema: "marts", dropped: ["Totals"] });
    expect(error.code).toBe("reads_dropped_view");
    expect(error.message).toContain("Totals");
  });
});

describe("what has no single answer, or none that snapshots tell of", () => {
  test.each([
    ["in the select list", "SELECT random() FROM items", "random"],
    ["without regard to case", "SELECT UUID() FROM items", "uuid"],
    ["in a condition", "SELECT 1 FROM items WHERE a > RANDOM() * 3", "random"],
    ["in a subquery", "SELECT * FROM (SELECT gen_random_uuid() FROM items)", "gen_random_uuid"],
    ["in a common table expression that is not used", "WITH x AS (SELECT random()) SELECT 1 FROM items", "random"],
    ["in an order", "SELECT a FROM items ORDER BY random()", "random"],
    ["inside of another function", "SELECT abs(floor(random())) FROM items", "random"],
    ["in a lambda", "SELECT list_transform(l, lambda x: x + random()) FROM items", "random"],
    ["in a join's condition", "SELECT 1 FROM items JOIN orders ON random() > 0.5", "random"],
    ["in VALUES", "VALUES (random())", "random"],
    ["in a plain view", "SELECT * FROM noisy", "random"],
    ["as SAMPLE", "SELECT * FROM items USING SAMPLE 10", "SAMPLE"],
    ["as TABLESAMPLE", "SELECT * FROM items TABLESAMPLE 10%", "SAMPLE"],
    ["as the sample of a subquery", "SELECT * FROM (SELECT * FROM items) TABLESAMPLE 10%", "SAMPLE"],
  ])("is refused by name %s", async (_, sql, name) => {
    const error = await failure(sql);
    expect(error.code).toBe("volatile_function");
    expect(error.message.toLowerCase()).toContain(name.toLowerCase());
    expect(error.subject).toMatchObject({ view: "daily" });
    expect(error.hint).toBeTruthy();
  });

  test.each([
    ["in an output", "SELECT name COLLATE NOCASE AS n FROM items"],
    ["in a group", "SELECT count(*) AS n FROM items GROUP BY name COLLATE NOCASE"],
    ["in an extreme", "SELECT max(name COLLATE DE) AS n FROM items"],
    ["in a subquery's output", "SELECT id FROM items WHERE name IN (SELECT name COLLATE NOCASE FROM items)"],
    ["in a window", "SELECT row_number() OVER (PARTITION BY name COLLATE NOCASE ORDER BY id) AS n FROM items"],
    ["in an order", "SELECT id FROM items ORDER BY name COLLATE NOCASE LIMIT 3"],
    [
      "in a common table expression",
      "WITH c AS (SELECT name COLLATE NOACCENT AS n FROM items) SELECT DISTINCT n FROM c",
    ],
  ])("a collation is refused %s", async (_, sql) => {
    const error = await failure(sql);
    expect(error.code).toBe("collation");
    expect(error.message).toMatch(/COLLATE (NOCASE|DE|NOACCENT)/i);
    expect(error.hint).toContain("lower(");
  });

  test.each([
    "SELECT id FROM items WHERE name COLLATE NOCASE = 'x'",
    "SELECT id, CASE WHEN name COLLATE NOCASE BETWEEN 'a' AND 'f' THEN 1 END AS early FROM items",
    "SELECT id FROM items WHERE name COLLATE NOCASE IN ('x', 'y')",
    "SELECT id FROM items WHERE name COLLATE NOCASE NOT IN (SELECT name FROM items)",
    "SELECT name COLLATE NOCASE COLLATE POSIX AS n, name COLLATE C AS c FROM items",
  ])("a collation within a comparison is not: %s", async (sql) => {
    expect(await sources(sql)).toEqual(["table main.items"]);
  });

  test("does not include the time, an error on purpose, or columns with such names", async () => {
    const sql = "SELECT now(), current_date, error('x'), random, uuid FROM items AS x(random, uuid)";
    expect(await sources(sql)).toEqual(["table main.items"]);
  });

  test.each(["read_csv('x.csv')", "read_parquet('s3://b/x.parquet')", "glob('*')", "duckdb_tables()"])(
    "FROM %s is refused",
    async (call) => {
      const error = await failure(`SELECT * FROM items, ${call}`);
      expect(error.code).toBe("reads_outside_lake");
      expect(error.message).toContain(call.slice(0, call.indexOf("(")));
    },
  );

  test("rows that follow from their arguments are fine", async () => {
    const sql = "SELECT * FROM items, range(3), generate_series(1, 3), unnest([1, 2])";
    expect(await sources(sql)).toEqual(["table main.items"]);
  });

  test("a user's macro is refused, since nothing tells of its change", async () => {
    const error = await failure("SELECT My_Macro(a) FROM items");
    expect(error.code).toBe("user_macro");
    expect(error.message).toContain("my_macro");
  });
});

describe("replacing sources", () => {
  async function replaced(sql: string, views: readonly string[] = ["totals"]): Promise<string> {
    const bound = await bind(sql, { views });
    const rows = await parseSelect(session, "SELECT 1 AS n", { view: "v" });
    const statement = replaceSources(bound.statement, (source, node) => {
      if (source !== "main.totals") return { ...node, schema_name: "main", catalog_name: "lake" };
      const aliases = (node["column_name_alias"] as readonly string[] | undefined) ?? [];
      return subqueryTable(rows, text(node, "alias") || text(node, "table_name"), aliases);
    });
    walkAst(statement, (node) => {
      expect(Object.keys(node).filter((key) => key.startsWith("ivm_"))).toEqual([]);
      return undefined;
    });
    return printStatement(session, statement);
  }

  test("puts what it is given in the place of each table", async () => {
    expect(await replaced("SELECT * FROM items AS i JOIN totals USING (n)")).toBe(
      await normal("SELECT * FROM lake.main.items AS i JOIN (SELECT 1 AS n) AS totals USING (n)"),
    );
  });

  test("takes the schema off columns of a table that a subquery replaced, and off no others", async () => {
    expect(await replaced("SELECT main.totals.n, main.items.a FROM main.totals, main.items")).toBe(
      await normal("SELECT totals.n, main.items.a FROM (SELECT 1 AS n) AS totals, lake.main.items"),
    );
    expect(await replaced("SELECT lake.main.totals.n FROM totals")).toBe(
      await normal("SELECT totals.n FROM (SELECT 1 AS n) AS totals"),
    );
  });
});
