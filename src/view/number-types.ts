import { type Expression, expression } from "../plan/relation.js";
import { castTo } from "./states.js";

/** Integers of up to 64 bits. */
const WORDS = new Set(["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"]);

export function isWord(type: string | undefined): boolean {
  return type !== undefined && WORDS.has(type);
}

export function isFloat(type: string | undefined): boolean {
  return type === "DOUBLE" || type === "FLOAT";
}

/** Digits after the point of a decimal type; none for all others. */
export function decimalScale(type: string): number {
  return Number(/^DECIMAL\(\d+,(\d+)\)$/.exec(type)?.[1] ?? 0);
}

/** The type in which a sum of this type can be folded exactly; undefined where it can't. */
export function exactSumType(type: string | undefined): string | undefined {
  if (type === undefined) return undefined;
  if (isWord(type) || type === "BOOLEAN") return "DECIMAL(38,0)";
  return type.startsWith("DECIMAL(") ? `DECIMAL(38,${decimalScale(type)})` : undefined;
}

/** A decimal without its point. Through its text: a multiplication would leave the range of DECIMAL(38). */
export function unscaledTotal(total: Expression, digits: number): Expression {
  if (digits === 0) return expression`CAST(${total} AS HUGEINT)`;
  return expression`CAST(replace(CAST(${total} AS VARCHAR), '.', '') AS HUGEINT)`;
}

/** A number as an integer of 64 bits. */
export interface ScaledInteger {
  readonly argument: Expression;
  readonly value: Expression;
  /** By how much the number was multiplied. */
  readonly unit: bigint;
  /** True for values whose square sums up in 128 bits; null where all of the type are such values. */
  readonly fits: Expression | null;
}

/** The largest value whose square still leaves room for 10^18 of them in a sum of 128 bits. */
const WIDEST = 4294967295n;

/** Undefined for types whose values are no integers of 64 bits, however they are scaled. */
export function scaledInteger(argument: Expression, type: string | undefined): ScaledInteger | undefined {
  if (type === undefined) return undefined;
  if (type === "UBIGINT") {
    const value = expression`CASE WHEN ${argument} <= ${`${WIDEST}`} THEN CAST(${argument} AS BIGINT) END`;
    return { argument, value, unit: 1n, fits: expression`${argument} <= ${`${WIDEST}`}` };
  }
  if (isWord(type)) return integer(argument, castTo(argument, "BIGINT"), 1n, type === "BIGINT");
  const width = Number(/^DECIMAL\((\d+),/.exec(type)?.[1] ?? 99);
  if (width > 18) return undefined;
  const digits = decimalScale(type);
  const unit = 10n ** BigInt(digits);
  const value = castTo(expression`${argument} * CAST(${`${unit}`} AS DECIMAL(${`${digits + 1}`},0))`, "BIGINT");
  return integer(argument, value, unit, width > 9);
}

function integer(argument: Expression, value: Expression, unit: bigint, guarded: boolean): ScaledInteger {
  const fits = guarded ? expression`${value} BETWEEN ${`-${WIDEST}`} AND ${`${WIDEST}`}` : null;
  return { argument, value, unit, fits };
}
