import { LosslessNumber, parse, stringify } from "lossless-json";
import type { AstValue } from "./ast.js";

/**
 * JSON without loss: `query_location` can be 2^64−1 and constants can exceed 2^53, which JSON.parse would change.
 * Whole numbers beyond the safe range become bigint; numbers with a point or an exponent keep their text, which is how
 * DuckDB tells a double from an integer.
 */
export function parseJson(source: string): AstValue {
  return parse(source, undefined, parseNumber) as AstValue;
}

export function printJson(value: AstValue): string {
  return stringify(value) ?? "null";
}

function parseNumber(source: string): number | bigint | LosslessNumber {
  if (!/^-?\d+$/.test(source)) return new LosslessNumber(source);
  const value = Number(source);
  return Number.isSafeInteger(value) ? value : BigInt(source);
}
