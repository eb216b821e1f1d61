/** A test as plain SQL and JSON: what the runner runs, what a regression file holds, what a report prints. */

export type HistoryEvent =
  /** One transaction; a single statement commits by itself. */
  | { readonly kind: "transaction"; readonly sql: readonly string[] }
  /** What only a lake understands: compaction, partitioning, expiry. */
  | { readonly kind: "maintenance"; readonly sql: string }
  /** Remembers the current snapshot for a later refresh. */
  | { readonly kind: "mark" }
  /** `views`: with everything that they read; all where null. `toMark`: the horizon is the last mark. */
  | { readonly kind: "refresh"; readonly views: readonly string[] | null; readonly toMark: boolean };

interface HistoryView {
  readonly name: string;
  readonly sql: string;
  readonly refresh: "auto" | "incremental" | "full";
}

export interface History {
  /** `data_inlining_row_limit` of the lake; null leaves the default. */
  readonly inlining: number | null;
  readonly setup: readonly HistoryEvent[];
  readonly views: readonly HistoryView[];
  /** After the views are defined; the first refresh is an event too. */
  readonly events: readonly HistoryEvent[];
}

/** The history as a script that a reader can follow, with our own calls as comments. */
export function printHistory(history: History): string {
  const lines: string[] = [];
  if (history.inlining !== null) {
    lines.push(`CALL lake.set_option('data_inlining_row_limit', ${history.inlining});`);
  }
  for (const event of history.setup) lines.push(...printEvent(event));
  for (const view of history.views) lines.push(`-- define ${view.name} (refresh: ${view.refresh}): ${view.sql};`);
  for (const event of history.events) lines.push(...printEvent(event));
  return lines.join("\n");
}

function printEvent(event: HistoryEvent): string[] {
  switch (event.kind) {
    case "transaction":
      if (event.sql.length === 1) return [`${event.sql[0]};`];
      return ["BEGIN;", ...event.sql.map((sql) => `${sql};`), "COMMIT;"];
    case "maintenance":
      return [`${event.sql};`];
    case "mark":
      return ["-- mark this snapshot"];
    case "refresh": {
      const views = event.views === null ? "" : ` ${event.views.join(" ")}`;
      return [`-- refresh${views}${event.toMark ? " to the marked snapshot" : ""}, compare`];
    }
  }
}
