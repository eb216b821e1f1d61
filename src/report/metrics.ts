/** A lake's overview as metrics in Prometheus' text format. */
import type { Overview, RefreshResult, ViewOverview } from "../types.js";

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number | bigint;
}

const PREFIX = "ducklake_ivm_";

/**
 * Metrics of all views, and of a run where one has just ended, for Prometheus or node_exporter's textfile collector: times in seconds
 * since 1970, lengths of time in seconds. Counters are sums over the runs that the lake keeps, so they go on from where
 * an earlier process left them. A value that is not known has no line.
 */
export function renderMetrics(overview: Overview, run?: RefreshResult): string {
  return [
    ...viewMetrics(overview),
    ...logMetrics(overview),
    ...lakeMetrics(overview),
    ...(run === undefined ? [] : runMetrics(overview, run)),
  ].join("");
}

function viewMetrics({ views }: Overview): string[] {
  const each = (of: (view: ViewOverview) => number | bigint | null): Sample[] =>
    views.flatMap((view) => {
      const value = of(view);
      return value === null ? [] : [{ labels: { view: view.view }, value }];
    });
  const strategies = ["initial", "incremental", "recompute"] as const;
  return [
    metric(
      "view_lag_seconds",
      "gauge",
      "Age of the oldest change that the view does not show yet; 0 where it shows all.",
      each(({ lagMs }) => seconds(lagMs)),
    ),
    metric(
      "view_up_to_date",
      "gauge",
      "1 where the view shows everything that its sources hold.",
      each(({ state }) => (state === "fresh" ? 1 : 0)),
    ),
    metric(
      "view_failed",
      "gauge",
      "1 where the newest run of the view failed.",
      each(({ recent }) => (recent[0]?.status === "failed" ? 1 : 0)),
    ),
    metric(
      "view_rows",
      "gauge",
      "Rows that readers of the view see.",
      each(({ rows }) => rows),
    ),
    metric(
      "view_horizon_snapshot",
      "gauge",
      "Snapshot of the base tables that the view stands at.",
      each(({ horizon }) => horizon),
    ),
    metric(
      "view_horizon_timestamp_seconds",
      "gauge",
      "When that snapshot was committed.",
      each(({ asOf }) => timestamp(asOf)),
    ),
    metric(
      "view_last_refresh_timestamp_seconds",
      "gauge",
      "When the newest run ended that changed the view.",
      each(({ totals }) => timestamp(totals.refreshedAt)),
    ),
    metric(
      "view_last_failure_timestamp_seconds",
      "gauge",
      "When the newest run ended that failed on the view.",
      each(({ totals }) => timestamp(totals.failedAt)),
    ),
    metric(
      "view_last_duration_seconds",
      "gauge",
      "What the newest run of the view took.",
      each(({ recent }) => seconds(recent[0]?.elapsedMs ?? null)),
    ),
    metric(
      "refreshes_total",
      "counter",
      "Refreshes of the view by how they were made.",
      views.flatMap(({ view, totals }) =>
        strategies.map((strategy) => ({ labels: { view, strategy }, value: totals[strategy] })),
      ),
    ),
    metric(
      "refresh_failures_total",
      "counter",
      "Runs that failed on the view.",
      each(({ totals }) => totals.failed),
    ),
    metric(
      "refresh_duration_seconds_total",
      "counter",
      "Time spent on the view.",
      each(({ totals }) => seconds(totals.elapsedMs)),
    ),
    metric(
      "changed_rows_total",
      "counter",
      "Rows of the view that refreshes put in and took out.",
      views.flatMap(({ view, totals }) => [
        { labels: { view, change: "inserted" }, value: totals.rows.inserted },
        { labels: { view, change: "deleted" }, value: totals.rows.deleted },
      ]),
    ),
  ];
}

function logMetrics({ logs, consumers }: Overview): string[] {
  const samples = logs.map((log) => ({ labels: { log: log.view ?? `source:${log.table}` }, log }));
  const readers = consumers.map((consumer) => ({
    labels: { consumer: consumer.name, view: consumer.view },
    consumer,
  }));
  return [
    metric(
      "log_files",
      "gauge",
      "Files of the change log.",
      samples.map(({ labels, log }) => ({ labels, value: log.files })),
    ),
    metric(
      "log_bytes",
      "gauge",
      "Size of the change log's files.",
      samples.map(({ labels, log }) => ({ labels, value: log.bytes })),
    ),
    metric(
      "consumer_lag_seconds",
      "gauge",
      "Age of the first window that the consumer has not read; 0 where it has read all.",
      readers.flatMap(({ labels, consumer }) =>
        consumer.reset ? [] : [{ labels, value: (consumer.lagMs ?? 0) / 1000 }],
      ),
    ),
    metric(
      "consumer_must_reset",
      "gauge",
      "1 where the consumer must take the whole state.",
      readers.map(({ labels, consumer }) => ({ labels, value: consumer.reset ? 1 : 0 })),
    ),
  ];
}

function lakeMetrics({ snapshot, snapshotAt, retention }: Overview): string[] {
  return [
    single("lake_snapshot", "Newest snapshot of the lake.", snapshot),
    single("lake_snapshot_timestamp_seconds", "When it was committed.", timestamp(snapshotAt)),
    single(
      "lake_oldest_snapshot_timestamp_seconds",
      "When the oldest snapshot was committed that the lake keeps.",
      timestamp(retention.oldestAt),
    ),
  ];
}

function runMetrics({ takenAt }: Overview, run: RefreshResult): string[] {
  const statuses = ["refreshed", "unchanged", "failed", "skipped"] as const;
  const rows = (change: "inserted" | "deleted"): bigint => run.views.reduce((sum, view) => sum + view.rows[change], 0n);
  return [
    single(
      "last_run_timestamp_seconds",
      "When the newest run ended, also one that had nothing to do.",
      timestamp(takenAt),
    ),
    single("last_run_duration_seconds", "What it took.", seconds(run.elapsedMs)),
    single("last_run_success", "1 where no view failed in it.", run.status === "failed" ? 0 : 1),
    metric(
      "last_run_views",
      "gauge",
      "Its views by what became of them.",
      statuses.map((status) => ({
        labels: { status },
        value: run.views.filter((view) => view.status === status).length,
      })),
    ),
    metric(
      "last_run_changed_rows",
      "gauge",
      "Rows that it put into views and took out.",
      (["inserted", "deleted"] as const).map((change) => ({ labels: { change }, value: rows(change) })),
    ),
  ];
}

function single(name: string, help: string, value: number | bigint | null): string {
  return metric(name, "gauge", help, value === null ? [] : [{ labels: {}, value }]);
}

/** A metric with its lines; nothing where it has none. */
function metric(name: string, type: "gauge" | "counter", help: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return "";
  const full = `${PREFIX}${name}`;
  const lines = samples.map(({ labels, value }) => `${full}${printLabels(labels)} ${value}\n`);
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join("")}`;
}

function printLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}

function timestamp(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso) / 1000;
}
