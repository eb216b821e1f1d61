/** Types of columns, with values as SQL that DuckDB holds different from each other. */

export interface ValueType {
  readonly type: string;
  readonly values: readonly string[];
  /** Files that can't hold all of the values. */
  readonly notIn?: readonly ("csv" | "json")[];
}

/** Types whose values can identify a row. */
export const KEY_TYPES: readonly ValueType[] = [
  { type: "INTEGER", values: ["0", "1", "-1", "7", "2147483647", "-2147483648"] },
  { type: "BIGINT", values: ["0", "9223372036854775807", "-9223372036854775807", "12", "13"] },
  { type: "UBIGINT", values: ["0", "18446744073709551615", "5"] },
  {
    type: "VARCHAR",
    values: ["''", "'a'", "'A'", "' a'", "'NULL'", "'é'", "'#1'", "'it''s, \"so\"'", "'007'", "'line\nbreak'"],
  },
  { type: "DATE", values: ["'2024-02-29'", "'1900-01-01'", "'9999-12-31'"] },
  { type: "DECIMAL(10,2)", values: ["0", "1.10", "-99999999.99", "1.11"] },
  { type: "DOUBLE", values: ["0", "'nan'", "'inf'", "'-inf'", "0.1", "1e300"], notIn: ["json"] },
  { type: "TIMESTAMP", values: ["'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.000001'", "'1700-01-01 12:00:00'"] },
  { type: "UUID", values: ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'00000000-0000-0000-0000-000000000000'"] },
  { type: "BOOLEAN", values: ["true", "false"] },
  { type: "BLOB", values: ["''", "'a'", "'\\x00\\xFF'"], notIn: ["json"] },
];

export const TYPES: readonly ValueType[] = [
  ...KEY_TYPES,
  { type: "TINYINT", values: ["-128", "127", "0"] },
  { type: "FLOAT", values: ["0", "'nan'", "0.1", "-3.4e38"], notIn: ["json"] },
  { type: "HUGEINT", values: ["0", "9007199254740992", "-5"] },
  { type: "DECIMAL(38,4)", values: ["0", "1234567890123456789012345678901234.5678", "-0.0001"], notIn: ["json"] },
  { type: "TIMESTAMP WITH TIME ZONE", values: ["'2024-01-01 00:00:00+02'", "'2024-01-01 00:00:00+00'", "'infinity'"] },
  {
    type: "TIMESTAMP_NS",
    values: ["'2024-01-01 00:00:00.123456789'", "'2024-01-01 00:00:00.123456788'"],
    notIn: ["json"],
  },
  { type: "TIMESTAMP_MS", values: ["'2024-01-01 00:00:00.123'", "'2024-01-01 00:00:00'"] },
  { type: "TIMESTAMP_S", values: ["'2024-01-01 00:00:01'", "'2024-01-01 00:00:00'"] },
  { type: "TIME", values: ["'00:00:00'", "'23:59:59.999999'"] },
  {
    type: "INTERVAL",
    values: ["INTERVAL 1 DAY", "INTERVAL '1 month 2 days 3.004 seconds'", "INTERVAL 0 DAY"],
    notIn: ["json"],
  },
  { type: "INTEGER[]", values: ["[]", "[1]", "[1, NULL]", "[NULL, 1]"] },
  { type: "VARCHAR[]", values: ["['a']", "['a', 'b']", "[NULL]"] },
  {
    type: "STRUCT(a INTEGER, b VARCHAR)",
    values: ["{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': 'x'}", "{'a': 1, 'b': NULL}"],
  },
  { type: "MAP(VARCHAR, INTEGER)", values: ["MAP {}", "MAP {'a': 1}", "MAP {'a': 2, 'b': NULL}"], notIn: ["json"] },
  { type: "JSON", values: ["'{\"a\":1}'", "'[]'", "'null'"], notIn: ["json"] },
  { type: "VARIANT", values: ["1", "'1'", "[1, 2]", "{'a': 1}", "DATE '2024-01-01'"], notIn: ["csv", "json"] },
  { type: "GEOMETRY", values: ["'POINT(1 2)'", "'POINT(2 1)'", "'LINESTRING(0 0, 1 1)'"], notIn: ["json"] },
];
