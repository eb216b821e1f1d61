import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { type Ast, child, text } from "../../src/sql/ast.js";
import { parseSelect, printStatement } from "../../src/sql/parse.js";
import { memorySession } from "./engine.js";

let session: Session;
beforeAll(async () => {
  session = await memorySession();
});

interface Join {
  readonly word: string;
  readonly condition: string;
  readonly left: Tree;
  readonly right: Tree;
}
type Tree = Join | { readonly table: string };

const KINDS: readonly (readonly [string, string])[] = [
  ["JOIN", " ON x = y"],
  ["LEFT JOIN", " USING (k)"],
  ["FULL JOIN", " ON x < y"],
  ["NATURAL JOIN", ""],
  ["NATURAL LEFT JOIN", ""],
  ["POSITIONAL JOIN", ""],
  ["CROSS JOIN", ""],
  ["SEMI JOIN", " ON x = y"],
];

const { tree } = fc.letrec<{ tree: Tree; table: Tree; join: Join }>((tie) => ({
  tree: fc.oneof({ depthSize: "small", maxDepth: 4 }, tie("table"), tie("join")),
  table: fc.constantFrom("a", "b", "c", "d").map((table) => ({ table })),
  join: fc
    .tuple(fc.constantFrom(...KINDS), tie("tree"), tie("tree"))
    .map(([[word, condition], left, right]) => ({ word, condition, left, right })),
}));

/** Every join that is part of another one in brackets. */
function sqlOf(of: Tree): string {
  if ("table" in of) return of.table;
  const operand = (part: Tree): string => ("table" in part ? part.table : `(${sqlOf(part)})`);
  return `${operand(of.left)} ${of.word} ${operand(of.right)}${of.condition}`;
}

/** Which joins have which operands; a cross join below another join is as good as one whose condition always holds. */
function shapeOf(from: Ast): unknown {
  if (from["type"] !== "JOIN") return text(from, "table_name");
  const kind = text(from, "ref_type") === "CROSS" ? "REGULAR" : text(from, "ref_type");
  return [kind, text(from, "join_type"), shapeOf(child(from, "left")), shapeOf(child(from, "right"))];
}

async function roundTrip(sql: string): Promise<[unknown, unknown]> {
  const before = await parseSelect(session, sql, { view: "v" });
  const after = await parseSelect(session, await printStatement(session, before), { view: "v" });
  const [one, other] = [before, after].map((statement) => shapeOf(child(child(statement, "node"), "from_table")));
  return [one, other];
}

test.each([
  "SELECT * FROM a NATURAL JOIN (b JOIN c ON x = y)",
  "SELECT * FROM a POSITIONAL JOIN (b JOIN c ON x = y)",
  "SELECT * FROM a NATURAL JOIN (b NATURAL JOIN (c POSITIONAL JOIN (d CROSS JOIN a)))",
  "SELECT * FROM a JOIN (b NATURAL JOIN c) ON x = y",
])("%s is printed with its brackets", async (sql) => {
  const [before, after] = await roundTrip(sql);
  expect(after).toEqual(before);
});

test("joins in brackets come back as the same joins, however they are nested", async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (joins) => {
      const [before, after] = await roundTrip(`SELECT * FROM ${sqlOf(joins)}`);
      expect(after).toEqual(before);
    }),
    { numRuns: 400, seed: 1 },
  );
});

test("brackets in subqueries and common table expressions, and texts that look like them, stay as they are", async () => {
  const sql = `WITH w AS (SELECT '"ivm join"' AS s FROM a NATURAL JOIN (b JOIN c ON x = y))
    SELECT (SELECT count(*) FROM a POSITIONAL JOIN (b JOIN c ON x = y)) AS n, s FROM w`;
  const printed = await printStatement(session, await parseSelect(session, sql, { view: "v" }));
  expect(printed).toContain("NATURAL INNER JOIN (b INNER JOIN c");
  expect(printed).toContain("POSITIONAL JOIN (b INNER JOIN c");
  expect(printed).toContain(`'"ivm join"'`);
});
