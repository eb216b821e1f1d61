/** How a column of the input becomes a column of the table, and when that would lose something. */
import { quoteIdentifier } from "../sql/quote.js";
import type { InputColumn } from "./input.js";
import type { TargetColumn } from "./target.js";

export interface Conversion {
  readonly source: InputColumn;
  readonly target: TargetColumn;
  /** The table's value, from a row of the input. */
  readonly expression: string;
  /** True for values that would be lost or changed; null where none can be. NULL counts as false. */
  readonly loss: string | null;
  /** Why no value can be taken, where the two types exclude each other. */
  readonly refusal: string | null;
}

export function isNested(type: string): boolean {
  return type.endsWith("]") || type.startsWith("STRUCT(") || type.startsWith("MAP(");
}

export function conversion(source: InputColumn, target: TargetColumn): Conversion {
  const value = quoteIdentifier(source.stored);
  const [from, to] = [source.type, target.type];
  const expression = from === to ? value : `TRY_CAST(${value} AS ${to})`;
  const lost: string[] = [];
  if (from !== to) {
    const there = source.text ? textSurvives(value, to) : survives(value, from, to);
    lost.push(`(${value} IS NOT NULL AND NOT coalesce(${there}, false))`);
  }
  const kept = storageKeeps(expression, to);
  if (kept !== null) lost.push(`NOT (${kept})`);
  return {
    source,
    target,
    expression,
    loss: lost.length === 0 ? null : lost.join(" OR "),
    refusal: source.text ? null : zoneRefusal(from, to),
  };
}

/** A value survives where the cast and the cast back give the same. */
function survives(value: string, from: string, to: string): string {
  return `TRY(TRY_CAST(TRY_CAST(${value} AS ${to}) AS ${from}) = ${value})`;
}

const INTEGERS: ReadonlySet<string> = new Set([
  "TINYINT",
  "SMALLINT",
  "INTEGER",
  "BIGINT",
  "UTINYINT",
  "USMALLINT",
  "UINTEGER",
  "UBIGINT",
]);

/**
 * Text has many spellings of one value (1.50, 007, 2024-01-01T10:00:00Z), so it is not cast back: it survives where a
 * wider type reads the same value from it.
 */
function textSurvives(value: string, to: string): string {
  const cast = `TRY_CAST(${value} AS ${to})`;
  const read = `${cast} IS NOT NULL`;
  const sameAs = (type: string): string =>
    `coalesce(TRY_CAST(${value} AS ${type}) = TRY_CAST(${cast} AS ${type}), true)`;
  // As UTC, which is the session's zone here: a time of another zone would silently become one without a zone.
  const sameMoment = `coalesce(TRY_CAST(TRY_CAST(${value} AS TIMESTAMPTZ) AS TIMESTAMP) = TRY_CAST(${cast} AS TIMESTAMP), true)`;
  const decimal = /^DECIMAL\((\d+),(\d+)\)$/.exec(to);
  if (decimal !== null) {
    const [width, scale] = [Number(decimal[1]), Number(decimal[2])];
    return `${read} AND ${unlessFine(value, scale, sameAs(`DECIMAL(38,${38 - (width - scale)})`))}`;
  }
  // The longest of them has 20 digits.
  if (INTEGERS.has(to)) return `${read} AND ${unlessFine(value, 0, sameAs("DECIMAL(38,18)"))}`;
  if (isNested(to)) return `replace(CAST(${cast} AS VARCHAR), ' ', '') = replace(${value}, ' ', '')`;
  switch (to) {
    case "DATE":
      return `${read} AND ${sameMoment}`;
    case "TIMESTAMP":
    case "TIMESTAMP_S":
    case "TIMESTAMP_MS":
    case "TIMESTAMP_NS":
      return `${read} AND ${sameMoment} AND ${sameAs("TIMESTAMP_NS")}`;
    case "TIME":
      return `${read} AND coalesce(${atEpoch(value)} = ${atEpoch(`CAST(${cast} AS VARCHAR)`)}, true)`;
    default:
      return read;
  }
}

/**
 * A test that only numbers with more digits behind the point than `scale`, or an exponent, need: DuckDB reads a wide
 * decimal hundreds of times slower than a number.
 */
function unlessFine(value: string, scale: number, test: string): string {
  const digits = `length(${value}) - instr(${value}, '.')`;
  const needed = `contains(lower(${value}), 'e') OR (contains(${value}, '.') AND ${digits} > ${scale})`;
  return `CASE WHEN ${needed} THEN ${test} ELSE true END`;
}

/** A time of day, with its nanoseconds: TIME has no cast to TIME_NS. */
function atEpoch(time: string): string {
  return `TRY_CAST('1970-01-01 ' || ${time} AS TIMESTAMP_NS)`;
}

/** What the lake's files keep of a type; null where they keep all of it. */
function storageKeeps(value: string, type: string): string | null {
  switch (type) {
    case "HUGEINT":
    case "UHUGEINT":
      // Written as DOUBLE.
      return `TRY_CAST(TRY_CAST(${value} AS DOUBLE) AS ${type}) IS NOT DISTINCT FROM ${value}`;
    case "INTERVAL":
      return `${value} IS NULL OR date_part('microseconds', ${value}) % 1000 = 0`;
    case "TIME WITH TIME ZONE":
      return `${value} IS NULL OR date_part('timezone', ${value}) = 0`;
    default:
      return null;
  }
}

function zoneRefusal(from: string, to: string): string | null {
  const [zoned, plain] = ["TIMESTAMP WITH TIME ZONE", /^(TIMESTAMP(_\w+)?|DATE|TIME)$/];
  const mixed = (from === zoned && plain.test(to)) || (to === zoned && plain.test(from));
  return mixed ? "which moment that is depends on a time zone" : null;
}
