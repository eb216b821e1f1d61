import { parse, stringify } from "lossless-json";
import type { AstValue } from "./ast.js";

/**
 * JSON without loss: `query_location` can be 2^64−1 and constants can exceed 2^53, which JSON.parse would change.
 * Whole numbers beyond the safe range become bigint.
 */
export function parseJson(source: string): AstValue {
  return parse(source, undefined, parseNumber) as AstValue;
}

export function printJson(value: AstValue): string {
  return stringify(value) ?? "null";
}

function parseNumber(source: string): number | bigint {
  const value = Number(source);
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)) return BigInt(source);
  return value;
}
