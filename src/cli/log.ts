/** Lines on stderr about what goes on: for people, or as one JSON object a line. */
import { toJson } from "../json.js";
import type { LogFields } from "../logger.js";

export const LOG_FORMATS = ["text", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface LogEntry {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields?: LogFields;
}

/** One entry as a line, without secrets. */
export function logLine(
  { level, message, fields = {} }: LogEntry,
  format: LogFormat,
  redact: (text: string) => string,
  now = new Date(),
): string {
  const told = Object.entries(fields).filter(([, value]) => value !== undefined);
  if (format === "text") return redact(message + told.map(([name, value]) => ` ${name}=${value}`).join(""));
  const safe = told.map(([name, value]) => [name, typeof value === "string" ? redact(value) : value]);
  const entry = { time: now.toISOString(), level, message: redact(message), fields: Object.fromEntries(safe) };
  return JSON.stringify(toJson(entry));
}
