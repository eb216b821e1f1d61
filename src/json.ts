/** Results as JSON for other programs: snake_case names, and numbers only where they are exact. */

/** Objects under these names have names of the user's own, which stay as they are. */
const VERBATIM = new Set(["row", "samples"]);

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Converts a result of the library. Undefined properties are left out. */
export function toJson(value: unknown): Json {
  return convert(value, true);
}

function convert(value: unknown, rename: boolean): Json {
  switch (typeof value) {
    case "bigint":
      return exactNumber(value);
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "object":
      return value === null ? null : convertObject(value, rename);
    default:
      return null;
  }
}

function convertObject(value: object, rename: boolean): Json {
  if (Array.isArray(value)) {
    return value.map((item) => convert(item, rename));
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.map(([name, item]) => [rename ? snakeCase(name) : name, convert(item, rename && !VERBATIM.has(name))]),
  );
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A JSON number where every reader gets the same one back, else a string. */
function exactNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
