/** Column types and the small, nasty domains that their values come from. */

import { type Literal, literal, type SqlType } from "../ast.js";
import type { Draw } from "./draw.js";

export const LIST = "INTEGER[]";
export const STRUCT = "STRUCT(x INTEGER, y VARCHAR)";

interface Domain {
  /** Few values, so that joins and groups hit. */
  readonly usual: readonly string[];
  readonly extreme: readonly string[];
  /** An expression over the integer `i`, for rows by the dozen. */
  readonly bulk: string;
  /** Literals need no cast to have the type in an expression. */
  readonly bare?: true;
}

const DOMAINS: Readonly<Record<string, Domain>> = {
  INTEGER: {
    usual: ["-1", "0", "1", "2", "3"],
    extreme: ["2147483647", "-2147483648"],
    bulk: "CAST(i % 5 AS INTEGER)",
    bare: true,
  },
  BIGINT: {
    usual: ["0", "1", "2", "-7", "4294967296"],
    extreme: ["9223372036854775807", "-9223372036854775808", "9007199254740993"],
    bulk: "i % 4",
  },
  HUGEINT: { usual: ["0", "5", "18446744073709551617"], extreme: [], bulk: "i" },
  "DECIMAL(9,2)": {
    usual: ["0.00", "0.50", "1.25", "-3.10", "10.00"],
    extreme: ["9999999.99", "-9999999.99"],
    bulk: "CAST(i % 7 AS DECIMAL(9,2))",
  },
  "DECIMAL(18,4)": { usual: ["0.0000", "2.5000", "-1.1250"], extreme: [], bulk: "CAST(i % 7 AS DECIMAL(18,4))" },
  "DECIMAL(38,2)": { usual: ["0.00", "7.25", "-1.10"], extreme: [], bulk: "CAST(i % 7 AS DECIMAL(38,2))" },
  "DECIMAL(38,4)": {
    usual: ["0.0000", "1.0001", "-2.5000", "123456789012345678.1234"],
    extreme: ["9999999999999999999999999999999999.9999", "-9999999999999999999999999999999999.9999"],
    bulk: "CAST(i % 6 AS DECIMAL(38,4))",
  },
  // Multiples of a quarter: their sums are exact in any order, so a difference is never a rounding difference.
  DOUBLE: {
    usual: ["0.0", "0.5", "1.25", "-2.75", "100.0"],
    extreme: ["'NaN'", "'Infinity'", "'-Infinity'", "1e300"],
    bulk: "CAST(i % 9 AS DOUBLE) / 4",
  },
  VARCHAR: {
    usual: ["''", "'a'", "'b'", "'ab'", "'B'", "'2'"],
    extreme: ["'it''s'", "'NULL'", "'日本'", "' '", "'a\"b'", "'\\'", "'%_'"],
    bulk: "chr(CAST(97 + i % 4 AS INTEGER))",
    bare: true,
  },
  DATE: {
    usual: ["'2024-01-01'", "'2024-01-02'", "'2024-02-29'", "'2023-12-31'"],
    extreme: ["'0001-01-01'", "'9999-12-20'"],
    bulk: "DATE '2024-01-01' + CAST(i % 5 AS INTEGER)",
  },
  TIMESTAMP: {
    usual: ["'2024-01-01 00:00:00'", "'2024-01-01 12:30:00.123456'", "'2023-12-31 23:59:59'"],
    extreme: ["'1900-01-01 00:00:00'", "'2200-01-01 00:00:00'"],
    bulk: "TIMESTAMP '2024-01-01' + to_hours(CAST(i % 5 AS INTEGER))",
  },
  BOOLEAN: { usual: ["true", "false"], extreme: [], bulk: "i % 2 = 0", bare: true },
  [LIST]: {
    usual: ["[]", "[1]", "[1, 2]", "[2, NULL]"],
    extreme: ["[NULL]", "[2147483647, 1, 1]"],
    bulk: "[CAST(i % 3 AS INTEGER)]",
  },
  [STRUCT]: {
    usual: ["{'x': 1, 'y': 'a'}", "{'x': 2, 'y': NULL}", "{'x': NULL, 'y': 'b'}"],
    extreme: ["{'x': NULL, 'y': NULL}", "{'x': -2147483648, 'y': ''}"],
    bulk: "{'x': CAST(i % 3 AS INTEGER), 'y': 'a'}",
  },
};

/** Types that a base table may have. */
export const TABLE_TYPES: readonly SqlType[] = [
  "INTEGER",
  "BIGINT",
  "DECIMAL(9,2)",
  "DECIMAL(38,4)",
  "DOUBLE",
  "VARCHAR",
  "DATE",
  "TIMESTAMP",
  "BOOLEAN",
  LIST,
  STRUCT,
];

export const isDecimal = (type: SqlType): boolean => type.startsWith("DECIMAL");

function domain(type: SqlType): Domain {
  const found = DOMAINS[type];
  if (found === undefined) throw new RangeError(`no domain for ${type}`);
  return found;
}

/** A value for an INSERT into a column of the type; often NULL. */
export function value(draw: Draw, type: SqlType, extremes: boolean): string {
  if (draw.chance(18)) return "NULL";
  const { usual, extreme } = domain(type);
  return extremes && extreme.length > 0 && draw.chance(12) ? draw.pick(extreme) : draw.pick(usual);
}

/** An expression over the integer `i` with values of the type, NULL now and then. */
export function bulkValue(draw: Draw, type: SqlType): string {
  const { bulk } = domain(type);
  return draw.chance(40) ? `CASE WHEN i % ${draw.integer(3, 9)} = 0 THEN NULL ELSE ${bulk} END` : bulk;
}

/** A literal that has the type in any expression. */
export function typedLiteral(draw: Draw, type: SqlType): Literal {
  if (draw.chance(4)) return literal(type, `CAST(NULL AS ${type})`);
  const { usual, bare } = domain(type);
  const sql = draw.pick(usual);
  return literal(type, bare === true ? sql : `CAST(${sql} AS ${type})`);
}
