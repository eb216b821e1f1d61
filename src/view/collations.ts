import { DefinitionError } from "../errors.js";
import { type Ast, type AstValue, text, walkAst } from "../sql/ast.js";
import { type SqlOrigin, subjectOf } from "../sql/parse.js";

/** Collations that take equal what is the same, and nothing else. */
const EXACT: ReadonlySet<string> = new Set(["posix", "c", "binary"]);
const IN: ReadonlySet<string> = new Set(["COMPARE_IN", "COMPARE_NOT_IN"]);

/**
 * Refuses collations that reach beyond a comparison. Under them texts are equal that are not the same, so that which of
 * them stands in an output, a group or an extreme is nowhere written, and a change from one to the other is none.
 * @throws DefinitionError `collation`.
 */
export function refuseCollations(statement: AstValue | undefined, origin: SqlOrigin): void {
  walkAst(statement, (node) => {
    if (node["class"] === "COLLATE") return refuse(node, origin);
    // `name COLLATE NOCASE IN (SELECT …)` is one node with the subquery.
    if (node["class"] === "SUBQUERY") {
      refuseInOperands(node["child"], origin);
      refuseCollations(node["subquery"], origin);
      return false;
    }
    if (!compares(node)) return true;
    refuseInOperands(Object.values(node), origin);
    return false;
  });
}

function compares(node: Ast): boolean {
  return node["class"] === "COMPARISON" || node["class"] === "BETWEEN" || IN.has(text(node, "type"));
}

/** What is compared may be collated; subqueries among it are queries again. */
function refuseInOperands(operands: AstValue | undefined, origin: SqlOrigin): void {
  walkAst(operands, (node) => {
    if (node["class"] !== "SUBQUERY") return true;
    refuseCollations(node, origin);
    return false;
  });
}

function refuse(node: Ast, origin: SqlOrigin): false {
  const collation = text(node, "collation");
  if (EXACT.has(collation.toLowerCase())) return false;
  throw new DefinitionError(
    "collation",
    `View ${origin.view}: COLLATE ${collation} outside of a comparison makes texts equal that differ, so the view would have no single right content.`,
    {
      subject: subjectOf(origin),
      hint: "Compare with it (name COLLATE NOCASE = 'x'), or write the form that is meant, such as lower(name).",
    },
  );
}
