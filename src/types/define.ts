/** Definitions of views, and what `define` does with them. */
import type { CallOptions } from "./call.js";
import type { Reason } from "./common.js";
import type { QueryNode } from "./query.js";

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
  /** The builder's query that `sql` was made from: its columns are checked by name before DuckDB sees the text. */
  readonly query?: QueryNode;
  /** Words by which views are selected together. */
  readonly tags?: readonly string[];
  /** How far the view may be behind, in milliseconds, before a refresh with `ifOlderThanMs` takes it. */
  readonly targetLagMs?: number;
  /** Where the definition was read from, for error messages. */
  readonly file?: string;
  /** Lines of the file before the SQL starts, so that errors name the file's own line. */
  readonly lineOffset?: number;
}

/** What `define` does, or would do, with one view. */
export interface DefineAction {
  readonly view: string;
  readonly action: "create" | "rebuild" | "keep" | "drop" | "orphan";
  /** The strategy that the next refreshes will take where the view changes. */
  readonly strategy: "incremental" | "recompute" | null;
  readonly reasons: readonly Reason[];
}

/** What `define` did, or would do in a dry run. */
export interface DefineResult {
  readonly dryRun: boolean;
  readonly actions: readonly DefineAction[];
}

/** What `drop` may be asked. */
export interface DropOptions extends CallOptions {
  /** Drop what reads the view as well: views, and the consumers of its change log. */
  readonly cascade?: boolean;
  /** Find out what would be dropped and drop nothing. */
  readonly dryRun?: boolean;
}

/** What a drop took away. */
export interface DropResult {
  /** The view, and with `cascade` the views that read it, in the order in which they go. */
  readonly dropped: readonly string[];
  /** Consumers whose log goes with it. */
  readonly consumers: readonly string[];
  readonly dryRun: boolean;
}

/** What `define` may be asked. */
export interface DefineOptions extends CallOptions {
  /** Drop views that the lake has and the definitions do not. Otherwise they are reported as `orphan`. */
  readonly drop?: boolean;
  /** Refuse definitions that have no incremental rule, except those with `refresh: full`. */
  readonly requireIncremental?: boolean;
  readonly dryRun?: boolean;
}
