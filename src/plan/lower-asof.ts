import { type Ast, child, children, conjunctsOf, optionalChild, sameExpression, text } from "../sql/ast.js";
import type { Lowering } from "./lower.js";
import type { FromResult } from "./lower-from.js";
import { type AsofJoin, type ComparedPair, type Expression, outputOf, type Relation } from "./relation.js";
import { Resolver } from "./resolve.js";
import { Unsupported } from "./unsupported.js";

const OPERATORS: Readonly<Record<string, AsofJoin["operator"]>> = {
  COMPARE_GREATERTHANOREQUALTO: ">=",
  COMPARE_GREATERTHAN: ">",
  COMPARE_LESSTHANOREQUALTO: "<=",
  COMPARE_LESSTHAN: "<",
};
const TURNED = { ">=": "<=", ">": "<", "<=": ">=", "<": ">" } as const;

/** An inner or left ASOF join ON equalities and one inequality. */
export function lowerAsof(lowering: Lowering, from: Ast, left: FromResult, right: FromResult): FromResult {
  const type = text(from, "join_type");
  if (type !== "INNER" && type !== "LEFT") throw unsupported(`an ASOF ${type} join has no incremental rule`);
  const condition = optionalChild(from, "condition");
  if (condition === undefined) {
    throw unsupported(
      "an ASOF join by USING has no incremental rule: DuckDB may find partners for NULLs, which ON can exclude",
    );
  }
  const conjuncts = conjunctsOf(condition);
  const [inequality, ...others] = conjuncts.filter((conjunct) => text(conjunct, "type") in OPERATORS);
  if (inequality === undefined || others.length > 0) throw unsupported("an ASOF join needs one inequality");
  const resolver = new Resolver(lowering.functions, left.scope.join(right.scope));
  const compared = (conjunct: Ast): { pair: ComparedPair; turned: boolean } => {
    const sides = [child(conjunct, "left"), child(conjunct, "right")] as const;
    const [a, b] = sides.map((ast) => lowering.expression(resolver.resolve(ast))) as [Expression, Expression];
    if (isOf(left.relation, a) && isOf(right.relation, b)) return { pair: { left: a, right: b }, turned: false };
    if (isOf(left.relation, b) && isOf(right.relation, a)) return { pair: { left: b, right: a }, turned: true };
    throw unsupported("an ASOF join by anything but comparisons of its two sides has no incremental rule");
  };
  const keys = conjuncts.flatMap((conjunct) => {
    if (conjunct === inequality || excludesNull(conjunct, inequality)) return [];
    if (text(conjunct, "type") === "COMPARE_EQUAL") return [compared(conjunct).pair];
    throw unsupported("an ASOF join by anything but equalities and one inequality has no incremental rule");
  });
  const order = compared(inequality);
  const operator = OPERATORS[text(inequality, "type")] ?? ">=";
  const relation: Relation = {
    kind: "asof-join",
    side: type === "LEFT" ? "left" : "inner",
    left: left.relation,
    right: right.relation,
    keys,
    order: order.pair,
    operator: order.turned ? TURNED[operator] : operator,
  };
  return { relation, scope: left.scope.join(right.scope) };
}

/** `x IS NOT NULL` beside an inequality of x says nothing new; binding adds it. */
function excludesNull(conjunct: Ast, inequality: Ast): boolean {
  if (text(conjunct, "type") !== "OPERATOR_IS_NOT_NULL") return false;
  const [value] = children(conjunct, "children");
  return ["left", "right"].some((side) => sameExpression(value, child(inequality, side)));
}

function isOf(relation: Relation, { columns }: Expression): boolean {
  const output = new Set(outputOf(relation));
  return columns.length > 0 && columns.every((column) => output.has(column));
}

function unsupported(text: string): Unsupported {
  return new Unsupported("asof_join", text);
}
