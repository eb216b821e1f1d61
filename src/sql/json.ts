import { LosslessNumber, parse, stringify } from "lossless-json";
import type { AstValue } from "./ast.js";

/**
 * JSON without loss: `query_location` can be 2^64−1 and constants can exceed 2^53, which JSON.parse would change.
 * Whole numbers beyond the safe range become bigint; numbers with a point or an exponent keep their text, which is how
 * DuckDB tells a double from an integer.
 */
export function parseJson(source: string): AstValue {
  return parse(source.includes("Infinity") ? spellInfinity(source) : source, undefined, parseNumber) as AstValue;
}

/** DuckDB writes infinity as a bare word, which JSON has not; a number too large for a double is as much. */
function spellInfinity(source: string): string {
  return source.replaceAll(/"(?:[^"\\]|\\.)*"|Infinity/g, (part) => (part === "Infinity" ? INFINITE : part));
}

const INFINITE = "1e999";

/** The sign of an infinite number of a document, 0 for any other value. */
export function infinity(value: AstValue | undefined): -1 | 0 | 1 {
  if (!(value instanceof LosslessNumber)) return 0;
  if (value.value === INFINITE) return 1;
  return value.value === `-${INFINITE}` ? -1 : 0;
}

export function printJson(value: AstValue): string {
  return stringify(value) ?? "null";
}

function parseNumber(source: string): number | bigint | LosslessNumber {
  if (!/^-?\d+$/.test(source)) return new LosslessNumber(source);
  const value = Number(source);
  return Number.isSafeInteger(value) ? value : BigInt(source);
}
