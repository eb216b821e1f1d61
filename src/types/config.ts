/** A lake, its storage and its change logs, as `open` takes them. */

/** Access to S3-compatible storage. Keys left out come from the AWS SDK's own credential chain. */
export interface S3Config {
  readonly endpoint?: string;
  readonly region?: string;
  readonly urlStyle?: "path" | "vhost";
  readonly useSsl?: boolean;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
}

/** What DuckDB itself is given. */
export interface EngineConfig {
  /** A folder with `<name>.duckdb_extension` files, searched first. */
  readonly extensionDirectory?: string;
  readonly threads?: number;
  /** As DuckDB's `memory_limit`, for example `4GB`. */
  readonly memoryLimit?: string;
  readonly tempDirectory?: string;
}

/** A length of time, or a number of snapshots. */
export type Retention = { readonly milliseconds: number } | { readonly snapshots: bigint };

/** Change logs: what each refresh changed, as Parquet files for other systems. */
export interface LogConfig {
  /** The log root: a folder or `s3://bucket/prefix`. No change logs are kept where it is left out. */
  readonly path?: string;
  /** How long windows can be told apart before they become part of the base. Default seven days. */
  readonly keep?: Retention;
  /** How far a registered consumer may lag behind before it no longer holds windows back. Default thirty days. */
  readonly maxLag?: Retention;
  /** How many windows one merge makes one. Default 8. */
  readonly fanOut?: number;
  /** How long files stay that no log needs any more, in milliseconds. Default one hour. */
  readonly graceMs?: number;
  /** Bytes that a file of a base should have. Default 128 MiB. */
  readonly fileBytes?: number;
  /**
   * Keep the changes of base tables as well, so that views catch up from the log where the lake's own snapshots were
   * expired. Default false.
   */
  readonly sources?: boolean;
  /** `auto` compacts after a refresh when it is due, `manual` only on request. Default `auto`. */
  readonly compact?: "auto" | "manual";
}

/** A lake and where this project keeps its own things in it. */
export interface LakeConfig {
  /** As DuckLake's ATTACH takes it, with or without the `ducklake:` prefix: a DuckDB file, `sqlite:…` or `postgres:…`. */
  readonly catalog: string;
  /** Folder or `s3://…`; may be left out for a lake that exists. */
  readonly dataPath?: string;
  /** The schema of the metadata tables in a PostgreSQL catalog. */
  readonly metadataSchema?: string;
  readonly s3?: S3Config;
  /** Schema of the user-facing views. Default `main`. */
  readonly schema?: string;
  /** Schema of this project's own tables. Default `ivm`. */
  readonly stateSchema?: string;
  readonly log?: LogConfig;
  /**
   * How long one call repeats its work, in milliseconds, while other writers are in its way, before it ends with
   * ConflictError. Default one minute; with 0 nothing is repeated.
   */
  readonly retryForMs?: number;
  readonly engine?: EngineConfig;
}
