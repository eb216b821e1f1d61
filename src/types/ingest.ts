/** What `append` and `merge` take and give. */
import type { CallOptions, ProgressOptions } from "./call.js";
import type { IngestEvent } from "./progress.js";

/** How a file's rows are written. */
export type FileFormat = "csv" | "tsv" | "parquet" | "json";

/**
 * Where rows come from: one SELECT that DuckDB runs in the lake, or a file (a path, a glob, `s3://…` or `https://…`).
 * Plain text is taken for a query where DuckDB can parse it as one, else for a file.
 */
export type IngestSource =
  | string
  | { readonly query: string }
  | {
      readonly file: string;
      /** Told by the file's ending where left out. */
      readonly format?: FileFormat;
    };

/** What `append` and `merge` may be asked. */
export interface IngestOptions extends CallOptions, ProgressOptions<IngestEvent> {
  /** Create the table with the input's columns where it does not exist. */
  readonly create?: boolean;
  /** Find out what would be written and write nothing. */
  readonly dryRun?: boolean;
}

/** What `append` may be asked. */
export interface AppendOptions extends IngestOptions {
  /**
   * Columns that identify a row: rows that the table has already are then left out, and a row whose key the table has
   * with other values is an error.
   */
  readonly key?: readonly string[];
}

/** What `merge` is asked. */
export interface MergeOptions extends IngestOptions {
  /** Columns that identify a row. */
  readonly key: readonly string[];
  /** The input is the whole table: rows whose keys it does not have are deleted. */
  readonly deleteMissing?: boolean;
}

/** What `append` or `merge` wrote. */
export interface IngestResult {
  /** The table, as `schema.table`. */
  readonly table: string;
  readonly kind: "append" | "merge";
  readonly status: "written" | "unchanged";
  /** Whether the table was created by this call. */
  readonly created: boolean;
  readonly dryRun: boolean;
  readonly rows: {
    /** Rows of the input. */
    readonly input: bigint;
    readonly inserted: bigint;
    /** Rows of the table that got other values. */
    readonly updated: bigint;
    readonly deleted: bigint;
    /** Rows of the input that the table has already; no write was spent on them. */
    readonly unchanged: bigint;
  };
  /** The snapshot that this call made; null where it wrote nothing. */
  readonly snapshot: bigint | null;
  readonly elapsedMs: number;
}
