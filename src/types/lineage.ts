/** Where a view's columns come from, and where events of lineage go. */

/** Events in OpenLineage's format for each view that a refresh works on, to a server, a file or both. */
export interface OpenLineageConfig {
  /** The server; without a path the events go to `/api/v1/lineage`. */
  readonly url?: string;
  /** A file to which events are appended, one JSON object a line. */
  readonly file?: string;
  /** The namespace of jobs and datasets. Default `ducklake`; lakes that report to one server need one each. */
  readonly namespace?: string;
  /** How long the server may take for all events of a run that it has not answered yet, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
  /** Sent as a bearer token. */
  readonly apiKey?: string;
}

/** How a column of a view comes from a column of a source. */
export interface ColumnOrigin {
  readonly source: string;
  readonly column: string;
  /** `identity`: the same value; `transformation`: computed from it; `aggregation`: computed from those of many rows. */
  readonly kind: "identity" | "transformation" | "aggregation";
}

/** A column of a source that decides which rows a view has, or how they are put together. */
export interface RowOrigin {
  readonly source: string;
  readonly column: string;
  readonly kind: "filter" | "join" | "group_by" | "window" | "sort";
}

/** Where rows of a view come from. */
export interface ViewLineage {
  readonly view: string;
  /** The user-facing view, as `schema.view`. */
  readonly dataset: string;
  readonly sql: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly sources: readonly {
    /** As `schema.table`. */
    readonly name: string;
    readonly columns: readonly { readonly name: string; readonly type: string }[];
  }[];
  /** Of each column, by name; null where the query has no plan to tell it from. */
  readonly origins: ReadonlyMap<string, readonly ColumnOrigin[]> | null;
  readonly rowOrigins: readonly RowOrigin[];
}
