import { ConfigError } from "../errors.js";

export type TargetKind = "duckdb" | "ducklake" | "postgres";

/** Where a mirror of a view is kept. */
export interface TargetAddress {
  readonly kind: TargetKind;
  /** As ATTACH takes it, without the kind before it; it may hold a password. */
  readonly address: string;
  /** The table as it stands in SQL, with a schema before it where it is not the target's default one. */
  readonly table: string;
}

const KINDS: ReadonlyMap<string, TargetKind> = new Map([
  ["duckdb", "duckdb"],
  ["ducklake", "ducklake"],
  ["postgres", "postgres"],
  ["postgresql", "postgres"],
]);

/** What names of database files end in. What stands after a dot is then no table, but part of the file's name. */
const FILE_ENDINGS: ReadonlySet<string> = new Set(["db", "db3", "ddb", "duckdb", "ducklake", "sqlite", "sqlite3"]);

/**
 * Reads an address such as `duckdb:mirror.db`, `ducklake:copy.ducklake`, `postgres:dbname=shop host=db` or
 * `postgres://user@db/shop`. Without a table of its own the address ends in one: `duckdb:mirror.db.sales`. An address
 * of `key=value` pairs can't, since a host or a password may have a dot in it; nor can a table have the name of a
 * file's ending.
 * @throws ConfigError `replay_target`.
 */
export function targetAddress(into: string, table: string | undefined): TargetAddress {
  const [scheme, ...rest] = into.split(":");
  const kind = KINDS.get((scheme ?? "").toLowerCase());
  const address = rest.join(":");
  if (kind === undefined || address === "") {
    throw new ConfigError("replay_target", "A target begins with duckdb:, ducklake: or postgres:.", {
      hint: "Write duckdb:mirror.db, ducklake:copy.ducklake, postgres:dbname=shop host=db or postgres://user@db/shop.",
    });
  }
  if (table !== undefined) return { kind, address: asAttached(kind, address), table };
  const dot = address.lastIndexOf(".");
  const name = address.slice(dot + 1);
  const isEnding = kind !== "postgres" && FILE_ENDINGS.has(name.toLowerCase());
  if (address.includes("=") || dot < 1 || name === "" || name.includes("/") || isEnding) {
    throw new ConfigError("replay_target", "The target names no table.", {
      hint: "Name it with --table, or after a dot at the end of a file's name or of a postgres://… address.",
    });
  }
  return { kind, address: asAttached(kind, address.slice(0, dot)), table: name };
}

/** PostgreSQL's own form of an address keeps the scheme. */
function asAttached(kind: TargetKind, address: string): string {
  if (kind === "ducklake") return `ducklake:${address}`;
  return kind === "postgres" && address.startsWith("//") ? `postgresql:${address}` : address;
}
