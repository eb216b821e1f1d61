import type { LogBase, LogOverview, LogSegment } from "../types.js";
import { sourceOfLog } from "./names.js";
import type { LogEntry, LogState } from "./registry.js";

/** So many of a log's newest windows are told one by one. */
const SEGMENTS = 200;

/** How a log is laid out in files. */
export function logOverview(state: LogState): LogOverview {
  const { log, end, entries } = state;
  const table = sourceOfLog(log) ?? null;
  const segments = segmentsOf(entries);
  return {
    view: table === null ? log : null,
    table,
    end,
    files: entries.filter((entry) => entry.file !== null).length,
    rows: entries.reduce((sum, entry) => sum + entry.rows, 0n),
    bytes: entries.reduce((sum, entry) => sum + entry.bytes, 0n),
    bases: basesOf(entries),
    segments: segments.slice(-SEGMENTS),
    olderSegments: Math.max(segments.length - SEGMENTS, 0),
  };
}

/** A base can have several files. */
function basesOf(entries: readonly LogEntry[]): LogBase[] {
  const bases = new Map<bigint, LogBase>();
  for (const { kind, to: at, file, rows, bytes } of entries) {
    if (kind !== "base") continue;
    const known = bases.get(at) ?? { at, files: 0, rows: 0n, bytes: 0n };
    bases.set(at, {
      at,
      files: known.files + (file === null ? 0 : 1),
      rows: known.rows + rows,
      bytes: known.bytes + bytes,
    });
  }
  return [...bases.values()];
}

function segmentsOf(entries: readonly LogEntry[]): LogSegment[] {
  const segments = new Map<string, LogSegment>();
  for (const { kind, from, to, level, rows, bytes } of entries) {
    if (kind !== "segment" || from === null) continue;
    const key = `${from}-${to}`;
    const known = segments.get(key);
    segments.set(key, { from, to, level, rows: (known?.rows ?? 0n) + rows, bytes: (known?.bytes ?? 0n) + bytes });
  }
  return [...segments.values()].sort((a, b) => (a.to < b.to ? -1 : a.to > b.to ? 1 : 0));
}
