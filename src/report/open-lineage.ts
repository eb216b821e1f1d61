/** What a refresh does to views, as events of OpenLineage (https://openlineage.io), spec 2-0-2. */
import { createHash } from "node:crypto";
import type {
  ColumnOrigin,
  OpenLineageConfig,
  Reason,
  RefreshEvent,
  RowOrigin,
  ViewLineage,
  ViewResult,
} from "../types.js";
import { LineageDelivery } from "./lineage-delivery.js";

const SPEC = "https://openlineage.io/spec";
const RUN_EVENT = `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`;
const PRODUCER = "urn:ducklake-ivm";
const DEFAULT_NAMESPACE = "ducklake";
/** The job that the views' jobs are children of. */
const PARENT_JOB = "refresh";

type EventType = "START" | "COMPLETE" | "FAIL" | "ABORT";

interface OpenRun {
  readonly lineage: ViewLineage;
  readonly runId: string;
}

/**
 * Follows a refresh and sends events: START when a view's change begins to be computed, COMPLETE or FAIL at its end,
 * and ABORT for what an interrupted run leaves. The run itself is the parent. A view that has nothing to do has no event.
 * Nothing here fails a refresh, or keeps it waiting for longer than the time that was set.
 */
export class OpenLineage {
  private readonly delivery: LineageDelivery;
  private readonly namespace: string;
  private readonly open = new Map<string, OpenRun>();
  private parent: string | undefined;
  private parentIsOpen = false;
  private horizon = 0n;

  constructor(
    config: OpenLineageConfig,
    private readonly views: readonly ViewLineage[],
  ) {
    this.delivery = new LineageDelivery(config);
    this.namespace = config.namespace ?? DEFAULT_NAMESPACE;
  }

  /** Takes what a refresh tells of its progress. */
  readonly follow = (event: RefreshEvent): void => {
    switch (event.kind) {
      case "run_started":
        this.parent = event.runId;
        this.horizon = event.horizon;
        return;
      case "computing":
        this.start(event.view);
        return;
      case "view_finished":
        this.end(event.result);
        return;
      case "run_finished":
        this.endRun(event.result.status === "failed" ? "FAIL" : "COMPLETE");
        return;
    }
  };

  /** Waits for what is still on its way; answers what could not be delivered. */
  async finish(): Promise<Reason[]> {
    for (const { lineage, runId } of this.open.values()) this.send("ABORT", lineage, runId, null);
    this.open.clear();
    this.endRun("ABORT");
    return this.delivery.finish();
  }

  private start(view: string): void {
    const lineage = this.views.find((candidate) => candidate.view === view);
    if (lineage === undefined || this.parent === undefined || this.open.has(view)) return;
    if (!this.parentIsOpen) {
      this.parentIsOpen = true;
      this.sendParent("START");
    }
    const runId = childId(this.parent, view);
    this.open.set(view, { lineage, runId });
    this.send("START", lineage, runId, null);
  }

  private end(result: ViewResult): void {
    if (result.status !== "refreshed" && result.status !== "failed") return;
    this.start(result.view);
    const run = this.open.get(result.view);
    if (run === undefined) return;
    this.open.delete(result.view);
    this.send(result.status === "failed" ? "FAIL" : "COMPLETE", run.lineage, run.runId, result);
  }

  private endRun(type: EventType): void {
    if (!this.parentIsOpen) return;
    this.parentIsOpen = false;
    this.sendParent(type);
  }

  private sendParent(eventType: EventType): void {
    this.delivery.send({
      ...this.head(eventType),
      run: { runId: this.parent, facets: {} },
      job: { namespace: this.namespace, name: PARENT_JOB, facets: { jobType: jobType("RUN") } },
      inputs: [],
      outputs: [],
    });
  }

  private send(eventType: EventType, lineage: ViewLineage, runId: string, result: ViewResult | null): void {
    const parent = { run: { runId: this.parent }, job: { namespace: this.namespace, name: PARENT_JOB } };
    const error = result?.error ?? null;
    const runFacets = {
      parent: facet("1-2-0/ParentRunFacet", parent),
      ...(error === null
        ? {}
        : {
            errorMessage: facet("1-0-1/ErrorMessageRunFacet", { message: error.message, programmingLanguage: "SQL" }),
          }),
    };
    this.delivery.send({
      ...this.head(eventType),
      run: { runId, facets: runFacets },
      job: {
        namespace: this.namespace,
        name: lineage.view,
        facets: {
          sql: facet("1-1-0/SQLJobFacet", { query: lineage.sql, dialect: "duckdb" }),
          jobType: jobType("VIEW"),
        },
      },
      inputs: lineage.sources.map(({ name, columns }) => {
        const version = result?.sources.find(({ source }) => source === name)?.to;
        return this.dataset(name, columns, version);
      }),
      outputs: [this.output(lineage, result)],
    });
  }

  private head(eventType: EventType) {
    return { eventType, eventTime: new Date().toISOString(), producer: PRODUCER, schemaURL: RUN_EVENT };
  }

  private dataset(name: string, columns: ViewLineage["columns"], version: bigint | undefined) {
    const fields = columns.map(({ name: column, type }) => ({ name: column, type }));
    return {
      namespace: this.namespace,
      name,
      facets: {
        schema: facet("1-2-0/SchemaDatasetFacet", { fields }),
        ...(version === undefined
          ? {}
          : { version: facet("1-0-1/DatasetVersionDatasetFacet", { datasetVersion: String(version) }) }),
      },
    };
  }

  private output(lineage: ViewLineage, result: ViewResult | null) {
    const done = result !== null && result.status === "refreshed";
    const output = this.dataset(lineage.dataset, lineage.columns, done ? this.horizon : undefined);
    const { origins } = lineage;
    const facets = {
      ...output.facets,
      ...(origins === null ? {} : { columnLineage: this.columnLineage(origins, lineage.rowOrigins) }),
    };
    if (!done) return { ...output, facets };
    // Rows that were written, in either direction: what the refresh changed, not what the view holds.
    const rowCount = Number(result.rows.inserted + result.rows.deleted);
    return {
      ...output,
      facets,
      outputFacets: { outputStatistics: facet("1-0-2/OutputStatisticsOutputDatasetFacet", { rowCount }) },
    };
  }

  private columnLineage(origins: NonNullable<ViewLineage["origins"]>, rows: readonly RowOrigin[]) {
    const field = (origin: ColumnOrigin | RowOrigin, type: "DIRECT" | "INDIRECT") => ({
      namespace: this.namespace,
      name: origin.source,
      field: origin.column,
      transformations: [{ type, subtype: origin.kind.toUpperCase(), description: "", masking: false }],
    });
    const fields = [...origins].map(([column, own]) => [
      column,
      { inputFields: own.map((origin) => field(origin, "DIRECT")) },
    ]);
    return facet("1-2-0/ColumnLineageDatasetFacet", {
      fields: Object.fromEntries(fields),
      dataset: rows.map((origin) => field(origin, "INDIRECT")),
    });
  }
}

function jobType(kind: "RUN" | "VIEW") {
  return facet("2-0-4/JobTypeJobFacet", { processingType: "BATCH", integration: "DUCKLAKE_IVM", jobType: kind });
}

function facet<Fields extends object>(schema: string, fields: Fields) {
  const [version, name] = schema.split("/");
  return { _producer: PRODUCER, _schemaURL: `${SPEC}/facets/${version}/${name}.json#/$defs/${name}`, ...fields };
}

/** The run of one view in a run: the same for all of its events, and a UUID as the format wants it. */
function childId(runId: string, view: string): string {
  const hex = createHash("sha256").update(`${runId}/${view}`).digest("hex");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
