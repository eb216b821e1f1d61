import { type Ast, children, columnRef, fingerprint, mapAst, text } from "../sql/ast.js";
import type { Lowering } from "./lower.js";
import type { Relation, WindowColumn } from "./relation.js";
import { ordersOf, windowRule } from "./window-rules.js";

interface Partition {
  readonly print: string;
  readonly expressions: readonly Ast[];
  readonly columns: WindowColumn[];
}

/** Takes window functions out of expressions; those with the same PARTITION BY share one node. */
export function lowerWindows(
  lowering: Lowering,
  input: Relation,
  expressions: readonly Ast[],
): { relation: Relation; expressions: Ast[] } {
  const partitions: Partition[] = [];
  const ids = new Map<string, string>();
  const rewritten = expressions.map(
    (ast) =>
      mapAst(ast, (node) => {
        if (node["class"] !== "WINDOW") return undefined;
        const print = fingerprint(node);
        let id = ids.get(print);
        if (id === undefined) {
          id = lowering.id(text(node, "function_name") || "window");
          ids.set(print, id);
          partitionOf(partitions, node).columns.push({
            id,
            expression: lowering.expression(node),
            orders: ordersOf(lowering, node),
            rule: windowRule(lowering, node, id),
          });
        }
        return columnRef([id], text(node, "alias"));
      }) as Ast,
  );
  const relation = partitions.reduce<Relation>(
    (below, partition) => ({
      kind: "window",
      input: below,
      partition: partition.expressions.map((ast) => lowering.expression(ast)),
      columns: partition.columns,
    }),
    input,
  );
  return { relation, expressions: rewritten };
}

function partitionOf(partitions: Partition[], node: Ast): Partition {
  const expressions = children(node, "partitions");
  const print = fingerprint(expressions);
  const existing = partitions.find((partition) => partition.print === print);
  if (existing !== undefined) return existing;
  const partition: Partition = { print, expressions, columns: [] };
  partitions.push(partition);
  return partition;
}
