import { expect, test } from "vitest";
import { targetAddress } from "../../src/replay/address.js";

test.each([
  ["duckdb:/a.b/mirror.db.sales", undefined, "duckdb", "/a.b/mirror.db", "sales"],
  ["duckdb:mirror.db", "reporting.sales", "duckdb", "mirror.db", "reporting.sales"],
  ["ducklake:copy.ducklake.sales", undefined, "ducklake", "ducklake:copy.ducklake", "sales"],
  ["ducklake:postgres:dbname=x", "t", "ducklake", "ducklake:postgres:dbname=x", "t"],
  ["duckdb:mirror.db", "db", "duckdb", "mirror.db", "db"],
  ["ducklake:copy.ducklake", "sales", "ducklake", "ducklake:copy.ducklake", "sales"],
  ["ducklake:sqlite:copy.db.sales", undefined, "ducklake", "ducklake:sqlite:copy.db", "sales"],
  ["postgres://me@db/shop.db", undefined, "postgres", "postgresql://me@db/shop", "db"],
  ["postgres://me@db.example.com/shop.sales", undefined, "postgres", "postgresql://me@db.example.com/shop", "sales"],
  ["postgresql://me@db/shop", "sales", "postgres", "postgresql://me@db/shop", "sales"],
  ["POSTGRES:dbname=shop host=db.example.com", "sales", "postgres", "dbname=shop host=db.example.com", "sales"],
])("%s", (into, table, kind, address, name) => {
  expect(targetAddress(into, table)).toEqual({ kind, address, table: name });
});

test.each([
  "duckdb:mirror.db",
  "duckdb:/a.b/mirror.DuckDB",
  "duckdb:mirror.ddb",
  "ducklake:copy.ducklake",
  "ducklake:sqlite:copy.sqlite3",
])("%s is a file, which needs --table", (into) => {
  expect(() => targetAddress(into, undefined)).toThrow(
    expect.objectContaining({
      code: "replay_target",
      message: "The target names no table.",
      hint: expect.stringContaining("--table"),
    }),
  );
});
