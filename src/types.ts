/** The types that the library's verbs take and give; the command line prints the same objects as JSON. */

/** How a view may be refreshed: `auto` decides per run, `incremental` never recomputes by choice of cost, `full` always recomputes. */
export type RefreshMode = "auto" | "incremental" | "full";

/**
 * How sums, averages and deviations of floating-point numbers are kept: `reread` evaluates the groups of changed rows
 * anew, `fold` adds and takes away, which is cheaper and rounds at every step.
 */
export type FloatSums = "reread" | "fold";

/** One materialized view as its author writes it. */
export interface ViewDefinition {
  /** The view's name: the name of the user-facing DuckLake view and of the `.sql` file. */
  readonly name: string;
  /** One SELECT statement. */
  readonly sql: string;
  /** Columns that identify a row; checked at every refresh. */
  readonly primaryKey?: readonly string[];
  /** Default `auto`. */
  readonly refresh?: RefreshMode;
  /** Default `reread`. */
  readonly floatSums?: FloatSums;
  /** Where the definition was read from, for error messages. */
  readonly file?: string;
  /** Lines of the file before the SQL starts, so that errors name the file's own line. */
  readonly lineOffset?: number;
}

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
  readonly engine?: EngineConfig;
}

/** Why a view was recomputed instead of maintained, or any other remark with a stable code. */
export interface Reason {
  readonly code: string;
  readonly text: string;
}

export type Strategy = "initial" | "incremental" | "recompute";

/**
 * How a source's delta was read: from the lake's change feed, as the difference of two reads, or from the source's log
 * because the snapshot of the cursor was expired.
 */
export type DeltaMethod = "feed" | "difference" | "log";

export interface SourceResult {
  readonly source: string;
  /** Cursor before the run; null at the first build. */
  readonly from: bigint | null;
  readonly to: bigint;
  readonly changed: boolean;
  /** How the source's delta was read, for changed sources of an incremental refresh. */
  readonly delta?: DeltaMethod;
  /** Why the difference of two reads was taken instead of the feed. */
  readonly deltaReason?: Reason;
}

/** What a refresh wrote to its view's change log: the changes of a window, or a base with the whole state. */
export interface LogResult {
  readonly kind: "segment" | "base";
  /** Null for a base. */
  readonly from: bigint | null;
  readonly to: bigint;
  /** 0 for a window without changes. */
  readonly files: number;
  readonly rows: bigint;
  readonly bytes: bigint;
}

export interface ViewResult {
  readonly view: string;
  readonly status: "refreshed" | "unchanged" | "failed";
  /** Null for unchanged and failed views. */
  readonly strategy: Strategy | null;
  readonly reason: Reason | null;
  readonly sources: readonly SourceResult[];
  readonly terms: { readonly total: number; readonly run: number; readonly skipped: number };
  readonly rows: { readonly inserted: bigint; readonly deleted: bigint };
  /** Set where change logs are kept and the view was refreshed. */
  readonly log?: LogResult | null;
  readonly elapsedMs: number;
  readonly error: ErrorResult | null;
}

export interface ErrorResult {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly retryable: boolean;
}

export interface RefreshResult {
  readonly runId: string;
  readonly horizon: bigint;
  readonly status: "refreshed" | "unchanged" | "failed";
  readonly elapsedMs: number;
  readonly views: readonly ViewResult[];
  /** What went wrong after the views were committed, such as a manifest that could not be published. */
  readonly warnings: readonly Reason[];
}

export interface RefreshOptions {
  /** Views to refresh, with everything they read; all views where left out. */
  readonly views?: readonly string[];
  /** The horizon; the newest snapshot where left out. */
  readonly toSnapshot?: bigint;
  /** Find out what would be done and do nothing. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** What `define` does, or would do, with one view. */
export interface DefineAction {
  readonly view: string;
  readonly action: "create" | "rebuild" | "keep" | "drop" | "orphan";
  /** The strategy that the next refreshes will take where the view changes. */
  readonly strategy: "incremental" | "recompute" | null;
  readonly reasons: readonly Reason[];
}

export interface DefineResult {
  readonly dryRun: boolean;
  readonly actions: readonly DefineAction[];
}

export interface DefineOptions {
  /** Drop views that the lake has and the definitions do not. Otherwise they are reported as `orphan`. */
  readonly drop?: boolean;
  readonly dryRun?: boolean;
}

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

export interface IngestOptions {
  /** Create the table with the input's columns where it does not exist. */
  readonly create?: boolean;
  /** Find out what would be written and write nothing. */
  readonly dryRun?: boolean;
}

export interface AppendOptions extends IngestOptions {
  /**
   * Columns that identify a row: rows that the table has already are then left out, and a row whose key the table has
   * with other values is an error.
   */
  readonly key?: readonly string[];
}

export interface MergeOptions extends IngestOptions {
  /** Columns that identify a row. */
  readonly key: readonly string[];
  /** The input is the whole table: rows whose keys it does not have are deleted. */
  readonly deleteMissing?: boolean;
}

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

export interface ViewStatus {
  readonly view: string;
  /** `pending`: defined but not yet built; `stale`: a source changed; `rebuild`: a new definition waits for a refresh. */
  readonly state: "pending" | "fresh" | "stale" | "rebuild";
  /** The snapshot that the view stands at; null before the first refresh. */
  readonly horizon: bigint | null;
  readonly rows: bigint | null;
  readonly sources: readonly { readonly source: string; readonly cursor: bigint | null; readonly changed: boolean }[];
  readonly refresh: RefreshMode;
  readonly strategy: "incremental" | "recompute";
  readonly reasons: readonly Reason[];
}

export interface VerifyResult {
  readonly view: string;
  readonly ok: boolean;
  readonly horizon: bigint | null;
  readonly rows: bigint;
  /** Up to 20 differing rows: weight > 0, the view has copies too many; weight < 0, copies are missing. */
  readonly differences: readonly { readonly weight: bigint; readonly row: Readonly<Record<string, string | null>> }[];
  readonly differenceCount: bigint;
  /** Relative tolerance used for floating-point columns; everything else is compared exactly. */
  readonly tolerance: number;
  readonly error: ErrorResult | null;
}

/** What a refresh is expected to take, in milliseconds. */
export interface CostEstimate {
  readonly ms: number;
  /** `measured`: refreshes of about this size were timed before; `rows`: told from row counts. */
  readonly basis: "measured" | "rows";
}

/** The choice between the rules and a recompute that a refresh would make now. */
export interface CostResult {
  readonly choice: "incremental" | "recompute";
  /** True where the dearer way is tried, to find out what it takes by now. */
  readonly trial: boolean;
  readonly incremental: CostEstimate;
  readonly recompute: CostEstimate;
  /** Changed rows of all sources, and rows of all tables that the definition reads, as the catalog tells them. */
  readonly changedRows: number;
  readonly rows: number;
}

/** A state of a source that a term reads besides the delta. */
export interface ExplainRead {
  readonly source: string;
  readonly alias: string;
  /** Before the window or after it. */
  readonly state: "old" | "new";
  /** The expressions whose values must be among the changed keys; empty where nothing cuts the table down by itself. */
  readonly keys: readonly string[];
}

export interface ExplainTerm {
  /** The occurrence of a source that this term takes the delta of. */
  readonly source: string;
  readonly alias: string;
  readonly status: "ran" | "skipped";
  readonly reason: string;
  /** What the term reads besides the delta, and how far keys are pushed into it. */
  readonly reads: readonly ExplainRead[];
  readonly sql: string | null;
}

export interface ExplainNode {
  readonly operator: string;
  readonly detail: string;
  readonly strategy: string;
  readonly children: readonly ExplainNode[];
}

export interface ExplainResult {
  readonly view: string;
  readonly strategy: "incremental" | "recompute";
  readonly reasons: readonly Reason[];
  readonly horizon: bigint | null;
  readonly plan: ExplainNode | null;
  readonly terms: readonly ExplainTerm[];
  /** What is read for groups whose stored state can't be folded; empty where every state can. */
  readonly rereads: readonly ExplainRead[];
  /** Null where there is nothing to do or nothing to choose. */
  readonly cost: CostResult | null;
  readonly recomputeSql: string;
}

/** Which rows of a change log are asked for. */
export interface LogOptions {
  /** Changes after this snapshot. */
  readonly since?: bigint;
  /** Changes up to this snapshot; up to the log's end where left out. */
  readonly until?: bigint;
  /** The state at this snapshot; at the log's end where left out. */
  readonly at?: bigint;
  /** A registered consumer: its next changes. */
  readonly consumer?: string;
  /** Only rows with one of these keys, or parts of keys; values as text are cast to the column's type. */
  readonly keys?: readonly Readonly<Record<string, string | number | bigint | boolean | null>>[];
}

export interface CompactOptions {
  /** The views whose logs are compacted; all where left out. */
  readonly views?: readonly string[];
  readonly signal?: AbortSignal;
}

export interface CompactedLog {
  readonly log: string;
  readonly merges: number;
  readonly folds: number;
  /** Live files, rows and bytes after it. */
  readonly files: number;
  readonly rows: bigint;
  readonly bytes: bigint;
  /** Rows that were written anew. */
  readonly rewritten: bigint;
}

export interface CompactResult {
  readonly runId: string;
  readonly logs: readonly CompactedLog[];
  readonly swept: SweepResult;
}

export interface SweepOptions {
  /** Find out what would be removed and remove nothing. */
  readonly dryRun?: boolean;
}

export interface SweepResult {
  /** Names below the log root. */
  readonly files: readonly string[];
  readonly bytes: bigint;
}

/** How far a consumer is behind its view's log. */
export interface ConsumerStatus {
  readonly name: string;
  readonly view: string;
  /** Null before it has taken the state. */
  readonly position: bigint | null;
  /** The snapshot that the log has come to. */
  readonly end: bigint;
  /** Windows that it has not consumed; null where it must take the state. */
  readonly windows: number | null;
  readonly rows: bigint | null;
  /** Milliseconds since its first unconsumed window was registered; null where there is none. */
  readonly lagMs: number | null;
  /** True where compaction leaves its position alone. */
  readonly held: boolean;
  /** True where it must take the whole state. */
  readonly reset: boolean;
}

export interface ReplayOptions {
  /** The registered consumer whose windows are replayed. */
  readonly consumer: string;
  /** The consumer's view; for callers who want to be sure. */
  readonly view?: string;
  /**
   * The database with the mirror: `duckdb:FILE`, `ducklake:CATALOG` or `postgres:…` as DuckDB attaches them. Where
   * `table` is left out it ends in a dot and the table's name.
   */
  readonly into: string;
  /** The mirror, as in SQL: `sales`, `reporting."daily sales"`. It is created where it does not exist. */
  readonly table?: string;
  /** Make the table hold the view's whole state, whatever it holds and whoever wrote it. */
  readonly reset?: boolean;
}

export interface ReplayResult {
  readonly view: string;
  readonly consumer: string;
  /** The mirror, as `schema.table`. */
  readonly target: { readonly kind: "duckdb" | "ducklake" | "postgres"; readonly table: string };
  readonly status: "applied" | "unchanged";
  /** What was applied; null where the mirror stood at the log's end already. */
  readonly took: "changes" | "state" | null;
  /** Why the whole state was taken. */
  readonly reason: Reason | null;
  readonly created: boolean;
  /** Where the mirror stood; null where the whole state was taken. */
  readonly from: bigint | null;
  /** Where it stands now. */
  readonly to: bigint;
  readonly rows: { readonly inserted: bigint; readonly deleted: bigint };
  /** Whether the consumer's cursor followed; the mirror's own position is what counts. */
  readonly consumerMoved: boolean;
  readonly elapsedMs: number;
}
