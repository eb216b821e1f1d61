/** Window functions whose answer is one bag, whatever the order of equal rows. */

import { type Call, type Expression, type SqlType, scalar } from "../ast.js";
import type { Draw } from "./draw.js";

/**
 * Order by every column of the only input: rows that are equal in all of them can change places without a trace.
 * The arguments are fixed parts of the text, so that no shrink drops one.
 */
export function makeWindow(draw: Draw, atoms: readonly Expression[]): Call {
  const value = draw.pick(atoms);
  const whole = draw.pick([value, ...atoms.filter((atom) => atom.type === "INTEGER" || atom.type === "BIGINT")]);
  const sum: SqlType = "HUGEINT";
  const total = over(draw, atoms, true);
  const peers = over(draw, atoms, false);
  const isWhole = whole.type === "INTEGER" || whole.type === "BIGINT";
  return draw.pick<() => Call>([
    () => window("BIGINT", true)`row_number() ${total}`,
    () => window("BIGINT", true)`rank() ${peers}`,
    () => window("BIGINT", true)`dense_rank() ${peers}`,
    () => window("BIGINT", true)`count(*) ${peers}`,
    () => (isWhole ? window(sum, true)`sum(${whole}) ${peers}` : window("BIGINT", true)`count(${whole}) ${peers}`),
    () => window(value.type, value.exact)`lag(${value}) ${total}`,
    () => window(value.type, value.exact)`first_value(${value}) ${total}`,
    () => window(value.type, value.exact)`max(${value}) ${peers}`,
  ])();
}

/** A QUALIFY condition; `row_number() <= n` itself has a fault in the engine. */
export function oddRowNumbers(draw: Draw, atoms: readonly Expression[]): Expression {
  return window("BOOLEAN", true)`row_number() ${over(draw, atoms, true)} % 2 = 1`;
}

function window(type: SqlType, exact: boolean) {
  return (parts: TemplateStringsArray, ...args: readonly Expression[]): Call => ({
    ...scalar(type, exact)(parts, ...args),
    role: "window",
  });
}

function over(draw: Draw, atoms: readonly Expression[], total: boolean): Expression {
  const one = scalar("");
  const partition = draw.pick(atoms);
  const order = total ? draw.shuffle(atoms) : [draw.pick(atoms)];
  const direction = draw.pick(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
  const ordered = {
    ...one``,
    parts: [...order.map((_, index) => (index === 0 ? " ORDER BY " : `${direction}, `)), direction],
    args: order,
  };
  return draw.chance(75) ? one`OVER (PARTITION BY ${partition}${ordered})` : one`OVER (${ordered})`;
}
