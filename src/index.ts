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
export { loadProject, type Project } from "./project/load.js";
export { type Problem, ProjectError } from "./project/problems.js";
export type * from "./types.js";
