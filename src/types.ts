/** The types that the library's verbs take and give, by feature; the command line prints the same objects as JSON. */
export type * from "./types/call.js";
export type * from "./types/common.js";
export type * from "./types/config.js";
export type * from "./types/define.js";
export type * from "./types/explain.js";
export type * from "./types/graph.js";
export type * from "./types/history.js";
export type * from "./types/ingest.js";
export type * from "./types/log.js";
export type * from "./types/maintain.js";
export type * from "./types/overview.js";
export type * from "./types/progress.js";
export type * from "./types/query.js";
export type * from "./types/refresh.js";
export type * from "./types/replay.js";
export type * from "./types/status.js";
export type * from "./types/verify.js";
