export { importDbt } from "./dbt/import.js";
export { diagnose } from "./doctor.js";
export type { Row, Rows } from "./engine/rows.js";
export {
  ConfigError,
  ConflictError,
  DefinitionError,
  EngineError,
  type ErrorSubject,
  IngestError,
  InternalError,
  InterruptedError,
  IvmError,
  type IvmErrorOptions,
  LakeError,
  RefreshError,
  type Sample,
} from "./errors.js";
export { type Lake, type OpenOptions, open } from "./lake.js";
export type { LogFileFormat, LogRow, LogRows } from "./log/rows.js";
export type { LogFields, Logger } from "./logger.js";
export { type LookOptions, readOverview, serveReport } from "./look.js";
export { loadProject, type Project } from "./project/load.js";
export { type Problem, ProjectError } from "./project/problems.js";
export { renderMetrics } from "./report/metrics.js";
export { type ReportOptions, renderReport } from "./report/render.js";
export { type RunResultsOptions, writeRunResults } from "./report/run-results.js";
export type { ReportServer, ServeOptions } from "./report/serve.js";
export type { CallOptions, ProgressOptions } from "./types/call.js";
export type { ErrorResult, Reason } from "./types/common.js";
export type { EngineConfig, LakeConfig, LogConfig, Retention, S3Config } from "./types/config.js";
export type { DbtImportOptions, DbtImportResult, ImportedModel, LeftModel } from "./types/dbt.js";
export type {
  DefineAction,
  DefineOptions,
  DefineResult,
  DropOptions,
  DropResult,
  FloatSums,
  RefreshMode,
  ViewDefinition,
} from "./types/define.js";
export type { DoctorCheck, DoctorResult } from "./types/doctor.js";
export type {
  CostEstimate,
  CostResult,
  ExplainAdvice,
  ExplainHistory,
  ExplainNode,
  ExplainRead,
  ExplainResult,
  ExplainTerm,
  MeasuredRuns,
} from "./types/explain.js";
export type { GraphEdge, LakeGraph, TableNode, ViewNode } from "./types/graph.js";
export type { HistoryOptions, RunRecord, RunSourceRecord } from "./types/history.js";
export type {
  AppendOptions,
  FileFormat,
  IngestOptions,
  IngestResult,
  IngestSource,
  MergeOptions,
} from "./types/ingest.js";
export type { ColumnOrigin, OpenLineageConfig, RowOrigin, ViewLineage } from "./types/lineage.js";
export type {
  CompactedLog,
  CompactOptions,
  CompactResult,
  ConsumerStatus,
  LogOptions,
  SweepOptions,
  SweepResult,
} from "./types/log.js";
export type {
  MaintainOptions,
  MaintainResult,
  MaintainStep,
  RetentionResult,
  SnapshotNeed,
} from "./types/maintain.js";
export type {
  LogBase,
  LogOverview,
  LogSegment,
  Overview,
  OverviewOptions,
  RetainedCursor,
  RetentionOverview,
  RunBucket,
  RunSummary,
  RunsOverview,
  RunTotals,
  ViewOverview,
} from "./types/overview.js";
export type {
  IngestEvent,
  LogEvent,
  Position,
  RefreshEvent,
  ReplayEvent,
  VerifyEvent,
  ViewStep,
} from "./types/progress.js";
export type { AccumulateNode, ExpressionNode, JoinKind, JoinNode, NamedNode, QueryNode } from "./types/query.js";
export type { QueryOptions } from "./types/read.js";
export type {
  DeltaMethod,
  LogResult,
  PartitionCounts,
  RefreshOptions,
  RefreshResult,
  SourceResult,
  Strategy,
  ViewResult,
} from "./types/refresh.js";
export type { ReplayOptions, ReplayResult } from "./types/replay.js";
export type { SelectOptions } from "./types/select.js";
export type { ViewState, ViewStatus } from "./types/status.js";
export type { VerifyOptions, VerifyResult } from "./types/verify.js";
export type { TextRow, WhyChange, WhyOptions, WhyResult, WhySource } from "./types/why.js";
