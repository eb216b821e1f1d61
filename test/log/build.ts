/** Logs that exist nowhere, for rules that only look at them. */
import type { LogEntry, LogState } from "../../src/log/registry.js";

let ids = 0;

export function segment(from: number, to: number, more: Partial<LogEntry> = {}): LogEntry {
  ids += 1;
  return {
    id: `id ${ids}`,
    log: "v",
    epoch: "e",
    kind: "segment",
    from: BigInt(from),
    to: BigInt(to),
    level: 0,
    part: 0,
    file: `v/segment-${from}-${to}.parquet`,
    rows: 10n,
    bytes: 100n,
    least: null,
    greatest: null,
    runId: "r",
    createdAt: new Date(to * 1_000).toISOString(),
    ...more,
  };
}

export function base(at: number, more: Partial<LogEntry> = {}): LogEntry {
  return segment(0, at, { kind: "base", from: null, file: `v/base-${at}.parquet`, ...more });
}

export function log(...entries: readonly LogEntry[]): LogState {
  const schema = { columns: [], key: [], keyKind: "all" as const, weight: "weight", fingerprint: "f" };
  const end =
    entries
      .map((entry) => entry.to)
      .sort((a, b) => Number(a - b))
      .at(-1) ?? -1n;
  return { log: "v", epoch: "e", schema, generation: 0n, entries, end };
}
