import { randomUUID } from "node:crypto";
import { type Ast, baseTable, child, mapAst, selectStatement, text, textConstant } from "./ast.js";

/** Joins without a condition that would tell where their right side ends. */
const OPEN: ReadonlySet<string> = new Set(["NATURAL", "POSITIONAL"]);

const PREFIX = "SELECT '' FROM ";

/**
 * A statement in which tables stand for the joins that must be printed in brackets. DuckDB prints none around joins:
 * `a NATURAL JOIN (b JOIN c ON …)` would come back as `(a NATURAL JOIN b) JOIN c ON …`, which gives other rows.
 */
export interface Bracketed {
  readonly statement: Ast;
  /** Statements that select from nothing but what is in the brackets, by the names of the tables that stand for them. */
  readonly operands: ReadonlyMap<string, Ast>;
}

export function takeOperands(statement: Ast): Bracketed {
  const operands = new Map<string, Ast>();
  const change = (node: Ast): Ast | undefined => {
    if (node["type"] !== "JOIN" || !OPEN.has(text(node, "ref_type"))) return undefined;
    const right = child(node, "right");
    if (right["type"] !== "JOIN") return undefined;
    const name = `ivm join ${randomUUID()}`;
    const select = selectStatement([textConstant("")]);
    operands.set(name, { ...select, node: { ...child(select, "node"), from_table: right } });
    const standIn = baseTable({ catalog: "", schema: "", table: name }, "");
    return { ...node, left: mapAst(child(node, "left"), change), right: standIn };
  };
  return { statement: mapAst(statement, change) as Ast, operands };
}

/** What a statement of `operands` was printed as, as it stands in brackets. */
export function operandOf(printed: string): string {
  if (!printed.startsWith(PREFIX)) throw new TypeError(`unexpected print of a join: ${printed}`);
  return `(${printed.slice(PREFIX.length)})`;
}
