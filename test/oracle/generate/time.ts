/** Conditions that ask for the time, and what the oracle takes it to be. */

import { type Expression, scalar } from "../ast.js";
import type { Draw } from "./draw.js";

/** How every generated question for the time is printed; nothing else in a generated query is printed like this. */
const NOW = "now()";

/** The answer changes every few milliseconds, at another moment for each value. */
export function timeCondition(draw: Draw, atoms: readonly Expression[]): Expression {
  const one = scalar("BOOLEAN");
  const whole = atoms.filter((atom) => atom.type === "INTEGER" || atom.type === "BIGINT");
  if (whole.length === 0) return one`epoch_ms(now()) // 20 % 3 < 2`;
  const value = draw.pick(whole);
  return draw.pick([
    () => one`(epoch_ms(now()) // 10 + ${value}) % 5 < 2`,
    () => one`NOT ((epoch_ms(now()) // 10 + ${value}) % 5 < 2)`,
    () => one`((epoch_ms(now()) // 10 + ${value}) % 5 < 2 OR ${value} IS NULL)`,
  ])();
}

export function asksTime(sql: string): boolean {
  return sql.includes(NOW);
}

export function atInstant(sql: string, instant: string): string {
  return sql.replaceAll(NOW, `TIMESTAMPTZ '${instant}'`);
}
